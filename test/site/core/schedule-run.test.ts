import { describe, expect, it } from 'vitest';
import { adoptPlan, decide, type Effect, type Input, readState, writeState } from '#site/core/index.ts';
import { clocked, clockedPanel, hear, morning, night, started, tick, told, until } from './schedule-site.ts';
import { announce, arm, hour, minute, plan, schedule, testReport } from './schedule-world.ts';
import { boot, house, link, partition, says, stamp, type World, world } from './world.ts';

const commandsTo = (effects: readonly Effect[]) => effects.filter((effect) => effect.kind === 'panel');
const armedBy = (self: World) => self.state.periods.p1?.armedBy;

describe('a scheduled arming', () => {
  it('arms at its time, with the exit delay, in the name of the schedule', () => {
    const self = started();
    until(self, 9.9);
    expect(self.word()).toBe('disarmed');
    const effects = until(self, 10);
    expect(self.word()).toBe('arming');
    expect(effects.filter(({ kind }) => kind === 'audit')).toMatchObject([
      { entry: { kind: 'transition', source: 'schedule', actor_ref: 'night' } },
      { entry: { kind: 'command', action: 'arm', client_id: 'schedule:night', outcome: 'done' } },
    ]);
    expect(told(self, until(self, 11), 'armed_away')).toMatchObject([
      { source: 'schedule', actor: 'night', contactId: '403', sia: 'CA', partition: 'p1' },
    ]);
    expect(armedBy(self)).toEqual({ source: 'schedule', actor: 'night' });
  });

  it('is told five minutes before, once, for each partition that is not armed', () => {
    const both = [partition('p1'), partition('p2')];
    const self = started(
      clocked([schedule('night', '08:10', { ...arm, partitions: ['p1', 'p2'] })], { partitions: both }),
    );
    self.arm({ partition: 'p2' });
    expect(told(self, until(self, 9), 'auto_arm_warning')).toMatchObject([
      { class: 'arming', partition: 'p1', toCloud: false, schedule: { id: 'night', at: stamp(10 * minute).wall } },
    ]);
  });

  it('touches no partition that is armed already, in whatever mode (C12)', () => {
    const self = started();
    self.arm({ mode: 'home' });
    self.pass(2 * minute);
    const { seq } = self.state.partitions.p1 ?? {};
    const effects = until(self, 12);
    expect([self.word(), self.state.partitions.p1?.seq]).toEqual(['armed_home', seq]);
    expect(self.events(effects)).toEqual([]);
  });

  it('arms each of its partitions, whatever becomes of the others', () => {
    const self = started(
      clocked([schedule('night', '08:10', { ...arm, partitions: ['p1', 'p2'] })], {
        partitions: [partition('p1'), partition('p2')],
      }),
    );
    self.open('2');
    const effects = until(self, 12);
    expect([self.word('p1'), self.word('p2')]).toEqual(['disarmed', 'armed_away']);
    expect(told(self, effects, 'fail_to_arm')).toMatchObject([{ partition: 'p1' }]);
  });

  it('waits for a window that is about to be closed', () => {
    const self = started();
    self.open('2');
    until(self, 10.5);
    expect(self.word()).toBe('disarmed');
    self.open('2', false);
    expect(told(self, until(self, 10.75), 'fail_to_arm')).toEqual([]);
    expect(self.word()).toBe('arming');
  });

  it('safety 7: tells the station when a window stays open', () => {
    const self = started();
    self.open('2');
    const effects = until(self, 12);
    expect(self.word()).toBe('disarmed');
    expect(told(self, effects, 'fail_to_arm')).toMatchObject([
      {
        class: 'trouble',
        lane: 'trouble',
        contactId: '454',
        sia: 'CI',
        partition: 'p1',
        actor: 'night',
        detail: 'not armed by schedule night: NOT_READY: zones 2',
        signalToStation: true,
        toCloud: true,
        schedule: { id: 'night', reason: 'NOT_READY' },
      },
    ]);
    self.open('2', false);
    until(self, 30);
    expect(self.word()).toBe('disarmed');
  });

  it('safety 7: arms without an open window where the configuration says so, and never without a fire detector', () => {
    const bypassing = schedule('night', '08:10', { ...arm, notReady: 'bypass' });
    const self = started(clocked([bypassing]));
    self.open('2');
    expect(told(self, until(self, 12), 'zone_bypassed')).toMatchObject([
      { zone: '2', source: 'schedule', actor: 'night' },
    ]);
    expect([self.word(), self.state.zones['2']?.bypassed]).toEqual(['armed_away', true]);

    const other = started(clocked([bypassing]));
    other.signal({ kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: '10', tamper: true, replay: false });
    expect(told(other, until(other, 12), 'fail_to_arm')).toMatchObject([
      { detail: expect.stringContaining('zones 10') },
    ]);
  });

  it('is not told as failed while the alarm of an armed partition runs', () => {
    const self = started();
    self.arm();
    self.pass(2 * minute);
    self.open('2');
    expect(self.word()).toBe('triggered');
    expect(told(self, until(self, 12), 'fail_to_arm')).toEqual([]);
  });

  it('calls nobody where siteward only watches', () => {
    const self = started(clocked([night], { securityType: 4 }));
    const effects = until(self, 12);
    expect([self.word(), told(self, effects, 'fail_to_arm')]).toEqual(['disarmed', []]);
    expect(told(self, effects, 'schedule_not_run')).toMatchObject([{ schedule: { reason: 'NOT_CONTROLLED' } }]);
  });

  it('gives way to who armed and disarmed while it waited (C3)', () => {
    const self = started();
    self.open('2');
    until(self, 10.25);
    self.arm({ bypass: ['2'], skipExitDelay: true });
    self.disarm();
    const effects = until(self, 12);
    expect(self.word()).toBe('disarmed');
    expect(told(self, effects, 'fail_to_arm')).toEqual([]);
    expect(told(self, effects, 'schedule_not_run')).toMatchObject([{ schedule: { reason: 'NEWER_LOCAL_CHANGE' } }]);
  });
});

