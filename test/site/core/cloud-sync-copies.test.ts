import { describe, expect, it } from 'vitest';
import { keptOf, resumeSync, syncTimings } from '#site/core/cloud-sync/index.ts';
import { hour, minute, second } from './arming-model/day.ts';
import { type Rig, rig } from './arming-model/rig.ts';

const verbs = (one: Rig) => one.of('command').map(({ verb }) => verb);
const reasons = (one: Rig) => one.of('conflict').map(({ reason }) => reason);

/** Armed and disarmed at the keypad an hour ago, both told to the cloud. */
function evening(stamps: boolean): Rig {
  const one = rig();
  one.cloud.stamps = stamps;
  one.pass(10 * minute);
  one.keypad('arm');
  one.pass(20 * minute);
  one.keypad('disarm');
  one.pass(hour);
  one.log.length = 0;
  return one;
}

const copies = [true, false].flatMap((stamps) =>
  [20 * second, minute, 10 * minute].map((behindMs) => ({ stamps, behindMs, seconds: behindMs / second })),
);

describe('A copy that is behind never disarms, nor does it keep the truth from the cloud', () => {
  it.each(copies)('for $seconds s, at each read (updated_at: $stamps)', ({ stamps, behindMs }) => {
    const one = evening(stamps);
    one.cloud.behindMs = behindMs;
    one.keypad('arm');
    one.pass(30 * minute);
    expect([one.word(), verbs(one), one.cloud.value]).toEqual(['armed_away', [], 'armed']);
    expect(reasons(one).length).toBeLessThanOrEqual(stamps ? 0 : 1);
  });

  it.each(copies)('for $seconds s, at each second read (updated_at: $stamps)', ({ stamps, behindMs }) => {
    const one = evening(stamps);
    one.cloud.behindMs = behindMs;
    one.cloud.behindEvery = 2;
    one.keypad('arm');
    one.pass(30 * minute);
    expect([one.word(), verbs(one), one.cloud.value]).toEqual(['armed_away', [], 'armed']);
    expect(reasons(one).length).toBeLessThanOrEqual(stamps ? 0 : 1);
  });

  it.each(copies)('for $seconds s, that stays what it is (updated_at: $stamps)', ({ stamps, behindMs }) => {
    const one = evening(stamps);
    one.cloud.copy = { value: 'disarmed', writtenAt: one.wall + one.ms - hour };
    one.pass(behindMs);
    one.keypad('arm');
    one.pass(30 * minute);
    expect([one.word(), verbs(one), one.cloud.value]).toEqual(['armed_away', [], 'armed']);
    expect(reasons(one).length).toBeLessThanOrEqual(1);
    // One that stays is written against now and then, not at each read.
    expect(one.of('put').length).toBeLessThanOrEqual(stamps ? 8 : 31);
  });

  it.each(copies)('for $seconds s, all evening long, whoever arms and disarms (updated_at: $stamps)', (how) => {
    const one = rig();
    one.cloud.stamps = how.stamps;
    one.pass(20 * minute);
    one.cloud.behindMs = how.behindMs;
    for (const waitMs of [3, 7, 12, 1, 2, 5, 11, 4].map((minutes) => minutes * minute)) {
      one.keypad('disarm');
      one.pass(waitMs);
      one.keypad('arm');
      one.pass(waitMs);
      expect(verbs(one)).not.toContain('disarm');
      expect(one.word()).toBe('armed_away');
    }
  });
});

describe('A value that the cloud itself dates', () => {
  it.each([false, true])('before the last write is no command, also after a restart (seen before: %s)', (wasSeen) => {
    const one = evening(true);
    const oldAt = one.sync.seen?.writtenAt ?? 0;
    one.keypad('arm');
    one.pass(5 * minute);
    const kept = JSON.parse(JSON.stringify(keptOf(one.sync)));
    one.restart(resumeSync(kept, { mono: 1_000_000 + one.ms, wall: 0, random: 0.5 }, syncTimings, { sameBoot: false }));
    one.pass(5 * minute);
    one.cloud.copy = { value: 'disarmed', writtenAt: wasSeen ? oldAt : oldAt + 1000 };
    one.pass(30 * minute);
    expect([one.word(), verbs(one), one.cloud.value]).toEqual(['armed_away', [], 'armed']);
    // What nobody here has seen may be somebody's press: that is told, once.
    expect(reasons(one)).toEqual(wasSeen ? [] : ['waited']);
  });

  it('by a time that contradicts what was read is no command, and the next press is one', () => {
    const one = evening(true);
    one.keypad('arm');
    one.pass(20 * minute);
    const { since } = one.sync.seen ?? { since: 0 };
    one.cloud.copy = { value: 'disarmed', writtenAt: one.wall + since - 1_000_000 - 5 * minute };
    one.pass(40 * second);
    one.cloud.copy = undefined;
    one.pass(5 * minute);
    expect([one.word(), verbs(one), reasons(one)]).toEqual(['armed_away', [], ['waited']]);
    one.press('disarmed');
    one.pass(minute);
    expect([one.word(), verbs(one)]).toEqual(['disarmed', ['disarm']]);
  });

  it('soon after our own write as a press is done', () => {
    const one = evening(true);
    one.keypad('arm');
    one.pass(20 * second);
    one.press('disarmed');
    one.pass(30 * second);
    expect([one.word(), reasons(one)]).toEqual(['disarmed', []]);
  });

  it('anew at each read, and takes no write, is told once', () => {
    const one = evening(true);
    one.cloud.stampsReads = true;
    one.cloud.puts.push('body');
    one.keypad('arm');
    one.pass(hour);
    expect([one.word(), verbs(one), one.of('put').length]).toEqual(['armed_away', [], 1]);
    expect(reasons(one)).toEqual(['waited']);
  });
});

it('The versions that are remembered have a bound', () => {
  const one = evening(true);
  for (let n = 0; n < 60; n += 1) {
    one.press(n % 2 === 0 ? 'armed' : 'disarmed');
    one.pass(minute);
  }
  expect(one.sync.versions.length).toBe(32);
  expect(verbs(one)).toHaveLength(60);
});
