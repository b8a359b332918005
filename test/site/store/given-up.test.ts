import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lane } from '#site/model/index.ts';
import { Files } from '#site/store/files.ts';
import { fileOf, laneIndex } from '#site/store/lanes.ts';
import { defaultLimits } from '#site/store/limits.ts';
import { wireCommit } from '#site/store/wire.ts';
import { commitOf, row, settled, temporaryDir, withFile } from './helpers.ts';

let files: Files;
let told: (text: string) => void;
const roomy = { ...defaultLimits, memoryBytes: 1024 ** 2 };
function open(dir: string, limits = defaultLimits): Files {
  const data = { dir, bootId: 'boot-1', limits, sent: new Int32Array(1) };
  const opened = new Files({ data, note: (_, text) => told(text), wall: () => 1 });
  opened.open();
  return opened;
}
beforeEach(() => {
  told = () => {};
  files = open(temporaryDir());
});
afterEach(() => files.close(0));

const fileFor = (lane: Lane) => {
  const file = fileOf(lane) === 'site' ? files.site() : files.bulk();
  if (file === undefined) throw new Error('the file is not open');
  return file;
};
const within = (lane: Lane, apply: (file: ReturnType<typeof fileFor>) => void) => {
  const file = fileFor(lane);
  files.transactions.durably(file, () => apply(file));
};
const put = (lane: Lane, ...seqs: number[]) =>
  within(lane, ({ outbox }) => {
    const { site: inSite, bulk: inBulk } = wireCommit(commitOf(seqs.map((seq) => row(seq, { lane }))), 1);
    outbox.insert(inSite ?? inBulk ?? []);
  });
/** The oldest go, though one of them may be on its way. */
const giveUp = (lane: Lane, most: number) =>
  within(lane, ({ outbox }) => void outbox.evict(laneIndex(lane), most, { keep: 0, at: 1 }));
/** The cloud's answer, which came after all. */
const arrives = (lane: Lane, seq: number) => within(lane, ({ outbox }) => outbox.settle(settled(seq, lane)));
const lost = (lane: Lane) => fileFor(lane).outbox.gaps.sums().lost[laneIndex(lane)];

describe('the pictures of an event that was given up and is stored again', () => {
  const media = [{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }] as never;
  const store = () =>
    within('alarm', ({ outbox }) => outbox.insert(wireCommit(commitOf([row(1, { media })]), 1).site ?? []));
  const states = () => fileFor('alarm').db.prepare('SELECT state, reason FROM media').raw().all();

  it('have failed, and are waited for by nobody', () => {
    store();
    expect(states()).toEqual([[0, null]]);
    giveUp('alarm', 1);
    store();
    expect(states()).toEqual([[3, 'given up with its event, which came back']]);
  });

  it('are there all the same where one was under way', () => {
    store();
    giveUp('alarm', 1);
    store();
    const ready = { file: '1-0.jpg', bytes: 9, sha256: 'ab', mime: 'image/jpeg' } as const;
    within('alarm', ({ outbox }) =>
      outbox.updateMedia({ seq: 1, lane: 'alarm', index: 0, at: 1, state: 'ready', ...ready }),
    );
    expect(states()).toEqual([[1, null]]);
  });
});

describe('an event that was given up while it was on its way is taken out of the count when it arrives', () => {
  it.each(['alarm', 'activity'] as const)('although its file was opened anew meanwhile: %s', (lane) => {
    put(lane, 1, 2, 3);
    giveUp(lane, 2);
    files.reopen(fileOf(lane));
    expect(lost(lane)).toBe(2);
    arrives(lane, 1);
    expect(lost(lane)).toBe(1);
    // One that was not given up, and one that has arrived already, change nothing.
    arrives(lane, 1);
    arrives(lane, 3);
    expect(lost(lane)).toBe(1);
  });

  it('although bulk.db was deleted meanwhile to make room for alarms', () => {
    put('activity', 1, 2, 3, 4);
    giveUp('activity', 2);
    expect(files.abandonBulk()).toBe(2);
    expect(lost('activity')).toBe(4);
    arrives('activity', 1);
    arrives('activity', 3);
    expect(lost('activity')).toBe(2);
    arrives('activity', 3);
    expect(lost('activity')).toBe(2);
  });

  it('although both happened', () => {
    put('activity', 1, 2, 3);
    giveUp('activity', 1);
    files.abandonBulk();
    files.reopen('bulk');
    arrives('activity', 1);
    arrives('activity', 2);
    expect(lost('activity')).toBe(1);
  });

  it('although it was of unknown outcome, and was written again meanwhile', () => {
    put('alarm', 1, 2, 3);
    giveUp('alarm', 2);
    put('alarm', 1);
    expect(lost('alarm')).toBe(1);
    arrives('alarm', 1);
    expect(lost('alarm')).toBe(1);
  });

  it('and no other record shrinks for it where a damaged file was set aside meanwhile', () => {
    put('alarm', 1, 2);
    giveUp('alarm', 1);
    files.reopen('site', 'a page of it cannot be read');
    put('alarm', 3, 4);
    giveUp('alarm', 1);
    arrives('alarm', 1);
    expect(lost('alarm')).toBe(1);
  });
});

