import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { type MediaItem, siteEvent } from '#site/model/index.ts';
import {
  commitOf,
  metric,
  parkedVerdict,
  row,
  settled,
  startStore,
  type TestStore,
  temporaryDir,
  until,
  withFile,
} from './helpers.ts';

const seqs = (rows: readonly { seq: number }[]) => rows.map(({ seq }) => seq);

describe('take', () => {
  it('gives waiting rows of one lane, oldest first, above a seq, and leaves out what stays local', async () => {
    const store = await startStore(temporaryDir());
    const rows = [
      row(3),
      row(1),
      row(2, { lane: 'trouble' }),
      row(4, { toCloud: false }),
      row(5, { lane: 'activity' }),
    ];
    await store.commit(commitOf(rows));
    expect(seqs(await store.take('alarm', 0, 10))).toEqual([1, 3]);
    expect(seqs(await store.take('alarm', 1, 10))).toEqual([3]);
    expect(seqs(await store.take('alarm', 0, 1))).toEqual([1]);
    expect(seqs(await store.take('activity', 0, 10))).toEqual([5]);
  });

  it('ends at 256 KiB of bodies, yet always gives one row', async () => {
    const store = await startStore(temporaryDir());
    const body = 'b'.repeat(200 * 1024);
    await store.commit(commitOf([row(1, { body: body + body }), row(2, { body }), row(3, { body })]));
    expect(seqs(await store.take('alarm', 0, 10))).toEqual([1]);
    expect(seqs(await store.take('alarm', 1, 10))).toEqual([2]);
  });

  it('parks a row whose body was changed on disk instead of sending it', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([row(1), row(2)]));
    await first.stop();
    withFile(join(dir, 'site.db'), (db) => db.exec(`UPDATE ev SET body = '{"event_id":"event-7"}' WHERE seq = 1`));
    const store = await startStore(dir);
    expect(seqs(await store.take('alarm', 0, 10))).toEqual([2]);
    expect(await store.events({ limit: 1, beforeSeq: 2 })).toMatchObject([{ seq: 1, delivery: 'parked' }]);
  });
});

describe('row', () => {
  it('gives an event in whatever state, also after a restart, so that it can be sent again', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([row(1), row(2, { lane: 'activity' })]));
    const [before] = await first.take('alarm', 0, 1);
    await first.settle([settled(1)]);
    await first.stop();
    const store = await startStore(dir);
    expect(await store.row({ seq: 1, lane: 'alarm' })).toEqual(before);
    expect(await store.row({ seq: 2, lane: 'activity' })).toMatchObject({ seq: 2, lane: 'activity' });
  });

  it('gives nothing for an event that is gone, or whose body was changed on disk', async () => {
    const dir = temporaryDir();
    const first = await startStore(dir);
    await first.commit(commitOf([row(1)]));
    await first.stop();
    withFile(join(dir, 'site.db'), (db) => db.exec(`UPDATE ev SET body = '{"event_id":"event-7"}' WHERE seq = 1`));
    const store = await startStore(dir);
    expect(await store.row({ seq: 1, lane: 'alarm' })).toBeUndefined();
    expect(await store.row({ seq: 2, lane: 'alarm' })).toBeUndefined();
  });
});

describe('before', () => {
  it('gives waiting rows of the same key and lower seq in every lane of site.db', async () => {
    const store = await startStore(temporaryDir());
    await store.commit(
      commitOf([
        row(1, { lane: 'arming' }),
        row(2, { lane: 'trouble' }),
        row(3, { lane: 'trouble', part: 'p2' }),
        row(4),
        row(5, { lane: 'activity' }),
        row(6),
        row(7, { lane: 'arming' }),
      ]),
    );
    expect(seqs(await store.before({ orderKey: 'p1', seq: 6 }))).toEqual([1, 2, 4]);
    expect(seqs(await store.before({ orderKey: 'p1', seq: 5 }))).toEqual([1, 2, 4]);
    await store.settle([settled(1, 'arming')]);
    expect(seqs(await store.before({ orderKey: 'p1', seq: 6 }))).toEqual([2, 4]);
  });
});

