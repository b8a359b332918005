import { describe, expect, it } from 'vitest';
import {
  type KeptSync,
  keptOf,
  resumeSync,
  type SyncInput,
  type SyncState,
  siteStatus,
  startSync,
  syncStep,
  syncTimings,
} from '#site/core/cloud-sync/index.ts';
import type { PartitionState } from '#site/model/index.ts';
import { hour, minute, second } from './arming-model/day.ts';
import { type Rig, rig } from './arming-model/rig.ts';

/** A site that has run for a while, on a healthy line, and both sides agree. */
function calm(first: 'armed' | 'disarmed' = 'disarmed', options: Parameters<typeof rig>[0] = {}): Rig {
  const one = rig(options);
  if (first === 'armed') one.keypad('arm', { skipExitDelay: true });
  one.pass(hour);
  one.log.length = 0;
  return one;
}
const statuses = (one: Rig) => one.of('put').map(({ status }) => status);
const verbs = (one: Rig) => one.of('command').map(({ verb }) => verb);
const reasons = (one: Rig) => one.of('conflict').map(({ reason }) => reason);

describe('What changes on the site', () => {
  it('is written at once, after a look, and only once', () => {
    const one = calm();
    one.keypad('arm');
    one.pass(10 * minute);
    expect(one.log.slice(0, 2).map(({ kind }) => kind)).toEqual(['get', 'put']);
    expect(statuses(one)).toEqual(['armed']);
    expect(one.of('put')[0]?.ms).toBeLessThan(hour + second);
    expect(one.sync.acked).toBe(one.sync.local?.seq);
  });

  it('is written as the latest state only, after the line was away', () => {
    const one = calm();
    one.cloud.up = false;
    for (const verb of ['arm', 'disarm', 'arm', 'disarm', 'arm'] as const) {
      one.keypad(verb);
      one.pass(10 * minute);
    }
    one.cloud.up = true;
    one.pass(5 * minute);
    expect(statuses(one)).toEqual(['armed']);
    expect(one.sync.acked).toBe(one.sync.local?.seq);
  });

  it('is not written at all when the cloud agrees in the end', () => {
    const one = calm();
    one.cloud.up = false;
    one.keypad('arm');
    one.keypad('disarm');
    one.pass(minute);
    one.cloud.up = true;
    one.pass(5 * minute);
    expect(statuses(one)).toEqual([]);
    expect(one.sync).toMatchObject({ owed: false, acked: one.sync.local?.seq });
  });

  it('waits for the end of the exit delay, and a cancelled exit makes no traffic', () => {
    const one = calm('disarmed', { exitDelayMs: 30_000 });
    one.keypad('arm');
    one.pass(10 * second);
    one.keypad('disarm');
    one.pass(5 * minute);
    expect(statuses(one)).toEqual([]);
    one.keypad('arm');
    one.pass(29 * second);
    expect(statuses(one)).toEqual([]);
    one.pass(minute);
    expect(one.word()).toBe('armed_away');
    expect(statuses(one)).toEqual(['armed']);
  });

  it('is not repeated in a form that the cloud does not take, until there is another state to tell', () => {
    const one = calm();
    one.cloud.puts.push('body');
    one.keypad('arm');
    one.pass(30 * minute);
    expect(statuses(one)).toEqual(['armed']);
    expect(one.of('refused')).toEqual([expect.objectContaining({ what: 'body' })]);
    one.keypad('disarm');
    one.keypad('arm');
    one.pass(5 * minute);
    expect(statuses(one)).toEqual(['armed', 'armed']);
    expect(one.cloud.value).toBe('armed');
  });

  it('is tried with growing waits while nothing gets through', () => {
    const one = calm();
    for (let n = 0; n < 12; n += 1) one.cloud.puts.push('unsent');
    one.keypad('arm');
    one.pass(hour);
    const waits = one.of('put').map(({ ms }, n, all) => ms - (all[n - 1]?.ms ?? hour));
    // Full jitter: this bridge draws the middle of five minutes.
    expect(waits.at(-1)).toBeGreaterThanOrEqual(150 * second);
    expect(waits.at(-1)).toBeLessThan(160 * second);
    expect(one.cloud.value).toBe('armed');
  });
});