describe('a bulk.db that was deleted to make room for alarms', () => {
  it('is not used before the new one tells of the loss: a verdict would find nothing to take out of the count', () => {
    put('activity', 1, 2, 3);
    // More than the new file may hold at first.
    const pin = 'x'.repeat(200_000);
    within('activity', (file) => file.name === 'bulk' && file.remember('onvif', 'pin', pin, roomy));
    files.close(3);
    files = open(files.dir, { ...defaultLimits, bulkBytes: 100_000 });
    expect(files.abandonBulk()).toBe(3);
    expect(files.bulk()).toBeUndefined();
    files.opened('bulk')?.db.pragma('max_page_count = 1000');
    expect(lost('activity')).toBe(3);
    arrives('activity', 1);
    expect(lost('activity')).toBe(2);
    expect(files.bulk()?.recall('onvif', 'pin')).toBe(pin);
  });

  it.each([{ silent: [] as number[] }, { silent: [2, 4] }])(
    'counts silent events of a damaged one that was not read yet where nobody sees it: $silent',
    ({ silent }) => {
      within('activity', ({ outbox }) => {
        const seqs = silent.length === 0 ? [1, 3] : [1, 2, 3, 4];
        const rows = seqs.map((seq) => row(seq, { lane: 'activity', ...(silent.includes(seq) && { silent: true }) }));
        outbox.insert(wireCommit(commitOf(rows), 1).bulk ?? []);
      });
      files.reopen('bulk', 'a page of it cannot be read');
      expect(files.abandonBulk()).toBe(2);
      const { reader, outbox } = fileFor('activity');
      const gaps = (withSilent: boolean) => reader.gaps({ limit: 10, unreported: true, withSilent });
      const shown = { id: 1, count: 2, seqFrom: 1, seqTo: 3, why: 'disk_full' };
      expect(gaps(false)).toMatchObject([shown]);
      expect(outbox.gaps.sums()).toMatchObject({ lost: [0, 0, 0, 2], open: 1 });
      const hidden = gaps(true).filter((gap) => gap.silent === true);
      expect(hidden).toMatchObject(silent.length === 0 ? [] : [{ lane: 'activity', count: 2, seqFrom: 2, seqTo: 4 }]);
    },
  );

  it('counts after a kill what waited then and what had been given up before, though the full disk took the side file only after the deletion', () => {
    const { dir } = files;
    put('activity', 1, 2, 3, 4);
    giveUp('activity', 1);
    files.writeSide();
    for (const seq of [2, 3]) arrives('activity', seq);
    // Nothing can be written beside it until the file is gone.
    const blocked = join(dir, 'epoch.json.part');
    mkdirSync(blocked);
    told = (text) => {
      if (text.startsWith('bulk.db was deleted')) rmSync(blocked, { recursive: true });
    };
    expect(files.abandonBulk()).toBe(1);
    const left = temporaryDir();
    cpSync(dir, left, { recursive: true });
    // The kill came before anything of the new file was on disk.
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(left, `bulk.db${suffix}`), { force: true });
    const again = open(left);
    try {
      expect(again.bulk()?.outbox.gaps.sums().lost[laneIndex('activity')]).toBe(2);
    } finally {
      again.close(0);
    }
  });
});

/** What a kill leaves, opened by the next start. */
function afterKill(work: (left: Files) => void): void {
  const dir = temporaryDir();
  cpSync(files.dir, dir, { recursive: true });
  const left = open(dir);
  try {
    work(left);
  } finally {
    left.close(0);
  }
}
const lostIn = (left: Files) => [left.site(), left.bulk()].map((file) => file?.outbox.gaps.sums().lost);
const trimAll = (lane: Lane) => within(lane, ({ outbox }) => void outbox.trimHistory(0, 100));

describe('after a kill no delivered event counts as lost, though its row gave way to others on a full disk', () => {
  it.each([
    { lane: 'alarm' as const, given: 0 },
    { lane: 'alarm' as const, given: 2 },
    { lane: 'activity' as const, given: 0 },
    { lane: 'activity' as const, given: 2 },
  ])('of $lane, $given given up before', ({ lane, given }) => {
    put(lane, 1, 2, 3, 4, 5);
    if (given > 0) giveUp(lane, given);
    files.writeSide();
    for (const seq of [3, 4, 5]) arrives(lane, seq);
    if (given === 0) for (const seq of [1, 2]) arrives(lane, seq);
    trimAll(lane);
    const before = lostIn(files);
    afterKill((left) => expect(lostIn(left)).toEqual(before));
  });

  it('when bulk.db went as a whole, the newest events in it delivered', () => {
    put('activity', 1, 3, 5);
    put('alarm', 2, 4);
    for (const seq of [3, 5]) arrives('activity', seq);
    expect(files.abandonBulk()).toBe(1);
    const before = lostIn(files);
    afterKill((left) => expect(lostIn(left)).toEqual(before));
  });
});

describe('what the side file knows of and bulk.db lacks is counted once, when the disk takes it', () => {
  /** An older copy was put back, without events 3 to 5; the disk takes no gap record. */
  function openOlder(): void {
    put('activity', 1, 2);
    files.close(2);
    const older = join(temporaryDir(), 'bulk.db');
    cpSync(join(files.dir, 'bulk.db'), older);
    files = open(files.dir);
    put('activity', 3, 4, 5);
    files.close(5);
    withFile(older, (db) => db.exec("CREATE TRIGGER full BEFORE INSERT ON gap BEGIN SELECT raise(FAIL, 'full'); END"));
    cpSync(older, join(files.dir, 'bulk.db'));
    files = open(files.dir);
    expect(lost('activity')).toBe(0);
  }

  it('though bulk.db was deleted meanwhile to make room for alarms', () => {
    openOlder();
    expect(files.abandonBulk()).toBe(2);
    files.marks.compare();
    expect(lost('activity')).toBe(5);
  });

  it('though later events came and it was opened anew meanwhile', () => {
    openOlder();
    put('activity', 6);
    files.reopen('bulk');
    files.opened('bulk')?.db.exec('DROP TRIGGER full');
    files.marks.compare();
    expect(lost('activity')).toBe(3);
  });
});
