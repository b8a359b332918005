import { describe, expect, it } from 'vitest';
import { adoptPlan, changesBetween, readState, siteView, writeState } from '#site/core/index.ts';
import { partitionShown } from '#site/model/index.ts';
import { clocked, clockedPanel, hear, morning, night, started, tick, until } from './schedule-site.ts';
import { hour, minute, plan, schedule } from './schedule-world.ts';
import { house, partition, says, stamp, type World, world } from './world.ts';

const view = (self: World) => siteView(self.plan, self.state, stamp(self.ms), { epoch: 1, seq: 0 });
const shown = (self: World, id = 'p1') => partitionShown(view(self), id).not_armed;

/** At 08:11 the window has stood open for too long. */
function leftOpen(site = clocked()): World {
  const self = started(site);
  self.open('2');
  until(self, 11.5);
  expect(shown(self)).toMatchObject({ schedule: 'night', reason: 'NOT_READY', zones: ['2'] });
  return self;
}

describe('safety 7: a partition a schedule could not arm', () => {
  it('shows while the arming waits, and as a trouble once it was given up; a start changes nothing of that', () => {
    const self = started();
    self.open('2');
    until(self, 10.5);
    expect(partitionShown(view(self), 'p1')).toMatchObject({ arm_wait: { schedule: 'night', left_s: 30 } });
    expect(shown(self)).toBeUndefined();
    const waiting = self.state;
    until(self, 12);
    expect(partitionShown(view(self), 'p1')).not.toHaveProperty('arm_wait');
    expect(view(self).troubles).toEqual([
      { kind: 'fail_to_arm', source: { kind: 'bridge', id: 'siteward' }, partition: 'p1', since: expect.any(Number) },
    ]);
    expect(changesBetween(waiting, self.state)).toMatchObject({
      partitions: expect.arrayContaining(['p1']),
      troubles: true,
    });
    expect(readState(writeState(self.state))).toEqual(self.state);
    self.send({ kind: 'started', sameBoot: false, storeLost: false });
    expect(shown(self)).toMatchObject({ schedule: 'night' });
  });

  it('the event names the zones that were in the way', () => {
    const self = leftOpen();
    const [failed] = self.events(self.log).filter(({ kind }) => kind === 'fail_to_arm');
    expect(failed?.evidence).toEqual([{ type: 'not_ready', count: 1, zones: '2' }]);
  });

  it.each<[string, (self: World) => unknown]>([
    [
      'somebody arms it',
      (self) => {
        self.open('2', false);
        self.arm();
      },
    ],
    ['somebody disarms it, though it is disarmed', (self) => expect(self.disarm().outcome).toBe('already')],
    [
      'its schedule runs again and arms it',
      (self) => {
        self.open('2', false);
        until(self, 24 * 60 + 11);
      },
    ],
  ])('shows until %s', (_, happens) => {
    const self = leftOpen();
    happens(self);
    expect(shown(self)).toBeUndefined();
    expect(view(self).troubles).toEqual([]);
  });

  it('a disarm without a code, the schedule of the morning and a closed window do not end it', () => {
    const self = leftOpen();
    expect(self.disarm({ code: 'none' }).error?.code).toBe('CODE_REQUIRED');
    self.open('2', false);
    until(self, 61);
    expect(shown(self)).toMatchObject({ schedule: 'night' });
  });

  it('its next arming that fails is the one that shows', () => {
    const self = leftOpen();
    const first = shown(self)?.at;
    until(self, 24 * 60 + 10.5);
    expect(shown(self)).toBeUndefined();
    until(self, 24 * 60 + 12);
    expect(shown(self)?.at).not.toBe(first);
  });

  it('of a panel shows until the panel is armed', () => {
    const self = started(clockedPanel());
    self.signal(says('disarmed'));
    until(self, 10);
    self.pass(11_000);
    expect(shown(self)).toMatchObject({ reason: 'UNCONFIRMED' });
    self.signal(says('armed_away'));
    expect(shown(self)).toBeUndefined();
  });

  it('is forgotten with its schedule, and with its partition', () => {
    const both = [partition('p1'), partition('p2')];
    const changed = (self: World, next: World['plan']) => {
      const after = world(next, { quiet: false });
      Object.assign(after, { state: adoptPlan(next, self.state, stamp(self.ms)), ms: self.ms });
      hear(after);
      tick(after);
      return after.state.schedules?.unarmed;
    };
    expect(changed(leftOpen(), clocked([morning].slice(1)))).toBeUndefined();
    expect(changed(leftOpen(), house())).toBeUndefined();
    expect(
      changed(leftOpen(clocked([night], { partitions: both })), clocked([night], { partitions: both.slice(1) })),
    ).toBeUndefined();
    expect(changed(leftOpen(), clocked([night, schedule('other', '23:00')]))).toHaveProperty('p1');
  });

  it('is not said of a day that never was', () => {
    const self = started(clocked([night]));
    const wall = stamp(self.ms).wall + 365 * 24 * hour + 8 * hour;
    self.send({ kind: 'tick', at: { ...stamp(self.ms), wall, clock: 'doubtful' } });
    expect(shown(self)).toBeUndefined();
  });

  it('ticks that find nothing to do change nothing while it shows', () => {
    const self = leftOpen(house({ schedules: plan([night], { timezone: 'UTC' }) }));
    until(self, 13);
    const before = self.state;
    self.ms += minute / 6;
    tick(self);
    expect(self.state).toBe(before);
  });
});