describe('What changes in the cloud', () => {
  it('is a command when two healthy reads saw the change: it bears the earliest moment it can have been given', () => {
    const one = calm('armed');
    const lastRead = one.sync.seen?.from ?? 0;
    one.press('disarmed');
    one.pass(minute);
    expect(one.word()).toBe('disarmed');
    const [command] = one.of('command');
    expect(command?.issuedAt).toBe(one.wall + lastRead - 1_000_000);
    expect(command?.expiresAt).toBe(command!.issuedAt + 120 * second);
    expect(one.results).toEqual([expect.objectContaining({ outcome: 'done' })]);
    expect(one.of('put')).toEqual([]);
    expect(one.sync.acked).toBe(one.sync.local?.seq);
  });

  it('is no command after more than two intervals without a good read', () => {
    for (const [downMs, done] of [
      [20 * second, true],
      [120 * second, false],
    ] as const) {
      const one = calm('armed');
      one.cloud.up = false;
      one.press('disarmed');
      one.pass(downMs);
      one.cloud.up = true;
      one.pass(2 * minute);
      expect(one.word()).toBe(done ? 'disarmed' : 'armed_away');
      expect(reasons(one)).toEqual(done ? [] : ['waited']);
      expect(one.cloud.value).toBe(done ? 'disarmed' : 'armed');
    }
  });

  it('is not done when it came before a change on the site, or too close to it to tell', () => {
    const one = calm('armed');
    one.pass(second);
    one.press('disarmed');
    one.pass(second);
    one.keypad('disarm');
    one.keypad('arm');
    one.pass(minute);
    expect(one.word()).toBe('armed_away');
    expect(verbs(one)).toEqual([]);
    expect(reasons(one)).toEqual(['newer_local_change']);
    expect(one.cloud.value).toBe('armed');
  });

  it('is done where the cloud says by its own clock that it came clearly after the change on the site', () => {
    // The keypad at 60 s of 90 s; the read at its end finds a change of the given age. The cloud lives in 1999.
    const find = (ageMs: number | undefined) => {
      const from = 1_000_000;
      const { sync } = calm('armed');
      const state: SyncState = {
        ...sync,
        local: { ...sync.local!, changedAt: from + 40_000 },
        seen: {
          ...{ value: 'armed', version: 'a', writtenAt: null, confirmed: true },
          ...{ from, since: from, until: from + 100 },
        },
        flight: { kind: 'get', request: 900, since: from + 69_000 },
      };
      const at = { mono: from + 70_000, wall: 1_800_000_070_000, random: 0.5 };
      const answer = { at, kind: 'polled', request: 900, value: 'disarmed', version: 'b', id: 'x' } as const;
      const stamps = ageMs === undefined ? {} : { writtenAt: 9e11 - ageMs, answeredAt: 9e11 };
      const { actions } = syncStep({ timings: syncTimings, external: false }, state, { ...answer, ...stamps });
      return actions.filter(({ kind }) => kind === 'command' || kind === 'conflict');
    };
    // Written 60 s after the read before, at the latest 62 s and, where the answer is a copy, at the earliest 42 s after it.
    expect(find(10_000)).toEqual([
      expect.objectContaining({ kind: 'command', verb: 'disarm', issuedAt: 1_800_000_070_000 - 28_000 }),
    ]);
    for (const ageMs of [13_000, 29_000, 35_000, 65_000, undefined]) {
      expect(find(ageMs)).toEqual([expect.objectContaining({ kind: 'conflict', reason: 'newer_local_change' })]);
    }
    // Before the other value was read, or after now: what contradicts a read is worth nothing.
    for (const ageMs of [500_000, -500_000]) {
      expect(find(ageMs)).toEqual([expect.objectContaining({ kind: 'conflict', reason: 'waited' })]);
    }
  });

  it('arms when it met a disarming that only a schedule did, because the safer one wins (safety 5)', () => {
    const find = (source: 'schedule' | 'lan') => {
      const { sync } = calm('armed');
      const settings = { timings: syncTimings, external: false };
      const from = 1_000_000;
      const known = { value: 'disarmed', version: null, writtenAt: null, confirmed: true } as const;
      const seen = { ...known, from, since: from, until: from + 100 };
      const at = (ms: number) => ({ mono: from + ms, wall: 1_800_000_000_000 + ms, random: 0.5 });
      const flight = { kind: 'get', request: 900, since: from + 29_000 } as const;
      const before: SyncState = { ...sync, seen, flight };
      const local = { kind: 'local', status: 'disarmed', seq: 99, source, at: at(29_500) } as const;
      const { state } = syncStep(settings, before, local);
      const read = { kind: 'polled', request: 900, value: 'armed', id: 'x', at: at(30_000) } as const;
      return syncStep(settings, state, read).actions.filter(({ kind }) => kind === 'command' || kind === 'conflict');
    };
    expect(find('schedule')).toEqual([
      expect.objectContaining({ kind: 'command', verb: 'arm', issuedAt: 1_800_000_030_000 }),
    ]);
    expect(find('lan')).toEqual([expect.objectContaining({ kind: 'conflict', reason: 'newer_local_change' })]);
  });

  it('beats the write of an older change on the site that still waits', () => {
    const one = calm();
    for (let n = 0; n < 9; n += 1) one.cloud.puts.push('unsent');
    one.keypad('arm');
    one.pass(2 * minute);
    expect(one.cloud.value).toBe('disarmed');
    one.press('armed');
    one.pass(minute);
    one.press('disarmed');
    one.pass(minute);
    expect(one.word()).toBe('disarmed');
    one.pass(hour);
    expect(one.cloud.value).toBe('disarmed');
  });

  it('does not disarm while an entry delay or an alarm runs: it has no person and no deadline of its own (C11)', () => {
    for (const wait of [0, 5 * minute]) {
      const one = calm('armed');
      one.open('1');
      one.pass(wait);
      one.press('disarmed');
      one.pass(minute);
      expect(one.word()).toMatch(/pending|triggered/);
      expect(one.of('conflict')).toEqual([expect.objectContaining({ reason: 'refused', code: 'NOT_ALLOWED' })]);
      expect(one.cloud.value).toBe('armed');
    }
  });

  it('is told as not done when the site is not ready, and the cloud learns the truth', () => {
    const one = calm();
    one.open('2');
    one.press('armed');
    one.pass(minute);
    expect(one.word()).toBe('disarmed');
    expect(one.of('conflict')).toEqual([
      expect.objectContaining({ reason: 'refused', code: 'NOT_READY', cloud: 'armed', local: 'disarmed' }),
    ]);
    expect(one.cloud.value).toBe('disarmed');
  });

  it('starts the exit delay without a write, and is taken back when somebody cancels the exit at the keypad', () => {
    const one = calm('disarmed', { exitDelayMs: 60_000 });
    one.press('armed');
    one.pass(50 * second);
    expect(one.word()).toBe('arming');
    expect(statuses(one)).toEqual([]);
    one.keypad('disarm');
    one.pass(minute);
    expect(one.word()).toBe('disarmed');
    expect(statuses(one)).toEqual(['disarmed']);
    expect(reasons(one)).toEqual([]);
  });

  it('cancels an exit delay that the cloud began', () => {
    const one = calm('disarmed', { exitDelayMs: 90_000 });
    one.press('armed');
    one.pass(40 * second);
    expect(one.word()).toBe('arming');
    one.press('disarmed');
    one.pass(40 * second);
    expect(one.word()).toBe('disarmed');
    expect(verbs(one)).toEqual(['arm', 'disarm']);
  });

  it('is told once, however long the write back fails', () => {
    const one = calm('armed');
    one.cloud.up = false;
    one.press('disarmed');
    one.pass(10 * minute);
    one.cloud.up = true;
    for (let n = 0; n < 6; n += 1) one.cloud.puts.push('unsent');
    one.pass(hour);
    expect(reasons(one)).toEqual(['waited']);
    expect(one.cloud.value).toBe('armed');
  });

  it('is nothing as long as it cannot be understood, least of all disarmed', () => {
    const one = calm('armed');
    one.cloud.value = 'nonsense';
    one.pass(10 * minute);
    expect(one.word()).toBe('armed_away');
    expect(verbs(one)).toEqual([]);
    expect(one.of('refused')).toEqual([expect.objectContaining({ what: 'unreadable' })]);
    one.press('disarmed');
    one.pass(2 * minute);
    expect(one.word()).toBe('armed_away');
    expect(reasons(one)).toEqual(['waited']);
  });

  it('only is shown for a site that siteward does not control', () => {
    const one = calm('armed');
    one.securityType = 4;
    one.press('disarmed');
    one.pass(10 * minute);
    one.press('armed');
    one.pass(10 * minute);
    one.press('disarmed');
    one.pass(10 * minute);
    expect(one.of('mirrored').map(({ value }) => value)).toEqual(['disarmed', 'armed', 'disarmed']);
    expect([verbs(one), statuses(one), reasons(one)]).toEqual([[], [], []]);
    expect(one.word()).toBe('armed_away');
    one.securityType = 3;
    one.pass(2 * minute);
    expect(one.word()).toBe('armed_away');
    expect(verbs(one)).toEqual([]);
    expect(one.cloud.value).toBe('armed');
  });
});

