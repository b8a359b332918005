import { describe, expect, it } from 'vitest';
import { hour, minute, second } from './arming-model/day.ts';
import { type Rig, rig } from './arming-model/rig.ts';

/** 21:00 the line is up and both sides say disarmed. */
function evening(change: (it: Rig) => void = () => undefined): Rig {
  const story = rig();
  change(story);
  story.pass(5 * minute);
  story.log.length = 0;
  return story;
}

const clockTime = (story: Rig, hours: number, minutes: number) => {
  const ms = (hours < 21 ? hours + 3 : hours - 21) * hour + minutes * minute;
  story.pass(ms - story.ms);
};

/** 21:05 line lost, 21:10 "disarmed" pressed in the cloud, 22:00 armed at the keypad, 05:05 line back. */
function night(story: Rig): Rig {
  story.cloud.up = false;
  clockTime(story, 21, 10);
  story.press('disarmed');
  clockTime(story, 22, 0);
  expect(story.keypad('arm')?.outcome).toBe('done');
  clockTime(story, 5, 5);
  story.cloud.up = true;
  clockTime(story, 5, 20);
  return story;
}

const untouched = (story: Rig) => {
  expect(story.of('command')).toEqual([]);
  expect(story.results).toEqual([]);
};

describe('The eight-hour story', () => {
  it('leaves the site armed: what waited in the cloud is told once, and the cloud learns the truth', () => {
    const story = night(evening(({ cloud }) => Object.assign(cloud, { stamps: true })));
    untouched(story);
    expect(story.word()).toBe('armed_away');
    expect(story.of('conflict')).toEqual([
      expect.objectContaining({ reason: 'waited', cloud: 'disarmed', local: 'armed' }),
    ]);
    expect(story.of('put').map(({ status }) => status)).toEqual(['armed']);
    expect(story.cloud.value).toBe('armed');
    expect(story.sync).toMatchObject({ owed: false, acked: story.sync.local?.seq, told: null });
  });

  it('keeps the original time of the arming, so that its event says 22:00', () => {
    const story = night(evening());
    const armed = story.effects.flatMap((effect) => (effect.kind === 'transition' ? [effect.record] : []));
    expect(armed.map(({ state, at }) => [state, at])).toEqual([['armed_away', Date.UTC(2026, 10, 2, 22)]]);
  });

  it('leaves the site armed where the cloud has no timestamps and the press cannot be seen at all', () => {
    const story = night(evening());
    untouched(story);
    expect(story.word()).toBe('armed_away');
    expect(story.of('put').map(({ status }) => status)).toEqual(['armed']);
    expect(story.of('conflict')).toEqual([]);
  });

  it('does the same whatever the clock of the cloud says', () => {
    for (const aheadMs of [10 * minute, -10 * minute, -30 * 365 * 24 * hour]) {
      const story = night(evening(({ cloud }) => Object.assign(cloud, { stamps: true, aheadMs })));
      untouched(story);
      expect(story.word()).toBe('armed_away');
      expect(story.of('conflict')).toHaveLength(1);
    }
  });

  it('does not arm either by a value that waited for six hours: it is told', () => {
    const story = evening();
    story.cloud.up = false;
    clockTime(story, 21, 30);
    story.keypad('arm');
    clockTime(story, 22, 0);
    story.keypad('disarm');
    clockTime(story, 23, 0);
    story.press('armed');
    clockTime(story, 5, 5);
    story.cloud.up = true;
    clockTime(story, 5, 20);
    untouched(story);
    expect(story.word()).toBe('disarmed');
    expect(story.of('conflict')).toEqual([
      expect.objectContaining({ reason: 'waited', cloud: 'armed', local: 'disarmed' }),
    ]);
    expect(story.cloud.value).toBe('disarmed');
  });

  it('does not disarm by a value that waited while the site was armed all the time', () => {
    const story = evening((one) => one.keypad('arm'));
    story.cloud.up = false;
    clockTime(story, 21, 10);
    story.press('disarmed');
    clockTime(story, 5, 5);
    story.cloud.up = true;
    clockTime(story, 5, 20);
    untouched(story);
    expect(story.word()).toBe('armed_away');
    expect(story.of('conflict')).toEqual([expect.objectContaining({ reason: 'waited', cloud: 'disarmed' })]);
    expect(story.cloud.value).toBe('armed');
  });

  it('with the clock of the bridge back in 1970 and in doubt, the cloud may only arm', () => {
    const story = night(evening());
    Object.assign(story, { wall: 0, clock: 'doubtful' });
    story.keypad('disarm');
    story.keypad('arm');
    story.pass(5 * minute);
    story.press('disarmed');
    story.pass(minute);
    expect(story.word()).toBe('armed_away');
    expect(story.of('conflict').at(-1)).toMatchObject({ reason: 'refused', code: 'CLOCK_DOUBTFUL' });
    expect(story.cloud.value).toBe('armed');
    story.keypad('disarm');
    story.pass(5 * minute);
    story.press('armed');
    story.pass(minute);
    expect(story.word()).toBe('armed_away');
  });

  it('protects on where the cloud no longer knows the site, says so once, and tells the truth when it does again', () => {
    const story = evening();
    story.cloud.up = false;
    story.keypad('arm');
    clockTime(story, 5, 5);
    Object.assign(story.cloud, { up: true, gone: true });
    clockTime(story, 7, 0);
    expect(story.word()).toBe('armed_away');
    expect(story.of('refused')).toEqual([expect.objectContaining({ what: 'gone' })]);
    expect(story.of('put')).toEqual([]);
    expect(story.of('get').filter(({ ms }) => ms > 9 * hour).length).toBeLessThan(20);
    story.cloud.gone = false;
    story.pass(10 * minute);
    untouched(story);
    expect(story.cloud.value).toBe('armed');
  });

  it('takes what flips after the first healthy read as what it is: commands', () => {
    const story = evening();
    story.cloud.up = false;
    clockTime(story, 5, 5);
    story.cloud.up = true;
    story.pass(45 * second);
    untouched(story);
    story.press('armed');
    story.pass(45 * second);
    expect(story.word()).toBe('armed_away');
    story.press('disarmed');
    story.pass(45 * second);
    expect(story.word()).toBe('disarmed');
    expect(story.of('command').map(({ verb }) => verb)).toEqual(['arm', 'disarm']);
    expect(story.of('put')).toEqual([]);
    expect(story.of('conflict')).toEqual([]);
  });
});
