import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MediaDetail, MediaEntry } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { camera, code, type Site, startSite } from '../harness/site.ts';
import { withStore } from '../harness/store.ts';
import { siteward } from './run-cli.ts';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    cameras: ['yard'],
    yaml: ({ cameras }) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
media: { snapshots: 2, interval: 500ms, keep: 1h }
cameras:
${camera('yard', cameras.yard, 'zone: "21", zone_type: video_person_perimeter')}
`,
  });
}, 120_000);
afterAll(() => site?.close());

const run = (...args: string[]) => siteward(['media', ...args, '--socket', site.socket]);
const listed = async (...args: string[]) =>
  (await run('list', '--json', ...args)).out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as MediaEntry);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const audited = async () => {
  const { out } = await siteward(['audit', 'show', '--json', '--socket', site.socket]);
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { kind: string; target?: string })
    .filter(({ target }) => target?.startsWith('media of event') === true);
};
const folder = (name: string) => join(site.folder, name);
const spool = () => join(site.folder, 'state', 'spool');

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
let alarm = 0;

test('the pictures of an alarm are listed, shown and copied whole, new and for this user alone', async () => {
  await site.lan.shows('camera/yard/availability', 'online', 60_000);
  await siteward(['arm', 'p1', '--code-stdin', '--socket', site.socket], {}, code);
  await site.lan.shows('partition/p1/state', 'armed_away', 30_000);
  site.cameras.yard?.send('person on');
  const [entry] = await eventually(
    'both are in the cloud',
    async () => {
      const found = await listed('--state', 'uploaded');
      return found[0]?.items.length === 2 ? found : undefined;
    },
    { timeoutMs: 60_000 },
  );
  alarm = entry?.seq ?? 0;
  // What follows is of this one alarm.
  site.cameras.yard?.send('person off');
  await siteward(['disarm', 'p1', '--code-stdin', '--socket', site.socket], {}, code);
  expect(entry).toMatchObject({
    partition: 'p1',
    items: [
      { index: 0, kind: 'snapshot', camera: 'yard', offset_ms: 0, state: 'uploaded' },
      { index: 1, kind: 'snapshot', camera: 'yard', offset_ms: 500, state: 'uploaded' },
    ],
  });
  expect((await run('list')).out).toMatch(
    new RegExp(`^\\S+Z +${alarm} +\\w+ +snapshot +yard +\\+0\\.0s +uploaded +[\\d.]+ K?i?B`, 'm'),
  );
  expect(await listed('--camera', 'lobby')).toEqual([]);
  expect(await listed('--event', String(alarm), '--state', 'failed')).toEqual([]);
  expect(await listed('--event', String(alarm), '--state', 'uploaded')).toEqual([entry]);
  expect(await listed('--before', String(alarm))).toEqual([]);

  const shown = JSON.parse((await run('show', String(alarm), '--json')).out) as MediaDetail;
  expect(shown.items.map(({ here }) => here)).toEqual([true, true]);
  const { out } = await run('show', String(alarm));
  for (const item of shown.items) expect(out).toContain(item.sha256);

  const to = folder('evidence');
  const exported = await run('export', String(alarm), '--to', to, '--json');
  expect(exported).toMatchObject({ code: 0, err: '' });
  const names = [`event-${alarm}-0_yard_snapshot_+0.0s.jpg`, `event-${alarm}-1_yard_snapshot_+0.5s.jpg`];
  expect(readdirSync(to).sort()).toEqual(names);
  const sums = names.map((name) => sha256(readFileSync(join(to, name))));
  expect(sums).toEqual(shown.items.map((item) => item.sha256));
  expect((await site.cloud.uploads()).map((upload) => upload.sha256)).toEqual(expect.arrayContaining(sums));
  expect(names.map((name) => statSync(join(to, name)).mode & 0o777)).toEqual([0o600, 0o600]);
  expect(JSON.parse(exported.out)).toMatchObject({ event: alarm, missing: [], files: [{ index: 0 }, { index: 1 }] });
  expect(await audited()).toMatchObject([
    {
      kind: 'export',
      target: `media of event ${alarm}`,
      client_id: 'control socket',
      outcome: 'done',
      after: '2 of 2',
    },
  ]);
}, 120_000);

test('nothing is replaced, and what is not here any more is said', async () => {
  const to = folder('evidence');
  // Nothing could be taken along, so that nothing was, in the audit log either.
  const before = (await audited()).length;
  const all = await run('export', String(alarm), '--to', to);
  expect(all).toMatchObject({ code: 1, out: '', err: expect.stringContaining('name another folder (file_unusable)') });
  expect(await audited()).toHaveLength(before);
  const first = join(to, `event-${alarm}-0_yard_snapshot_+0.0s.jpg`);
  writeFileSync(first, 'mine');
  rmSync(join(to, `event-${alarm}-1_yard_snapshot_+0.5s.jpg`));
  const again = await run('export', String(alarm), '--to', to);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining('1 of 2 exported') });
  expect(again.out).toContain('is there already');
  expect(readFileSync(first, 'utf8')).toBe('mine');

  for (const name of readdirSync(join(spool(), 'kept'))) rmSync(join(spool(), 'kept', name));
  const gone = await run('export', String(alarm), '--to', folder('late'), '--json');
  expect(gone.code).toBe(66);
  expect(JSON.parse(gone.out)).toMatchObject({
    files: [],
    missing: [{ reason: expect.stringContaining('the cloud') }, {}],
  });
  expect(readdirSync(folder('late'))).toEqual([]);
  const unknown = await run('export', '999999', '--to', folder('late'));
  expect(unknown).toMatchObject({ code: 66, err: expect.stringContaining('(media_unknown)') });
  expect(await run('show', '999999')).toMatchObject({ code: 66 });
  const refusal = { kind: 'refusal', outcome: 'refused' };
  expect((await audited()).slice(0, 2)).toMatchObject([
    { ...refusal, target: 'media of event 999999', reason: 'media_unknown' },
    { ...refusal, target: `media of event ${alarm}`, reason: 'media_gone' },
  ]);
  // Who cannot write takes nothing along.
  const file = folder('late.txt');
  writeFileSync(file, '');
  expect(await run('export', String(alarm), '--to', file)).toMatchObject({ code: 1 });
  expect(await audited()).toHaveLength(4);
}, 120_000);

test('a clip comes in pieces; what cannot be had is told beside it; of a silent event there is nothing', async () => {
  await site.line.cut();
  const clip = randomBytes(2_700_000);
  let number = 0;
  let row = 0;
  await withStore(site, async (store) => {
    const { epoch, nextSeq, hidden } = store.recovery();
    row = nextSeq;
    number = nextSeq - hidden;
    const rowOf = (seq: number, kind: string, shown: number) => {
      const at = { orderKey: 'p1', mono: 1, wall: Date.now() - 3_600_000, boot: 'x', clock: 'synced' } as const;
      const event = {
        ...{ event_id: `media-${seq}`, event_type: kind, kind, class: 'alarm', status: 'active' },
        ...{ partition: 'p1', seq: shown, source: 'camera:yard', at: new Date(at.wall).toISOString() },
        data: { version: 1, epoch, clock: 'synced' },
      } as SiteEvent;
      const item = { camera: 'yard', offsetMs: -5000 } as const;
      const media = [
        { ...item, index: 0, kind: 'event_mp4' },
        { ...item, index: 1, kind: 'snapshot' },
      ] as const;
      const body = JSON.stringify({ event_id: event.event_id, payload: event });
      return { ...at, seq, eventId: event.event_id, lane: 'alarm', body, event, media, toCloud: true } as const;
    };
    await store.commit({
      rows: [rowOf(row, 'burglary', number), { ...rowOf(row + 1, 'panic_silent', number), silent: true as const }],
      arming: [],
      inputs: [],
    });
    for (const seq of [row, row + 1]) {
      writeFileSync(join(spool(), `${seq}-0.mp4`), clip);
      const file = { file: `${seq}-0.mp4`, bytes: clip.length, sha256: sha256(clip), mime: 'video/mp4' };
      const at = { seq, lane: 'alarm', at: Date.now() } as const;
      await store.updateMedia([{ ...at, index: 0, state: 'ready', ...file, note: 'begins 5.0 s before the event' }]);
      await store.updateMedia([{ ...at, index: 1, state: 'failed', reason: 'the lens was covered' }]);
    }
  });
  await site.daemon.restart();

  expect((await listed()).map(({ event, seq }) => [event, seq]).slice(0, 2)).toEqual([
    ['burglary', number],
    [expect.not.stringContaining('silent'), alarm],
  ]);
  expect(await listed('--state', 'ready', '--limit', '1')).toMatchObject([
    { seq: number, items: [{ kind: 'event_mp4', reason: 'begins 5.0 s before the event' }] },
  ]);
  const to = folder('clip');
  const exported = await run('export', String(number), '--to', to);
  expect(exported).toMatchObject({ code: 1, err: expect.stringContaining('1 of 2 exported') });
  expect(exported.out).toContain('the lens was covered');
  expect(readdirSync(to)).toEqual([`event-${number}-0_yard_event_mp4_-5.0s.mp4`]);
  expect(sha256(readFileSync(join(to, readdirSync(to)[0] ?? '')))).toBe(sha256(clip));

  expect(JSON.parse((await run('show', String(number), '--json')).out)).toMatchObject({
    event: 'burglary',
    seq: number,
  });
  // Neither under the number it shares nor under that of its row.
  const next = await run('export', String(row + 1), '--to', folder('silent'));
  expect(next).toMatchObject({ code: 66, out: '' });
  expect((await listed()).flatMap(({ event }) => event)).not.toContain('panic_silent');
  expect(existsSync(join(spool(), `${row + 1}-0.mp4`))).toBe(true);

  // What was changed on the disk is no evidence: the sizes are the same, the bytes are not.
  writeFileSync(join(spool(), `${row}-0.mp4`), randomBytes(clip.length));
  const changed = await run('export', String(number), '--to', folder('changed'));
  expect(changed).toMatchObject({ code: 1, out: expect.stringContaining('not the one that was recorded') });
  expect(readdirSync(folder('changed'))).toEqual([]);
}, 180_000);