describe('Our own writes', () => {
  it('are no edge when their answer was lost and the value is there', () => {
    const one = calm();
    one.cloud.puts.push('done, answer lost');
    one.keypad('arm');
    one.pass(5 * minute);
    expect(statuses(one)).toEqual(['armed']);
    expect([verbs(one), reasons(one)]).toEqual([[], []]);
    expect(one.sync).toMatchObject({ owed: false, uncertain: null, acked: one.sync.local?.seq });
  });

  it('are repeated when their answer was lost and the value is not there; without timestamps that is told', () => {
    for (const stamps of [true, false]) {
      const one = rig();
      one.cloud.stamps = stamps;
      one.pass(hour);
      one.log.length = 0;
      one.cloud.puts.push('lost');
      one.keypad('arm');
      one.pass(5 * minute);
      expect(statuses(one)).toEqual(['armed', 'armed']);
      expect(reasons(one)).toEqual(stamps ? [] : ['answer_lost']);
      expect(verbs(one)).toEqual([]);
      expect(one.cloud.value).toBe('armed');
    }
  });

  it('do not disarm when they arrive long after they were given up', () => {
    const one = calm('armed');
    one.cloud.puts.push('lost');
    one.keypad('disarm');
    one.pass(9 * second);
    one.keypad('arm');
    one.pass(30 * second);
    expect(one.cloud.value).toBe('armed');
    one.arrives('disarmed');
    one.pass(minute);
    expect(one.word()).toBe('armed_away');
    expect(verbs(one)).toEqual([]);
    expect(reasons(one).at(-1)).toBe('echo');
    expect(one.cloud.value).toBe('armed');
  });

  it('are not undone by a read from a copy that has not heard of them yet', () => {
    for (const stamps of [true, false]) {
      const one = rig();
      one.cloud.stamps = stamps;
      one.pass(hour);
      const old = { value: 'disarmed', writtenAt: 0 } as const;
      one.keypad('arm');
      one.pass(2 * second);
      one.cloud.copy = old;
      one.pass(9 * second);
      one.cloud.copy = undefined;
      one.pass(5 * minute);
      expect(one.word()).toBe('armed_away');
      expect(verbs(one)).toEqual([]);
      expect(one.cloud.value).toBe('armed');
    }
  });

  it('do not keep a disarm that comes soon after them from being done, only later by a second look', () => {
    const one = calm();
    one.keypad('arm');
    one.pass(20 * second);
    one.press('disarmed');
    one.pass(75 * second);
    expect(one.word()).toBe('disarmed');
    expect(reasons(one)).toEqual([]);
  });
});