type At = Parameters<TestStore['retryParked']>[0][number];

describe('settle and retryParked', () => {
  it('move an event through waiting, parked and delivered, and show it in the trail', async () => {
    const store = await startStore(temporaryDir());
    await store.commit(commitOf([row(1), row(2), row(3, { lane: 'activity' }), row(4, { toCloud: false })]));
    await store.settle([settled(1), parkedVerdict(2), parkedVerdict(3, 'activity')]);
    expect(await store.stats()).toMatchObject({ pending: { alarm: 0, activity: 0 }, parked: 2, oldest: undefined });
    const trail = await store.events({ limit: 10 });
    expect(trail.map(({ seq, delivery, reason }) => [seq, delivery, reason])).toEqual([
      [4, 'local', undefined],
      [3, 'parked', 'bad field'],
      [2, 'parked', 'bad field'],
      [1, 'delivered', undefined],
    ]);
    expect(trail[3]).toMatchObject({ deliveredAt: 5000, tries: 2, event: row(1).event });

    const both = [
      { seq: 2, lane: 'alarm' },
      { seq: 3, lane: 'activity' },
    ] as const;
    expect(await store.retryParked([{ seq: 1, lane: 'alarm' }, ...both, { seq: 99, lane: 'alarm' }])).toBe(2);
    expect(await store.retryParked(both)).toBe(0);
    expect(seqs(await store.take('alarm', 0, 10))).toEqual([2]);
    expect(seqs(await store.take('activity', 0, 10))).toEqual([3]);
    expect(await store.stats()).toMatchObject({ pending: { alarm: 1, activity: 1 }, parked: 0 });
  });

  it('do in one file what the other cannot, and fail only when nothing was done', async () => {
    const dir = temporaryDir();
    const before = await startStore(dir);
    const lanes = ['alarm', 'activity', 'alarm', 'activity'] as const;
    await before.commit(commitOf(lanes.map((lane, at) => row(at + 1, { lane }))));
    await before.settle(lanes.map((lane, at) => parkedVerdict(at + 1, lane)));
    await before.stop();
    const sick = "CREATE TRIGGER sick BEFORE DELETE ON parked BEGIN SELECT RAISE(ABORT, 'sick'); END";
    withFile(join(dir, 'bulk.db'), (db) => db.exec(sick));
    const store = await startStore(dir);
    const [first, second, third, fourth] = lanes.map((lane, at) => ({ seq: at + 1, lane })) as [At, At, At, At];
    expect(await store.retryParked([first, second])).toBe(1);
    expect(await store.dropParked([third, fourth])).toBe(1);
    await expect(store.retryParked([second, fourth])).rejects.toMatchObject({ code: 'store_failed' });
    expect(seqs(await store.take('alarm', 0, 10))).toEqual([1]);
    expect(seqs(await store.parked({ limit: 10 }))).toEqual([4, 2]);
  });

  it('change nothing when a verdict is repeated or belongs to no waiting event', async () => {
    const store = await startStore(temporaryDir());
    await store.commit(commitOf([row(1)]));
    await store.settle([settled(1)]);
    await store.settle([parkedVerdict(1), settled(1), settled(77)]);
    expect(await store.events({ limit: 10 })).toMatchObject([{ seq: 1, delivery: 'delivered' }]);
    expect((await store.stats()).parked).toBe(0);
  });
});

describe('damaged events', () => {
  it('do not make a lane look shorter than it is', async () => {
    const dir = temporaryDir();
    const before = await startStore(dir);
    const all = Array.from({ length: 12 }, (_, at) => at + 1);
    await before.commit(commitOf(all.map((seq) => row(seq))));
    await before.stop();
    withFile(join(dir, 'site.db'), (db) => db.exec('UPDATE ev SET crc = crc + 1 WHERE seq IN (1, 2, 3, 4, 5, 8)'));
    const store = await startStore(dir);
    expect(seqs(await store.take('alarm', 0, 4))).toEqual([6, 7, 9, 10]);
    expect(seqs(await store.take('alarm', 10, 4))).toEqual([11, 12]);
    expect(seqs(await store.parked({ limit: 10 }))).toEqual([8, 5, 4, 3, 2, 1]);
  });
});