describe('a scheduled disarming', () => {
  const armedByNight = (clock: World['clock'] = 'synced') => {
    const self = started();
    until(self, 12);
    expect(self.word()).toBe('armed_away');
    self.clock = clock;
    return self;
  };

  it('undoes what the same schedule armed (C12)', () => {
    const self = armedByNight();
    const effects = until(self, 60);
    expect(self.word()).toBe('disarmed');
    expect(told(self, effects, 'disarmed')).toMatchObject([{ source: 'schedule', contactId: '403', sia: 'OA' }]);
  });

  it.each<[string, (self: World) => unknown]>([
    [
      'somebody armed',
      (self) => {
        self.disarm();
        self.arm({ skipExitDelay: true });
      },
    ],
    ['the mode was changed', (self) => self.command({ verb: 'arm', mode: 'home', skipExitDelay: true })],
    ['another schedule armed', (self) => Object.assign(self, { state: withArmer(self, 'other') })],
    ['the clock is in holdover', (self) => Object.assign(self, { clock: 'holdover' })],
    ['the clock is in doubt', (self) => Object.assign(self, { clock: 'doubtful' })],
  ])('does nothing where %s, and says so on the site', (_, happens) => {
    const self = armedByNight();
    until(self, 58);
    happens(self);
    const before = self.word();
    self.log.length = 0;
    const effects = until(self, 61);
    expect(self.word()).toBe(before);
    expect(told(self, effects, 'disarmed')).toEqual([]);
    expect(told(self, effects, 'schedule_not_run')).toMatchObject([
      { class: 'system', toCloud: false, schedule: { id: 'morning' } },
    ]);
  });

  it('does nothing while an alarm runs (C11)', () => {
    const self = armedByNight();
    until(self, 59);
    self.open('2');
    expect(self.word()).toBe('triggered');
    until(self, 61);
    expect(self.word()).toBe('triggered');
  });
});

const withArmer = (self: World, actor: string): World['state'] => ({
  ...self.state,
  periods: { ...self.state.periods, p1: { ...self.state.periods.p1, armedBy: { source: 'schedule', actor } } as never },
});

