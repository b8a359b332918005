import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Lane, lanes, type MediaItem } from '#site/model/index.ts';
import { Files } from '#site/store/files.ts';
import { fileOf, laneIndex } from '#site/store/lanes.ts';
import { defaultLimits } from '#site/store/limits.ts';
import { importance, Pressure } from '#site/store/pressure.ts';
import type { Trimmed } from '#site/store/protocol.ts';
import { mib, type Space } from '#site/store/space.ts';
import { wireCommit } from '#site/store/wire.ts';
import { Yielding } from '#site/store/yielding.ts';
import { commitOf, row, temporaryDir } from './helpers.ts';

let files: Files;
const trimmed: Partial<Record<Trimmed, number>> = {};
/** Real files, with limits of their own; nothing but the moments is not real. */
const options = () => ({
  ...{ dir: files.dir, files, limits: { ...defaultLimits, keepAlarms: 0 }, durably: files.transactions.durably },
  wall: () => 1,
  trimmed(what: Trimmed, count: number) {
    trimmed[what] = (trimmed[what] ?? 0) + count;
  },
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const data = { dir: temporaryDir(), bootId: 'boot-1', limits: defaultLimits, sent: new Int32Array(1) };
  files = new Files({ data, note: () => {}, wall: () => 1 });
  files.open();
  for (const what of Object.keys(trimmed)) delete trimmed[what as Trimmed];
});
afterEach(() => {
  files.close(0);
  vi.useRealTimers();
});

const fileOfLane = (lane: Lane) => {
  const file = fileOf(lane) === 'site' ? files.site() : files.bulk();
  if (file === undefined) throw new Error('the file is not open');
  return file;
};
const site = () => {
  const file = files.site();
  if (file === undefined) throw new Error('site.db is not open');
  return file;
};

/** One waiting event, and its picture if it has one, ready to be uploaded. */
function put(seq: number, lane: Lane, kind?: MediaItem['kind'], silent = false): void {
  const file = fileOfLane(lane);
  const media = kind === undefined ? [] : [{ index: 0, kind, camera: 'yard', offsetMs: 0 }];
  const { site: inSite, bulk: inBulk } = wireCommit(
    commitOf([row(seq, { lane, media, ...(silent && { silent }) })]),
    1,
  );
  const ready = { state: 'ready', file: `${seq}-0.jpg`, bytes: 1, sha256: 'x', mime: 'image/jpeg' } as const;
  files.transactions.durably(file, () => {
    file.outbox.insert(inSite ?? inBulk ?? []);
    if (kind !== undefined) file.outbox.updateMedia({ seq, lane, index: 0, at: 1, ...ready });
  });
}

/** What went since the last call: files of pictures, and lanes of which events went. */
let before: number[] = [];
function gone(): string[] {
  const pending = lanes.map((lane) => fileOfLane(lane).outbox.counts.pending[laneIndex(lane)] ?? 0);
  const fewer = lanes.filter((_, lane) => (pending[lane] ?? 0) < (before[lane] ?? 0));
  before = pending;
  const pictures = [files.bulk(), files.site()].flatMap((file) => file?.outbox.takeForgotten() ?? []);
  return [...pictures, ...fewer];
}