describe('an event whose public text is damaged', () => {
  it('is shown as unreadable, and hides no other', async () => {
    const dir = temporaryDir();
    const before = await startStore(dir);
    await before.commit(commitOf([row(1), row(2), row(3), row(4)]));
    await before.settle([parkedVerdict(1), parkedVerdict(2)]);
    await before.stop();
    withFile(join(dir, 'site.db'), (db) => {
      db.exec('UPDATE ev SET event = substr(event, 2) WHERE seq = 2');
      db.exec(`UPDATE ev SET event = '{"class":"alarm"}' WHERE seq = 4`);
    });
    const store = await startStore(dir);
    const events = await store.events({ limit: 10 });
    expect(events.map(({ seq, event }) => [seq, event.kind === 'unreadable'])).toEqual([
      [4, true],
      [3, false],
      [2, true],
      [1, false],
    ]);
    for (const { event } of events) expect(siteEvent.safeParse(event).error).toBeUndefined();
    const { event_id, class: eventClass, partition } = row(2).event;
    expect(await store.parked({ limit: 1, beforeSeq: 3 })).toEqual([
      expect.objectContaining({
        seq: 2,
        body: row(2).body,
        event: expect.objectContaining({ event_id, class: eventClass, partition, kind: 'unreadable' }),
      }),
    ]);
    expect(seqs(await store.parked({ limit: 10 }))).toEqual([2, 1]);
  });
});

describe('events', () => {
  it('merges both files newest first, pages, and filters by partition and class', async () => {
    const store = await startStore(temporaryDir());
    const rows = Array.from({ length: 40 }, (_, index) =>
      row(index + 1, {
        lane: index % 2 === 0 ? 'alarm' : 'activity',
        part: index % 4 < 2 ? 'p1' : 'p2',
        class: index % 10 === 0 ? 'test' : 'alarm',
      }),
    );
    await store.commit(commitOf(rows));
    expect(seqs(await store.events({ limit: 5 }))).toEqual([40, 39, 38, 37, 36]);
    expect(seqs(await store.events({ limit: 3, beforeSeq: 36 }))).toEqual([35, 34, 33]);
    expect(seqs(await store.events({ limit: 4, partition: 'p2' }))).toEqual([40, 39, 36, 35]);
    expect(seqs(await store.events({ limit: 10, class: 'test' }))).toEqual([31, 21, 11, 1]);
    expect(await store.events({ limit: 100 })).toHaveLength(40);
  });

  it('finds those with pictures of a state and camera behind thousands without, never silent ones', async () => {
    const store = await startStore(temporaryDir());
    const picture = (index: number, camera: string): MediaItem => ({ index, kind: 'snapshot', camera, offsetMs: 500 });
    const media = [picture(0, 'yard'), picture(1, 'hall')];
    await store.commit(
      commitOf([
        row(1, { media }),
        row(2, { lane: 'activity', class: 'camera', media: [picture(0, 'yard')] }),
        row(3, { media, silent: true }),
        ...Array.from({ length: 4500 }, (_, index) => row(index + 4)),
        row(5000, { media: [picture(0, 'hall')] }),
      ]),
    );
    const file = { file: '1-1.jpg', bytes: 7, sha256: 'ab', mime: 'image/jpeg' };
    await store.updateMedia([{ seq: 1, lane: 'alarm', index: 1, at: 9, state: 'ready', ...file }]);
    await store.updateMedia([{ seq: 2, lane: 'activity', index: 0, at: 9, state: 'failed', reason: 'no camera' }]);
    expect(seqs(await store.events({ limit: 10, media: {} }))).toEqual([5000, 2, 1]);
    expect(seqs(await store.events({ limit: 10, media: {}, withSilent: true }))).toEqual([5000, 3, 2, 1]);
    expect(seqs(await store.events({ limit: 1, media: {} }))).toEqual([5000]);
    expect(seqs(await store.events({ limit: 10, beforeSeq: 5000, media: { camera: 'hall' } }))).toEqual([1]);
    expect(seqs(await store.events({ limit: 10, media: { camera: 'yard', state: 'failed' } }))).toEqual([2]);
    const [ready] = await store.events({ limit: 10, media: { state: 'ready' } });
    expect(ready?.media).toEqual([
      { ...picture(0, 'yard'), state: 'planned' },
      { ...picture(1, 'hall'), state: 'ready', ...file },
    ]);
  });

  it('finds a rare event behind thousands of others', async () => {
    const store = await startStore(temporaryDir());
    const rows = Array.from({ length: 6001 }, (_, index) =>
      row(index + 1, {
        class: index === 3 ? 'test' : 'alarm',
        lane: index % 3 === 0 ? 'activity' : 'alarm',
        body: '{}',
      }),
    );
    for (let from = 0; from < rows.length; from += 1000) await store.commit(commitOf(rows.slice(from, from + 1000)));
    expect(seqs(await store.events({ limit: 10, class: 'test' }))).toEqual([4]);
    expect(seqs(await store.events({ limit: 5000 }))).toHaveLength(5000);
  });
});