describe('The pace', () => {
  const read = (one: Rig) => one.of('get').map(({ ms }) => ms);
  const gaps = (times: readonly number[]) => times.slice(1).map((ms, n) => ms - times[n]!);

  it('is 30 s, and 5 s for two minutes after a change on the site', () => {
    const one = calm();
    one.pass(10 * minute);
    for (const gap of gaps(read(one))) expect(gap).toBeCloseTo(30_100, -2);
    one.log.length = 0;
    one.keypad('arm');
    one.pass(110 * second);
    for (const gap of gaps(read(one)).slice(1)) expect(gap).toBeCloseTo(5100, -2);
    one.pass(20 * minute);
    expect(gaps(read(one)).at(-1)).toBeCloseTo(30_100, -2);
  });

  it('varies by a fifth to either side', () => {
    const at = { mono: 0, wall: 0 };
    const wait = (random: number) => {
      let state = startSync({ ...at, random }, syncTimings);
      const send = (input: SyncInput) => {
        const step = syncStep({ timings: syncTimings, external: false }, state, input);
        state = step.state;
        return step;
      };
      send({ kind: 'local', at: { ...at, random }, status: 'unknown', seq: 1, source: 'engine' });
      const lost = { kind: 'pollFailed', request: state.flight!.request, why: 'unreachable' } as const;
      send({ ...lost, at: { mono: 8_000, wall: 0, random } });
      send({ kind: 'tick', at: { mono: 39_000, wall: 0, random } });
      const { request } = state.flight!;
      const answer = { kind: 'polled', request, value: 'armed', id: 'a' } as const;
      return send({ ...answer, at: { mono: 40_000, wall: 0, random } }).wakeInMs;
    };
    expect([wait(0), wait(0.5), wait(1)]).toEqual([24_000, 30_000, 36_000]);
  });

  it('obeys what a busy cloud asks for, whatever happens on the site', () => {
    const one = calm();
    one.cloud.throttledMs = 10 * minute;
    one.pass(minute);
    one.log.length = 0;
    one.keypad('arm');
    one.pass(8 * minute);
    expect(one.log).toEqual([]);
    one.cloud.throttledMs = undefined;
    one.pass(5 * minute);
    expect(one.cloud.value).toBe('armed');
    one.cloud.puts.push({ throttledMs: 20 * minute });
    one.keypad('disarm');
    one.pass(second);
    one.log.length = 0;
    one.pass(19 * minute);
    expect(one.log).toEqual([]);
    one.pass(2 * minute);
    expect(one.cloud.value).toBe('disarmed');
  });

  it('goes on when a request or a command never has an answer', () => {
    const one = calm('armed');
    one.press('disarmed');
    one.pass(29 * second);
    const silent = {
      ...one.sync,
      flight: null,
      command: { id: 'gone', value: 'disarmed' as const, since: one.ms + 1_000_000 },
    };
    one.restart(silent);
    one.pass(40 * second);
    expect(reasons(one)).toContain('unanswered');
  });
});