describe('a partition of a panel', () => {
  it('gets the command like any other, and is armed when the panel says so', () => {
    const self = started(clockedPanel());
    self.signal(says('disarmed'));
    const effects = until(self, 10);
    expect(commandsTo(effects)).toMatchObject([
      { partition: 'p1', action: 'arm_away', commandId: 'night/2027-01-15/08:10/p1' },
    ]);
    expect(self.word()).toBe('disarmed');
    self.signal(says('armed_away'));
    expect([self.word(), armedBy(self)]).toEqual(['armed_away', { source: 'schedule', actor: 'night' }]);
    const later = until(self, 60);
    expect(commandsTo(later)).toMatchObject([{ action: 'disarm', commandId: 'morning/2027-01-15/09:00/p1' }]);
    self.signal(says('disarmed'));
    expect(self.word()).toBe('disarmed');
  });

  it.each<[string, string, (self: World) => void]>([
    ['does not answer', 'UNCONFIRMED', (self) => void self.pass(11_000)],
    [
      'is not ready',
      'NOT_READY',
      (self) =>
        void self.signal({
          kind: 'refusal',
          source: { kind: 'panel', id: 'main' },
          partition: 'p1',
          reason: 'not_ready',
        }),
    ],
  ])('safety 7: the station is told where the panel %s', (_, reason, happens) => {
    const self = started(clockedPanel());
    self.signal(says('disarmed'));
    until(self, 10);
    self.log.length = 0;
    happens(self);
    expect(told(self, self.log, 'fail_to_arm')).toMatchObject([
      { partition: 'p1', schedule: { id: 'night', reason }, signalToStation: true },
    ]);
  });

  it('waits for a panel that is away, and tells the station when it stays away', () => {
    const self = started(clockedPanel());
    self.signal(says('disarmed'));
    self.signal(link(false));
    until(self, 10.5);
    self.signal(link(true));
    self.signal(says('disarmed'));
    expect(commandsTo(until(self, 10.75))).toHaveLength(1);

    const other = started(clockedPanel());
    other.signal(says('disarmed'));
    other.signal(link(false));
    expect(told(other, until(other, 12), 'fail_to_arm')).toMatchObject([{ schedule: { reason: 'PANEL_OFFLINE' } }]);
  });
});

describe('after a start', () => {
  /** The machine was off until so many minutes after the beginning. */
  function restarted(self: World, minutes: number, how: { sameBoot?: boolean } = {}): World {
    self.state = readState(writeState(self.state)) ?? self.state;
    self.ms = minutes * minute;
    self.send({ kind: 'started', sameBoot: how.sameBoot ?? true, storeLost: false });
    return self;
  }

  it('an arming missed by at most 60 minutes is done, when the devices have been heard (C12)', () => {
    const self = restarted(started(clocked([night])), 69);
    until(self, 70);
    expect(self.word()).toBe('disarmed');
    hear(self);
    until(self, 70.25);
    expect(self.word()).toBe('arming');
  });

  it('devices that are not heard within two minutes are not waited for any longer', () => {
    const self = restarted(started(clocked([night])), 60);
    expect(told(self, until(self, 61.5), 'fail_to_arm')).toEqual([]);
    expect(told(self, until(self, 62.5), 'fail_to_arm')).toMatchObject([{ detail: expect.stringContaining('21') }]);
  });

  it('a window that is known to be open is not waited for any longer than at other times', () => {
    const self = restarted(started(clocked([night])), 60);
    hear(self);
    self.open('2');
    expect(told(self, until(self, 61.5), 'fail_to_arm')).toMatchObject([
      { detail: expect.stringContaining('zones 2') },
    ]);
  });

  it('an arming missed by more is told to the station, once, and not done', () => {
    const self = restarted(started(clocked([night])), 71);
    hear(self);
    const effects = until(self, 90);
    expect(self.word()).toBe('disarmed');
    expect(told(self, effects, 'fail_to_arm')).toMatchObject([
      { late: true, signalToStation: true, schedule: { id: 'night', reason: 'late' } },
    ]);
    expect(told(self, until(restarted(self, 95), 100), 'fail_to_arm')).toEqual([]);
  });

  it('a missed disarming is never done late (I3)', () => {
    const self = started();
    until(self, 12);
    restarted(self, 61.5, { sameBoot: false });
    self.state = { ...self.state, schedules: { ...self.state.schedules, memory: elsewhere(self) } };
    hear(self);
    expect(told(self, until(self, 70), 'schedule_not_run')).toMatchObject([
      { schedule: { id: 'morning', reason: 'unwatched' } },
    ]);
    expect(self.word()).toBe('armed_away');
  });

  const elsewhere = (self: World) => {
    const memory = self.state.schedules?.memory;
    if (memory?.seen === undefined) throw new Error('no tick was seen');
    return { ...memory, seen: { ...memory.seen, boot: 'boot-0' } };
  };

  it('a wait that outlived a power cut of hours does not arm any more', () => {
    const self = started(clocked([night]));
    self.open('2');
    until(self, 10.25);
    restarted(self, 180);
    hear(self);
    expect(told(self, until(self, 190), 'fail_to_arm')).toMatchObject([{ schedule: { reason: 'late' }, late: true }]);
    expect(self.word()).toBe('disarmed');
  });

  it('a wait that outlived a short power cut goes on', () => {
    const self = started(clocked([night]));
    self.open('2');
    until(self, 10.25);
    restarted(self, 40);
    hear(self);
    until(self, 41);
    expect(self.word()).toBe('arming');
  });
});