describe('media rows', () => {
  const plan: MediaItem[] = [
    { index: 0, kind: 'snapshot', camera: 'yard', offsetMs: -500 },
    { index: 1, kind: 'snapshot', camera: 'gate', offsetMs: 0 },
  ];

  it('go from planned to ready to uploaded, and uploaded is final', async () => {
    const store = await startStore(temporaryDir());
    await store.commit(commitOf([row(2, { media: plan }), row(1, { lane: 'activity', media: plan.slice(0, 1) })]));
    const planned = await store.media(['planned'], 10);
    expect(planned.map(({ seq, index }) => [seq, index])).toEqual([
      [1, 0],
      [2, 0],
      [2, 1],
    ]);
    expect(planned[1]).toEqual({
      seq: 2,
      lane: 'alarm',
      eventId: 'event-2',
      index: 0,
      kind: 'snapshot',
      camera: 'yard',
      offsetMs: -500,
      eventWall: row(2).wall,
      state: 'planned',
    });
    const file = { file: 'spool/2-0.jpg', bytes: 1234, sha256: 'ab', mime: 'image/jpeg' };
    await store.updateMedia([
      { seq: 2, lane: 'alarm', index: 0, at: 9, state: 'ready', ...file },
      { seq: 2, lane: 'alarm', index: 1, at: 9, state: 'failed', reason: 'camera away' },
    ]);
    expect(await store.media(['ready'], 10)).toMatchObject([{ seq: 2, index: 0, ...file }]);
    expect((await store.stats()).mediaPending).toBe(2);
    await store.updateMedia([{ seq: 2, lane: 'alarm', index: 0, at: 10, state: 'uploaded' }]);
    await store.updateMedia([{ seq: 2, lane: 'alarm', index: 0, at: 11, state: 'failed', reason: 'late' }]);
    expect(await store.media(['uploaded', 'failed'], 10)).toMatchObject([
      { index: 0, state: 'uploaded', file: 'spool/2-0.jpg' },
      { index: 1, state: 'failed', reason: 'camera away' },
    ]);
    expect((await store.events({ limit: 1 }))[0]?.media).toMatchObject([
      { index: 0, kind: 'snapshot', camera: 'yard', state: 'uploaded' },
      { index: 1, kind: 'snapshot', camera: 'gate', state: 'failed', reason: 'camera away' },
    ]);
  });

  it('keep what is to be known of a file when it was uploaded, and say instead why one was lost', async () => {
    const store = await startStore(temporaryDir());
    await store.commit(commitOf([row(1, { media: plan })]));
    const file = { file: '1-0.mp4', bytes: 3, sha256: 'ab', mime: 'video/mp4', note: 'begins 2.0 s before the event' };
    for (const index of [0, 1])
      await store.updateMedia([{ seq: 1, lane: 'alarm', index, at: 9, state: 'ready', ...file }]);
    await store.updateMedia([
      { seq: 1, lane: 'alarm', index: 0, at: 10, state: 'uploaded' },
      { seq: 1, lane: 'alarm', index: 1, at: 10, state: 'failed', reason: 'lost' },
    ]);
    expect((await store.events({ limit: 1 }))[0]?.media).toMatchObject([
      { state: 'uploaded', reason: file.note },
      { state: 'failed', reason: 'lost' },
    ]);
  });
});