describe('A start', () => {
  it('takes what waited in the cloud for no command, and what was seen before for no ground of an edge', () => {
    const one = calm('armed');
    const kept = JSON.parse(JSON.stringify(keptOf(one.sync))) as KeptSync;
    expect(kept).toEqual(keptOf(one.sync));
    one.press('disarmed');
    one.pass(20);
    one.restart(resumeSync(kept, { mono: 1_000_000 + one.ms, wall: 0, random: 0.5 }, syncTimings, { sameBoot: true }));
    one.pass(2 * minute);
    expect(one.word()).toBe('armed_away');
    expect(verbs(one)).toEqual([]);
    expect(reasons(one)).toEqual(['waited']);
    expect(one.cloud.value).toBe('armed');
  });

  it.each(['armed', 'disarmed'] as const)('needs nothing new on disk while nothing happens (%s)', (value) => {
    const one = calm(value);
    one.pass(20 * minute);
    const kept = keptOf(one.sync);
    const reads = one.of('get').length;
    for (let step = 0; step < 20; step += 1) {
      one.pass(minute);
      expect(keptOf(one.sync)).toEqual(kept);
    }
    expect(one.of('get').length).toBeGreaterThan(reads + 20);
  });

  it('of a disarmed site takes a copy for possible no shorter than the run before did', () => {
    const one = calm('disarmed');
    one.pass(20 * minute);
    const [kept, before] = [keptOf(one.sync), one.sync.copies];
    const at = { mono: 1_000_000 + one.ms, wall: 0, random: 0.5 };
    expect(resumeSync(kept, at, syncTimings, { sameBoot: true }).copies).toBeGreaterThanOrEqual(before);
  });

  it('knows that a write it was cut off in may still arrive', () => {
    const one = calm('armed');
    one.keypad('disarm');
    one.pass(150);
    expect(one.sync.flight).toMatchObject({ kind: 'put', status: 'disarmed' });
    one.arrives('armed');
    const kept = keptOf(one.sync);
    one.restart(resumeSync(kept, { mono: 1_000_000 + one.ms, wall: 0, random: 0.5 }, syncTimings, { sameBoot: true }));
    one.keypad('arm');
    one.pass(30 * second);
    one.arrives('disarmed');
    one.pass(minute);
    expect(one.word()).toBe('armed_away');
    expect(verbs(one)).toEqual([]);
    expect(one.cloud.value).toBe('armed');
  });

  it('without a kept state takes no disarm from the first intervals, because it could be an old write of ours', () => {
    const one = calm('armed');
    const at = { mono: 1_000_000 + one.ms, wall: 0, random: 0.5 };
    const { local } = one.sync;
    one.restart({ ...startSync(at, syncTimings), local });
    one.pass(20 * second);
    one.press('disarmed');
    one.pass(minute);
    expect(one.word()).toBe('armed_away');
    expect(reasons(one)).toEqual(['echo']);
  });
});