describe('what is decided and not yet on disk', () => {
  it('is decided the same after a crash, under the same id; and what is on disk is not done again', () => {
    const self = started();
    until(self, 9.9);
    const before = self.state;
    self.ms = 10 * minute;
    const first = tick(self);
    const after = self.state;
    self.state = readState(writeState(before)) ?? before;
    expect(tick(self)).toEqual(first);
    expect(self.state).toEqual(after);
    self.state = readState(writeState(after)) ?? after;
    self.ms += 10_000;
    expect(tick(self)).toEqual([]);
  });

  it('is the same state over JSON with a wait and a postponement in it', () => {
    const other = schedule('late', '09:30');
    const self = started(clocked([night, other]));
    self.open('2');
    until(self, 10.25);
    self.command({ verb: 'postpone', partition: 'all', schedule: 'late', minutes: 30 });
    expect(self.state.schedules).toMatchObject({
      waiting: { 'night/2027-01-15/08:10/p1': { partition: 'p1' } },
      memory: { schedules: { late: { postponed: { times: 1 } } } },
      startedAt: { boot },
    });
    expect(readState(writeState(self.state))).toEqual(self.state);
  });

  it('a tick with nothing to do changes nothing, and so costs no write; every ten minutes one is kept', () => {
    const self = started(clocked([schedule('night', '23:00')]));
    const states = new Set();
    for (let count = 0; count < 360; count += 1) {
      self.ms += 10_000;
      tick(self);
      states.add(self.state);
    }
    expect(states.size).toBe(7);
    expect(self.log).toEqual([]);
  });
});

describe('announcements and test reports', () => {
  it('an announcement is an event of the site alone', () => {
    const self = started(clocked([schedule('closing', '08:10', announce)]));
    expect(told(self, until(self, 11), 'announcement')).toMatchObject([
      { class: 'audio', toCloud: false, schedule: { id: 'closing', message: 'closing' } },
    ]);
  });

  it('a test report is signalled to the station with the codes of the field', () => {
    const self = started(clocked([schedule('weekly', '08:10', testReport)]));
    expect(told(self, until(self, 11), 'periodic_test')).toMatchObject([
      { class: 'test', contactId: '602', sia: 'RP', signalToStation: true, toCloud: true, lane: 'trouble' },
    ]);
  });
});

describe('an edit of the configuration', () => {
  const reloaded = (self: World, schedules: Parameters<typeof plan>[0] | undefined): World => {
    const { schedules: _, ...rest } = self.plan;
    const next = schedules === undefined ? rest : { ...rest, schedules: plan(schedules, { timezone: 'UTC' }) };
    const state = adoptPlan(next, self.state, stamp(self.ms));
    const other = world(next, { quiet: false });
    Object.assign(other, { state, ms: self.ms });
    return other;
  };

  it.each([
    ['removed', [morning].slice(1)],
    ['taken out with all others', undefined],
    ['left without the partition', [{ ...night, action: { ...arm, partitions: ['p2'] } }]],
  ])('a wait for a schedule that was %s ends without a word', (_, schedules) => {
    const self = started(clocked([night], { partitions: [partition('p1'), partition('p2')] }));
    self.open('2');
    until(self, 10.25);
    const after = reloaded(self, schedules);
    hear(after);
    expect(after.events(until(after, 14))).toEqual([]);
    expect(after.word()).toBe('disarmed');
    expect(after.state.schedules?.waiting).toBeUndefined();
  });

  it('what a removed schedule armed stays armed until a person disarms it', () => {
    const self = started();
    until(self, 12);
    const after = reloaded(self, undefined);
    until(after, 24 * 60);
    expect(after.word()).toBe('armed_away');
    expect(after.disarm()).toMatchObject({ outcome: 'done' });
  });

  it('a schedule that comes back does not run for what lies in the past', () => {
    const self = started();
    const without = reloaded(self, undefined);
    until(without, 20);
    const again = reloaded(without, [night, morning]);
    hear(again);
    until(again, 59);
    expect(again.word()).toBe('disarmed');
  });

  it('a schedule moved to an hour still to come runs then, though it ran today', () => {
    const self = started(clocked([night]));
    until(self, 12);
    self.disarm();
    const after = reloaded(self, [{ ...night, at: '08:30' }]);
    hear(after);
    until(after, 32);
    expect(after.word()).toBe('armed_away');
  });

  it('another policy of the same schedule counts from the next run on, and a postponement of today stays', () => {
    const self = started(clocked([night]));
    until(self, 5);
    self.command({ verb: 'postpone', partition: 'all', schedule: 'night', minutes: 30 });
    const after = reloaded(self, [{ ...night, action: { ...arm, mode: 'night' } }]);
    hear(after);
    until(after, 30);
    expect(after.word()).toBe('disarmed');
    until(after, 42);
    expect(after.word()).toBe('armed_night');
  });
});