describe('the memory port', () => {
  it('keeps values per room over a restart', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    await store.memory('onvif').set('yard', 'one');
    await store.memory('onvif').set('yard', 'two');
    await store.memory('panels').set('yard', 'other');
    await store.memory('panels').delete('yard');
    await store.memory('onvif').set('gate', 'one');
    await store.memory('onvif').set('yard', 'two');
    await store.stop();
    const again = await startStore(dir);
    expect(await again.memory('onvif').keys()).toEqual(['gate', 'yard']);
    expect(await again.memory('onvif').get('yard')).toBe('two');
    expect(await again.memory('panels').get('yard')).toBeUndefined();
  });

  it('says that it does not know while its file cannot be opened, which is not "never written"', async () => {
    const dir = temporaryDir();
    const store = await startStore(dir);
    await store.memory('dc09').set('opening', 'one');
    await store.stop();
    // Somebody else holds it, as a copy or a tool may.
    const holder = new Sqlite(join(dir, 'bulk.db'));
    holder.pragma('locking_mode = EXCLUSIVE');
    holder.exec('BEGIN EXCLUSIVE');
    const shut = await startStore(dir);
    await expect(shut.memory('dc09').get('opening')).rejects.toMatchObject({ code: 'store_unavailable' });
    holder.close();
    await until(
      async () =>
        (await shut
          .memory('dc09')
          .get('opening')
          .catch(() => undefined)) === 'one',
    );
  });

  it('refuses a key above its cap and a value above its size, and keeps what it has', async () => {
    const store = await startStore(temporaryDir(), { limits: { memoryKeys: 2, memoryBytes: 8 } });
    const memory = store.memory('onvif');
    await memory.set('a', '1');
    await memory.set('b', '1');
    await expect(memory.set('c', '1')).rejects.toMatchObject({ code: 'queue_full', facts: { keys: 2 } });
    await expect(memory.set('a', 'ü'.repeat(5))).rejects.toMatchObject({ code: 'queue_full', facts: { bytes: 10 } });
    await memory.set('a', '2');
    await store.memory('panels').set('c', '1');
    expect(await memory.get('a')).toBe('2');
    expect(await memory.get('c')).toBeUndefined();
  });
});