describe('A site as one word', () => {
  const partition = (state: PartitionState['state'], more: Partial<PartitionState> = {}): PartitionState => ({
    id: 'p1',
    state,
    mode: state.startsWith('armed_') ? 'away' : null,
    seq: 1,
    at: 0,
    source: 'panel',
    stale: false,
    memory: [],
    ...more,
  });

  it.each([
    ['no partition at all', [], 'unknown'],
    ['all armed, in whatever mode', [partition('armed_home'), partition('armed_away')], 'armed'],
    ['one of them disarmed', [partition('armed_away'), partition('disarmed')], 'disarmed'],
    ['one still on its way', [partition('armed_away'), partition('arming', { mode: 'away' })], 'arming'],
    ['one that nobody can hear', [partition('armed_away'), partition('disarmed', { stale: true })], 'unknown'],
    ['one unknown', [partition('disarmed'), partition('unknown')], 'unknown'],
    ['an entry delay', [partition('pending', { mode: 'away' })], 'armed'],
    ['a burglary', [partition('triggered', { mode: 'night' })], 'armed'],
    ['an alarm of which nobody knows whether the site is armed', [partition('triggered')], 'unknown'],
  ] as const)('%s', (_, partitions, status) => {
    expect(siteStatus(partitions)).toBe(status);
  });
});

describe('A request that is never answered', () => {
  it('is given up at the very moment the sync asked to be woken for it, at any fraction of a millisecond', () => {
    for (let since = 0.1; since < 1e7; since = since * 1.02 + 0.7) {
      const settings = { timings: syncTimings, external: false };
      const at = (mono: number) => ({ mono, wall: 0, random: 0.5 });
      const begun = syncStep(settings, startSync(at(since), syncTimings), {
        kind: 'local',
        at: at(since),
        status: 'armed',
        seq: 1,
        source: 'engine',
      });
      expect(begun.actions.map(({ kind }) => kind)).toEqual(['get']);
      let mono = since;
      let step = begun;
      for (let ticks = 0; ticks < 5 && step.state.flight?.request === 1; ticks += 1) {
        mono += step.wakeInMs;
        step = syncStep(settings, step.state, { kind: 'tick', at: at(mono) });
      }
      expect({ since, flight: step.state.flight }).toEqual({ since, flight: null });
    }
  });
});