describe('a clock that is set', () => {
  /** The wall clock off by so much, the monotonic one going on. */
  const off = (self: World, ms: number, more: Record<string, unknown> = {}) => {
    const at = { ...stamp(self.ms), wall: stamp(self.ms).wall + ms, clock: 'doubtful', ...more };
    return decideAt(self, { kind: 'tick', at } as Input);
  };
  const decideAt = (self: World, input: Input): readonly Effect[] => {
    const decision = decide(self.plan, self.state, input);
    self.state = decision.state;
    self.log.push(...decision.effects);
    return decision.effects;
  };

  it.each([
    ['a year ahead', 365 * 24 * hour],
    ['1970', -stamp(0).wall + 40_000],
  ])('to %s and back does nothing twice, and the day goes on', (_, ms) => {
    const self = started();
    until(self, 12);
    const { seq } = self.state.partitions.p1 ?? {};
    for (let count = 0; count < 30; count += 1) {
      self.pass(10_000);
      off(self, ms);
    }
    expect(told(self, self.log, 'disarmed')).toEqual([]);
    expect(self.log.filter(({ kind }) => kind === 'transition').length).toBe(seq);
    until(self, 58);
    expect(self.word()).toBe('armed_away');
    until(self, 61);
    expect(self.word()).toBe('disarmed');
    until(self, 24 * 60 + 12);
    expect(self.word()).toBe('armed_away');
  });

  it('a year ahead over an arming does it once, within an hour of its time', () => {
    const self = started(clocked([night]));
    const effects = off(self, 365 * 24 * hour + 20 * minute);
    expect(effects.filter(({ kind }) => kind === 'transition')).toHaveLength(1);
    expect(off(self, 365 * 24 * hour + 30 * minute)).toEqual([]);
  });

  it('a year ahead calls nobody for armings of a day that never was', () => {
    const self = started(clocked([night]));
    const effects = off(self, 365 * 24 * hour + 8 * hour);
    expect(told(self, effects, 'fail_to_arm')).toMatchObject([{ signalToStation: false, late: true }]);
    expect(self.word()).toBe('disarmed');
  });

  it.each([
    ['in the same boot', {}],
    ['after a start of the machine without a clock', { boot: 'boot-2', mono: 50_000 }],
  ])(
    'that fell to 1970 arms by its own dates, though people changed the arming in the true year (C3), %s',
    (_, more) => {
      const self = started(clocked([night]));
      self.arm({ skipExitDelay: true });
      self.disarm();
      self.clock = 'doubtful';
      // 08:09 and 08:10 of a day that the clock believes in.
      const day = Date.UTC(1970, 0, 2, 8, 9) - stamp(0).wall - self.ms;
      off(self, day, more);
      expect(self.word()).toBe('disarmed');
      self.ms += minute;
      off(self, day, { ...more, ...('mono' in more && { mono: 50_000 + minute }) });
      expect(self.word()).toBe('arming');
    },
  );

  it('a day ahead for a minute arms at once, and in the next evening all the same', () => {
    const self = started(clocked([night]));
    until(self, 12);
    self.disarm();
    self.pass(10_000);
    expect(off(self, 24 * hour, { clock: 'synced' }).filter(({ kind }) => kind === 'transition')).toHaveLength(1);
    self.disarm();
    until(self, 24 * 60 + 9);
    expect(self.word()).toBe('disarmed');
    until(self, 24 * 60 + 12);
    expect(self.word()).toBe('armed_away');
    expect(readState(writeState(self.state))).toEqual(self.state);
  });

  it('and came back lets the schedule of the true day arm and disarm as before', () => {
    const self = started();
    for (let count = 0; count < 6; count += 1) {
      self.pass(10_000);
      off(self, -stamp(0).wall + hour);
    }
    until(self, 12);
    expect(self.word()).toBe('armed_away');
    until(self, 61);
    expect(self.word()).toBe('disarmed');
  });

  it('while it waits for a window, the wait is measured by the monotonic clock', () => {
    const self = started(clocked([night]));
    self.open('2');
    until(self, 10.25);
    self.pass(10_000);
    expect(told(self, off(self, 5 * hour), 'fail_to_arm')).toEqual([]);
    self.open('2', false);
    self.pass(10_000);
    off(self, 5 * hour);
    expect(self.word()).toBe('arming');
  });
});

it('a site without schedules ignores ticks', () => {
  const self = world(house());
  const before = self.state;
  tick(self);
  expect(self.state).toBe(before);
});
