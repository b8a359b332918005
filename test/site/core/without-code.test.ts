import { describe, expect, it } from 'vitest';
import type { Command } from '#site/model/index.ts';
import { house, partition, type World, world } from './world.ts';

const none = { code: 'none', actor: undefined, client: 'guest' } as unknown as Partial<Command>;
const required = { code: 'CODE_REQUIRED', field: 'code' };
const leftOut = (site: World) => site.state.periods.p1?.bypassed ?? [];

describe('who gives no code cannot take protection away by being first', () => {
  it.each([
    ['bypass', { bypass: ['2'] }],
    ['force', { force: true }],
  ])('an arm with %s takes the code that leaving a zone out takes', (_, how) => {
    const site = world();
    site.open('2');
    expect(site.arm({ ...how, skipExitDelay: true, ...none }).error).toEqual(required);
    expect([site.word(), leftOut(site)]).toEqual(['disarmed', []]);
    expect(site.arm({ ...how, skipExitDelay: true })).toMatchObject({ outcome: 'done' });
    expect(leftOut(site)).toEqual(['2']);
  });

  it('it does not where a disarm takes none, and a schedule leaves out by the policy of its site', () => {
    const open = world(house({ disarmNeedsCode: false }));
    expect(open.arm({ bypass: ['2'], ...none })).toMatchObject({ outcome: 'done' });
    const planned = world();
    planned.open('2');
    const night = { source: 'schedule', client: 'schedule:night', actor: 'night', code: 'none' } as const;
    expect(planned.arm({ force: true, ...night })).toMatchObject({ outcome: 'done' });
  });

  it('the way out is not held open by one mode after the other', () => {
    const site = world();
    site.arm();
    for (let n = 0; n < 4; n += 1) {
      site.pass(13_000);
      expect(site.arm({ mode: n % 2 === 0 ? 'vacation' : 'away', ...none })).toMatchObject({ outcome: 'done' });
      expect(site.word()).toBe('arming');
    }
    site.pass(8_000);
    expect(site.word()).toBe('armed_away');
    site.open('2');
    expect(site.word()).toBe('triggered');
  });

  it('somebody with a code has the whole time to leave again', () => {
    const site = world();
    site.arm({ mode: 'home' });
    site.pass(50_000);
    site.arm({ mode: 'away' });
    site.pass(50_000);
    expect(site.word()).toBe('arming');
  });

  it('a partition of which nobody knows whether it is armed stays so, and every signal goes up', () => {
    const site = world(house({ partitions: [partition('p1')] }), { storeLost: true });
    for (const how of [{ mode: 'home' }, { mode: 'vacation' }, { mode: 'away', skipExitDelay: true }] as const)
      expect(site.arm({ ...how, ...none }).error).toEqual(required);
    site.open('3');
    expect(site.kinds()).toEqual(['alarm:burglary_interior:active']);
    expect(site.word()).toBe('unknown');
    expect(site.arm({ mode: 'away' }).error).toEqual({ code: 'NOT_READY', zones: ['3'] });
    site.open('3', false);
    expect(site.arm({ mode: 'away' })).toMatchObject({ outcome: 'done' });
  });
});
