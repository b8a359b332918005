import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { Command, CommandResult } from '#site/model/index.ts';
import { clocked, morning, night, started, told, until } from './schedule-site.ts';
import { arm, minute, schedule } from './schedule-world.ts';
import { house, stamp, type World, world } from './world.ts';

const put = (self: World, more: Partial<Command> = {}): CommandResult =>
  self.command({ verb: 'postpone', partition: 'all', schedule: 'night', minutes: 30, ...more });

describe('a postponement', () => {
  it('moves the arming, warns anew before the new time and is told to the station as it is done', () => {
    const self = started();
    until(self, 6);
    expect(put(self)).toMatchObject({
      outcome: 'done',
      postponed: { due: stamp(40 * minute).wall, timesLeft: 1 },
      final: true,
    });
    expect(told(self, self.last, 'auto_arm_postponed')).toMatchObject([
      {
        ...{
          class: 'arming',
          lane: 'arming',
          partition: 'p1',
          contactId: '464',
          sia: 'CE',
          actor: 'anna',
          toCloud: true,
        },
        ...{ signalToStation: false, schedule: { id: 'night', at: stamp(40 * minute).wall } },
      },
    ]);
    expect(told(self, until(self, 39), 'auto_arm_warning')).toHaveLength(1);
    expect(self.word()).toBe('disarmed');
    until(self, 42);
    expect(self.word()).toBe('armed_away');
  });

  it('outlives a power cut', () => {
    const self = started();
    put(self);
    self.state = readState(writeState(self.state)) ?? self.state;
    until(self, 39);
    expect(self.word()).toBe('disarmed');
    until(self, 42);
    expect(self.word()).toBe('armed_away');
  });

  it('C2: the same command again gets the same answer and postpones nothing more', () => {
    const self = started();
    const id = '00000000-0000-4000-8000-00000000000a';
    const first = put(self, { id, bodyHash: 'one' });
    const { schedules } = self.state;
    expect(put(self, { id, bodyHash: 'one' })).toEqual(first);
    expect(self.state.schedules).toEqual(schedules);
    expect(put(self, { id, bodyHash: 'other' })).toMatchObject({ error: { code: 'ID_CONFLICT' } });
  });

  it('is in the audit with its schedule, granted or not', () => {
    const self = started();
    put(self);
    put(self, { minutes: 600 });
    expect(self.log.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []))).toMatchObject([
      { kind: 'command', action: 'postpone', target: 'schedule:night', outcome: 'done', actor_ref: 'anna' },
      { kind: 'refusal', action: 'postpone', target: 'schedule:night', outcome: 'refused', reason: 'NOT_ALLOWED' },
    ]);
  });

  it('safety 4: under duress it is granted like any other, and help is called silently', () => {
    const [calm, forced] = [started(), started()];
    const answers = [put(calm), put(forced, { code: 'duress' })];
    expect(answers[1]).toEqual(answers[0]);
    const seen = (self: World) => self.events().filter(({ silent }) => silent !== true);
    expect(seen(forced)).toEqual(seen(calm));
    expect(forced.events().filter(({ silent }) => silent === true)).toMatchObject([{ kind: 'duress', class: 'alarm' }]);
  });

  it.each<[string, Partial<Command>, Partial<CommandResult['error'] & object>]>([
    ['without a code', { code: 'none' }, { code: 'CODE_REQUIRED', field: 'code' }],
    ['with a wrong code', { code: 'bad' }, { code: 'BAD_CODE', field: 'code' }],
    ['by an installer, who may not disarm', { role: 'installer' }, { code: 'NOT_ALLOWED', field: 'code' }],
    ['of an unknown schedule', { schedule: 'nihgt' }, { code: 'UNKNOWN_TARGET', field: 'schedule' }],
    ['of a disarming', { schedule: 'morning' }, { code: 'NOT_ALLOWED', field: 'schedule' }],
    ['of half a minute', { minutes: 0.5 }, { code: 'SCHEMA', field: 'minutes' }],
    ['by too much', { minutes: 121 }, { code: 'NOT_ALLOWED', field: 'minutes' }],
    ['that nobody gave for ten minutes', { issuedAt: stamp(-10 * minute).wall }, { code: 'EXPIRED' }],
    ['from the future', { issuedAt: stamp(10 * minute).wall }, { code: 'FUTURE' }],
  ])('%s is refused and changes nothing (I7)', (_, more, error) => {
    const self = started();
    const { schedules, partitions } = self.state;
    expect(put(self, more).error).toMatchObject(error);
    expect(self.state.schedules).toEqual(schedules);
    expect(self.state.partitions).toEqual(partitions);
  });

  it('is refused a third time, once the arming is over, and where there is nothing to postpone', () => {
    const self = started(
      clocked([schedule('night', '08:10', { ...arm, postpone: { times: 1, totalMs: 60 * minute } }), morning]),
    );
    expect(put(self, { minutes: 10 })).toMatchObject({ outcome: 'done', postponed: { timesLeft: 0 } });
    expect(put(self, { minutes: 10 }).error).toMatchObject({ code: 'NOT_ALLOWED', field: 'times' });
    until(self, 22);
    expect(put(self, { minutes: 10 }).error).toMatchObject({ code: 'CONFLICT', field: 'schedule' });
    const without = world(house());
    expect(put(without).error).toMatchObject({ code: 'UNKNOWN_TARGET' });
  });

  it('is refused where the configuration allows none', () => {
    const self = started(clocked([{ ...night, action: { ...arm, postpone: { times: 0, totalMs: 0 } } }]));
    expect(put(self).error).toMatchObject({ code: 'NOT_ALLOWED', field: 'times' });
  });
});