/** As a write that is repeated: all that gives way for an event of the lane, in order. */
function yields(rank: number): string[][] {
  const yielding = new Yielding({ ...options(), relief: () => false });
  gone();
  const steps: string[][] = [];
  for (let tries = 0; tries < 20; tries += 1) {
    yielding.siteYields(site(), rank, true);
    vi.advanceTimersByTime(1000);
    const step = gone();
    if (step.length > 0) steps.push(step);
  }
  return steps;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const pictures = (seqs: readonly number[]) => seqs.map((seq) => `${seq}-0.jpg`);

describe('on a full disk with nothing in bulk.db that may go', () => {
  beforeEach(() => {
    for (const seq of range(1, 3)) put(seq, 'alarm', 'snapshot');
    for (const seq of range(4, 45)) put(seq, 'alarm', 'short_mp4');
    for (const seq of range(51, 52)) put(seq, 'arming', 'snapshot');
    put(53, 'trouble', 'short_mp4');
    put(54, 'activity', 'snapshot');
  });

  it('pictures of lesser events go, then troubles, clips of alarms, their snapshots, arming, alarms', () => {
    expect(yields(laneIndex('alarm'))).toEqual([
      pictures([54]),
      pictures([53, 51, 52]),
      ['53-0.jpg', 'trouble'],
      pictures(range(4, 43)),
      pictures([44, 45, 1, 2, 3]),
      [...pictures([51, 52]), 'arming'],
      [...pictures(range(1, 45)), 'alarm'],
    ]);
    expect(trimmed.pictures).toBe(49);
  });

  it('no alarm goes while activity waits in a damaged bulk.db that is not read yet', () => {
    files.reopen('bulk', 'a page cannot be read');
    expect(files.mending.isAtWork('bulk')).toBe(true);
    const yielding = new Yielding({ ...options(), relief: () => false });
    expect(yielding.bulkYields(laneIndex('alarm'))).toBe(true);
    expect(files.mending.isAtWork('bulk')).toBe(false);
    const gaps = files.bulk()?.reader.gaps({ limit: 10, unreported: true, withSilent: true });
    expect(gaps).toMatchObject([{ lane: 'activity', seqFrom: 54, seqTo: 54, count: 1, why: 'disk_full' }]);
    expect(site().outbox.counts.pending[laneIndex('alarm')]).toBe(45);
    // It is gone for good: nothing more can give way there.
    expect(yielding.bulkYields(laneIndex('alarm'))).toBe(false);
  });

  it('nothing of an alarm goes for a trouble, and nothing at all for a note of a room', () => {
    expect(yields(laneIndex('trouble'))).toEqual([pictures([54]), pictures([53, 51, 52]), ['53-0.jpg', 'trouble']]);
    expect(yields(lanes.length)).toEqual([]);
  });

  it('a verification ranks like arming: what lets an alarm be answered is no note of a room', () => {
    const verifications = [{ id: 'v', at: 1, record: '{}' }];
    const empty = { rows: [], arming: [], inputs: [] };
    const rank = (more: object) => importance([{ id: 1, op: 'commit', commit: wireCommit({ ...empty, ...more }, 1) }]);
    expect(rank({ verifications })).toBe(laneIndex('arming'));
    expect(yields(rank({ verifications })).flat()).toContain('trouble');
    expect(rank({})).toBe(lanes.length);
  });

  it('no more pictures go before the files of the last had time to', () => {
    const yielding = new Yielding({ ...options(), relief: () => false });
    gone();
    for (let tries = 0; tries < 20; tries += 1) yielding.siteYields(site(), laneIndex('alarm'), true);
    expect(gone()).toEqual(pictures([54]));
  });
});

describe('pictures that gave way', () => {
  it('are failed with the reason, which stands whatever is found missing later, and leave their events', () => {
    put(1, 'alarm', 'snapshot');
    expect(yields(laneIndex('arming'))).toEqual([pictures([1])]);
    files.transactions.durably(site(), () =>
      site().outbox.updateMedia({ seq: 1, lane: 'alarm', index: 0, at: 2, state: 'failed', reason: 'lost' }),
    );
    expect(site().reader.media(['failed'], 9)).toMatchObject([{ seq: 1, reason: 'given up: the disk was full' }]);
    expect(site().outbox.counts.pending[laneIndex('alarm')]).toBe(1);
  });

  it('of silent events go as all others and stand in no figure', () => {
    put(1, 'alarm', 'snapshot', true);
    put(2, 'alarm', 'snapshot');
    expect(yields(laneIndex('arming'))).toEqual([pictures([1, 2])]);
    expect(trimmed.pictures).toBe(1);
  });
});

describe('each time the disk is looked at', () => {
  const total = 32_000 * mib;
  function look(free: number): string[] {
    const pressure = new Pressure({ ...options(), space: (): Space => ({ total, free }) });
    gone();
    pressure.tend();
    while (pressure.sweep());
    return gone();
  }
  beforeEach(() => {
    for (const seq of range(1, 2)) put(seq, 'alarm', 'snapshot');
    for (const seq of range(11, 60)) put(seq, 'trouble', 'snapshot');
  });

  it('some pictures of lesser events go while it is nearly full, and no event does', () => {
    expect(look(1000 * mib)).toEqual([]);
    expect(look(500 * mib)).toEqual(pictures(range(11, 50)));
    expect(look(500 * mib)).toEqual(pictures(range(51, 60)));
    expect(look(500 * mib)).toEqual([]);
  });

  it('those of alarms go too when it is full', () => {
    expect(look(mib)).toEqual(pictures(range(11, 50)));
    expect(look(mib)).toEqual(pictures([...range(51, 60), 1, 2]));
  });
});

describe('a write that does not fit on a disk that says it has room', () => {
  it.each(['activity', 'alarm'] as const)(
    'of %s costs no event before it was refused for two seconds, then activity first',
    (lane) => {
      for (const [seq, other] of lanes.entries()) put(seq + 1, other);
      const pressure = new Pressure({ ...options(), space: (): Space => ({ total: 32_000 * mib, free: 9_000 * mib }) });
      files.transactions.ended = (file, hasWritten) => void (hasWritten && pressure.wrote(file));
      gone();
      const refused = () => pressure.makeRoom(fileOfLane(lane), laneIndex(lane));
      expect([refused(), gone()]).toEqual([false, []]);
      vi.advanceTimersByTime(1500);
      expect([refused(), gone()]).toEqual([false, []]);
      vi.advanceTimersByTime(1500);
      refused();
      // An empty bulk.db is no room for an alarm.
      expect(gone()).toEqual(lane === 'alarm' ? ['trouble', 'activity'] : ['activity']);
    },
  );
});