describe('bounds', () => {
  it('refuse other work at the cap of the queue while alarms are still accepted', async () => {
    const store = await startStore(temporaryDir(), { limits: { queueCount: 8, queueReserve: 0.25 } });
    const others = Array.from({ length: 8 }, (_, n) => store.commit(commitOf([row(n + 1, { lane: 'activity' })])));
    const alarms = Array.from({ length: 3 }, (_, n) => store.commit(commitOf([row(n + 100)])));
    const states = (await Promise.allSettled([...others, ...alarms])).map((result) =>
      result.status === 'fulfilled' ? 'ok' : (result.reason as { code: string }).code,
    );
    expect(states).toEqual([...Array(6).fill('ok'), 'queue_full', 'queue_full', 'ok', 'ok', 'queue_full']);
    expect(await metric(store, 'siteward_store_refused_total')).toBe(3);
    await store.commit(commitOf([row(7, { lane: 'activity' })]));
  });

  it('keep the queue within its bytes', async () => {
    const store = await startStore(temporaryDir(), { limits: { queueBytes: 20_000 } });
    const body = 'x'.repeat(8000);
    const first = store.commit(commitOf([row(1, { body, lane: 'trouble' })]));
    const third = [row(2, { body, lane: 'trouble' }), row(3, { body, lane: 'trouble' })];
    await expect(store.commit(commitOf(third))).rejects.toMatchObject({ code: 'queue_full' });
    await first;
    await store.commit(commitOf(third.slice(0, 1)));
  });

  it('trim the input log to its newest entries', async () => {
    const store = await startStore(temporaryDir(), { limits: { inputs: 50 } });
    for (let n = 0; n < 40; n += 1) await store.commit(commitOf([], { inputs: [`a${n}`, `b${n}`] }));
    const lines = await store.inputs({ limit: 1000 });
    expect(lines).toHaveLength(50);
    expect(lines.at(-1)).toBe('b39');
    await store.stats();
    expect(await metric(store, 'siteward_store_trimmed_total', { what: 'inputs' })).toBe(30);
  });

  it('trim finished history, but never a waiting event or one whose pictures are under way', async () => {
    const store = await startStore(temporaryDir(), { limits: { siteHistory: 10 } });
    const media: MediaItem[] = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }];
    await store.commit(commitOf([row(1), row(2, { media }), ...Array.from({ length: 300 }, (_, n) => row(n + 3))]));
    await store.settle(Array.from({ length: 301 }, (_, n) => settled(n + 2)));
    for (let n = 0; n < 3; n += 1) await store.settle([settled(1000)]);
    expect(seqs(await store.events({ limit: 1000 }))).toEqual([302, 301, 300, 299, 298, 297, 296, 295, 294, 2, 1]);
  });

  it('name the pictures of what is trimmed, since a kill may have left an uploaded one in its folder', async () => {
    const forgotten: string[] = [];
    const onForgotten = (files: readonly string[]) => void forgotten.push(...files);
    const store = await startStore(temporaryDir(), { limits: { siteHistory: 1 }, onForgotten });
    const of = { camera: 'yard', offsetMs: 0 };
    const media: MediaItem[] = [
      { index: 0, kind: 'snapshot', ...of },
      { index: 1, kind: 'event_mp4', ...of },
    ];
    await store.commit(commitOf([row(1, { media }), row(2), row(3)]));
    const picture = { seq: 1, lane: 'alarm', index: 0, at: 1 } as const;
    const file = { file: '1-0.jpg', bytes: 3, sha256: 'ab', mime: 'image/jpeg' };
    await store.updateMedia([{ ...picture, state: 'ready', ...file }]);
    await store.updateMedia([{ ...picture, state: 'uploaded' }]);
    await store.updateMedia([{ ...picture, index: 1, state: 'failed', reason: 'no row was written of it' }]);
    await store.settle([settled(1), settled(2), settled(3)]);
    await store.settle([settled(1000)]);
    await until(() => forgotten.length === 2);
    expect(forgotten).toEqual(['1-0.jpg', '1-1.mp4']);
    expect(seqs(await store.events({ limit: 9 }))).toEqual([3]);
  });

  it('make finished history and then old activity give way when a file has reached its size, and never an alarm', async () => {
    const store = await startStore(temporaryDir(), { limits: { bulkBytes: 400_000, siteBytes: 400_000 } });
    const body = 'x'.repeat(2000);
    for (let n = 1; n <= 300; n += 1) await store.commit(commitOf([row(n, { lane: 'activity', body })]));
    expect((await store.take('activity', 299, 10)).map(({ seq }) => seq)).toEqual([300]);
    expect((await store.stats()).pending.activity).toBeLessThan(300);
    expect(await metric(store, 'siteward_store_trimmed_total', { what: 'activity' })).toBeGreaterThan(0);

    let failed = 0;
    for (let n = 1001; n <= 1300 && failed === 0; n += 1) {
      await store.commit(commitOf([row(n, { body })])).catch((error: { code: string }) => {
        expect(error.code).toBe('store_failed');
        failed = n;
      });
    }
    expect(failed).toBeGreaterThan(1001);
    await until(() => store.health().state === 'degraded');
    expect((await store.stats()).pending.alarm).toBe(failed - 1001);
    expect(seqs(await store.take('alarm', 0, 1))).toEqual([1001]);
  });
});
