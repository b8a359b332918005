import { describe, expect, it } from 'vitest';
import { adoptPlan, readState, writeState } from '#site/core/index.ts';
import type { Command } from '#site/model/index.ts';
import { armed, house, panelHouse, partition, stamp, type World, world, zone } from './world.ts';

const leave = (site: World, zoneNumber: string, more: Partial<Command> = {}) =>
  site.command({ verb: 'bypass', partition: 'all', zone: zoneNumber, issuedAt: stamp(site.ms).wall, ...more });
const takeBack = (site: World, zoneNumber: string, more: Partial<Command> = {}) =>
  leave(site, zoneNumber, { verb: 'unbypass', ...more });
const walk = (site: World, more: Partial<Command> = {}) =>
  site.command({ verb: 'test', issuedAt: stamp(site.ms).wall, ...more });
const restart = (site: World, sameBoot = true) => {
  site.state = readState(writeState(site.state)) ?? site.state;
  return site.send({ kind: 'started', sameBoot, storeLost: false });
};
const isOut = (site: World, number: string) => site.state.zones[number]?.bypassed;

describe('bypass by command', () => {
  it('leaves a zone out until the disarm: it makes no alarm and does not keep the site from being armed', () => {
    const site = world();
    site.open('2');
    expect(leave(site, '2', { reason: 'delivery' })).toMatchObject({ outcome: 'done', partition: 'p1' });
    expect(site.events()).toMatchObject([
      { class: 'bypass', kind: 'zone_bypassed', zone: '2', contactId: '573', sia: 'BB', actor: 'anna', toCloud: false },
    ]);
    expect(site.events()[0]?.detail).toBe('delivery');
    expect(leave(site, '2').outcome).toBe('already');
    expect(site.arm({ skipExitDelay: true }).outcome).toBe('done');
    site.open('2', false);
    site.open('2');
    expect(site.word()).toBe('armed_away');
    site.disarm();
    expect([isOut(site, '2'), site.state.periods.p1?.bypasses]).toEqual([false, undefined]);
  });

  it('until it is ended: the disarm does not take it back', () => {
    const site = world();
    leave(site, '2', { until: 'cleared' });
    site.arm({ skipExitDelay: true });
    site.disarm();
    expect(isOut(site, '2')).toBe(true);
    expect(takeBack(site, '2', { code: 'none' })).toMatchObject({ outcome: 'done' });
    expect(site.events()).toMatchObject([{ kind: 'zone_bypassed', status: 'restored', sia: 'BU' }]);
    expect(isOut(site, '2')).toBe(false);
    expect(takeBack(site, '2').outcome).toBe('already');
  });

  it.each([true, false])('for some minutes, exactly, also after a restart (same boot: %s)', (sameBoot) => {
    const site = world();
    leave(site, '2', { minutes: 10 });
    site.arm({ skipExitDelay: true });
    site.disarm();
    expect(isOut(site, '2')).toBe(true);
    site.ms += 5 * 60_000;
    restart(site, sameBoot);
    site.pass(5 * 60_000 - 1);
    expect(isOut(site, '2')).toBe(true);
    site.pass(1);
    expect(isOut(site, '2')).toBe(false);
  });

  it.each(['disarm', 'cleared'] as const)('said again without minutes it lasts until %s', (until) => {
    const site = world();
    leave(site, '2', { until, minutes: 1 });
    expect(leave(site, '2', { until }).outcome).toBe('done');
    expect(leave(site, '2', { until }).outcome).toBe('already');
    site.pass(63_000);
    expect(isOut(site, '2')).toBe(true);
  });

  it('is over where no clock can tell how long it lasted', () => {
    const site = world();
    leave(site, '2', { minutes: 60 });
    site.clock = 'doubtful';
    restart(site, false);
    expect(isOut(site, '2')).toBe(false);
  });

  it('ends by itself in an armed partition only when its zone has closed, so that its end is no alarm and no gap', () => {
    const site = world();
    site.open('2');
    leave(site, '2', { minutes: 5 });
    site.arm({ skipExitDelay: true });
    site.pass(10 * 60_000);
    expect([isOut(site, '2'), site.word()]).toEqual([true, 'armed_away']);
    site.open('2', false);
    site.pass(60_000);
    expect(isOut(site, '2')).toBe(false);
    site.open('2');
    expect(site.word()).toBe('triggered');
  });

  it.each(['10', '11', '12'])('safety 1: zone %s, life safety or hold-up, is never left out', (number) => {
    const site = world();
    for (const role of ['owner', 'installer'] as const) {
      const refused = leave(site, number, { role });
      // A silent one cannot be told from one that is not there (safety 4).
      const why = { code: 'NOT_ALLOWED', field: 'zone', zones: [number] };
      expect(refused.error).toEqual(number === '12' ? leave(world(), '99', { role }).error : why);
    }
    site.open(number);
    expect(site.events().filter(({ class: kind }) => kind === 'alarm')).toHaveLength(1);
  });

  it('a 24-hour zone is left out by an installer alone', () => {
    const site = world();
    expect(leave(site, '13', { role: 'owner' }).error?.code).toBe('NOT_ALLOWED');
    expect(leave(site, '13', { role: 'installer' }).outcome).toBe('done');
    expect(site.events()).toMatchObject([{ contactId: '572', sia: 'UB' }]);
    site.open('13');
    expect([site.kinds(), site.word()]).toEqual([[], 'disarmed']);
    site.open('13', false);
    takeBack(site, '13');
    site.open('13');
    expect(site.word()).toBe('triggered');
  });

  it('needs a code and the right; while armed also the right to disarm', () => {
    const site = world();
    expect(leave(site, '2', { code: 'none' }).error).toEqual({ code: 'CODE_REQUIRED', field: 'code' });
    expect(leave(site, '2', { role: 'guard' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'code' });
    site.arm({ skipExitDelay: true });
    expect(leave(site, '2', { role: 'installer' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    expect(leave(site, '2', { role: 'user' }).outcome).toBe('done');
  });

  it('an open zone is not taken back while armed; nothing changes while an alarm runs', () => {
    const site = armed();
    leave(site, '2');
    site.open('2');
    expect(takeBack(site, '2').error).toEqual({ code: 'NOT_READY', zones: ['2'] });
    site.open('4');
    expect(site.word()).toBe('triggered');
    const before = site.state;
    expect(leave(site, '3').error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    expect([site.state.periods, site.state.zones]).toEqual([before.periods, before.zones]);
  });

  it('C1: lives for 60 s, whatever it says', () => {
    const site = world();
    const issuedAt = stamp(site.ms - 60_001).wall;
    expect(leave(site, '2', { issuedAt, expiresAt: issuedAt + 600_000 }).outcome).toBe('expired');
  });

  it('the audit log is told the zone; an unknown one is refused', () => {
    const site = world();
    leave(site, '2');
    const entries = site.last.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []));
    expect(entries).toMatchObject([{ kind: 'command', action: 'bypass', target: 'zone:2', outcome: 'done' }]);
    expect(leave(site, '99').error).toEqual({ code: 'UNKNOWN_TARGET', field: 'zone' });
    // Somebody may have typed a code in the place of the zone (I10).
    expect(site.last.find((effect) => effect.kind === 'audit')?.entry.target).toBe('zone:?');
  });

  it('a zone of two partitions is left out in both, and comes back in each with its disarm', () => {
    const both = { partitions: ['p1', 'p2'] };
    const site = world(
      house({ partitions: [partition('p1'), partition('p2')], zones: [zone('2', 'perimeter', both)], cameras: [] }),
    );
    leave(site, '2');
    for (const id of ['p1', 'p2']) site.arm({ partition: id, skipExitDelay: true });
    site.disarm({ partition: 'p1' });
    expect(isOut(site, '2')).toBe(true);
    site.open('2');
    expect([site.word('p1'), site.word('p2')]).toEqual(['disarmed', 'armed_away']);
    site.disarm({ partition: 'p2' });
    expect(isOut(site, '2')).toBe(false);
  });

  it('safety 1: a duress code calls for help here too, and the zone is left out as ever', () => {
    const site = world();
    expect(leave(site, '2', { code: 'duress' }).outcome).toBe('done');
    expect(site.events().filter(({ kind }) => kind === 'duress')).toMatchObject([{ silent: true }]);
  });
});

describe('clear_memory', () => {
  it('forgets the alarms after the disarm, without a code, and not while one runs', () => {
    const site = armed();
    site.open('2');
    const clear = () => site.command({ verb: 'clear_memory', code: 'none', issuedAt: stamp(site.ms).wall });
    expect(clear().error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    site.disarm();
    expect(site.state.partitions.p1?.memory).toEqual(['2']);
    expect(clear().outcome).toBe('done');
    expect(site.kinds()).toEqual(['system:memory_cleared:active']);
    expect(site.state.partitions.p1?.memory).toEqual([]);
    expect(clear().outcome).toBe('already');
  });
});

describe('walk test', () => {
  const tested = (more: Partial<Command> = {}) => {
    const site = world();
    walk(site, more);
    return site;
  };

  it('is reported at its start and its end, with what was walked, and calls nobody', () => {
    const site = world();
    expect(walk(site, { minutes: 30 }).outcome).toBe('done');
    expect(site.events()).toMatchObject([
      {
        class: 'test',
        kind: 'walk_test',
        status: 'active',
        contactId: '607',
        sia: 'TS',
        toCloud: true,
        lane: 'trouble',
      },
    ]);
    site.open('1');
    expect(site.kinds()).toEqual(['test:zone_walked:active']);
    site.open('1', false);
    site.open('1');
    expect(site.kinds()).toEqual([]);
    site.sees('hall', 'person');
    expect(site.kinds()).toContain('test:zone_walked:active');
    site.pass(30 * 60_000);
    const [end] = site.events();
    expect(end).toMatchObject({ kind: 'walk_test', status: 'restored', sia: 'TE', detail: 'time', source: 'engine' });
    expect(end?.evidence).toEqual([{ type: 'walk_test', walked: 2, missed: 4, missed_zones: '2 3 4 13' }]);
    expect(site.events(site.log).every(({ signalToStation }) => !signalToStation)).toBe(true);
    expect(site.state.periods.p1?.test).toBeUndefined();
  });

  it('24-hour zones, tamper zones and day zones make no alarm and no trouble meanwhile, and do again after it', () => {
    const site = tested();
    for (const number of ['13', '4']) {
      site.open(number);
      expect(site.kinds()).toEqual(['test:zone_walked:active']);
      site.open(number, false);
    }
    expect(site.word()).toBe('disarmed');
    expect(site.command({ verb: 'end_test', code: 'none' }).outcome).toBe('done');
    site.open('13');
    expect([site.kinds(), site.word()]).toEqual([['alarm:burglary_24h:active'], 'triggered']);
  });

  it.each([
    // Each that shows ends the test.
    ['10', 'test:walk_test:restored alarm:fire:active'],
    ['11', 'test:walk_test:restored alarm:panic:active'],
    ['12', 'alarm:panic_silent:active'],
  ])('safety 1: zone %s is signalled as always, and is walked by nobody', (number, kind) => {
    const site = tested();
    site.open(number);
    expect(site.kinds().join(' ')).toBe(kind);
    expect(site.events().at(-1)?.signalToStation).toBe(true);
    expect(walk(world(), { zones: ['2', number] }).error).toEqual({
      // A silent one cannot be told from one that is not there (safety 4).
      code: number === '12' ? 'UNKNOWN_TARGET' : 'NOT_ALLOWED',
      field: 'zones',
      zones: [number],
    });
  });

  it('of some zones alone: the others do what they always do, and an alarm of one ends the test', () => {
    const site = tested({ zones: ['2'] });
    site.open('2');
    expect(site.kinds()).toEqual(['test:zone_walked:active']);
    site.open('13');
    expect(site.kinds()).toEqual(['test:walk_test:restored', 'alarm:burglary_24h:active']);
    expect(site.word()).toBe('triggered');
  });

  it('is refused while armed or in alarm, without a code and without the right', () => {
    expect(walk(armed()).error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    const burning = world();
    burning.open('10');
    expect(walk(burning).error).toEqual({ code: 'NOT_ALLOWED', field: 'state' });
    expect(walk(world(), { code: 'none' }).error).toEqual({ code: 'CODE_REQUIRED', field: 'code' });
    expect(walk(world(), { role: 'guard' }).error).toEqual({ code: 'NOT_ALLOWED', field: 'code' });
    expect(walk(world(), { role: 'installer' }).outcome).toBe('done');
    expect(walk(world(panelHouse())).error).toEqual({ code: 'NOT_CONTROLLED' });
  });

  it('an arming ends it, by whomever: a forgotten test leaves no site open', () => {
    const site = tested();
    const arm = { source: 'schedule', actor: 'night', code: 'none', skipExitDelay: true } as const;
    expect(site.arm({ ...arm, issuedAt: stamp(site.ms).wall }).outcome).toBe('done');
    expect(site.events()).toContainEqual(expect.objectContaining({ kind: 'walk_test', detail: 'arming' }));
    site.open('2');
    expect(site.word()).toBe('triggered');
  });

  it.each([true, false])('ends exactly after a restart (same boot: %s)', (sameBoot) => {
    const site = tested({ minutes: 10 });
    site.ms += 4 * 60_000;
    restart(site, sameBoot);
    site.open('2');
    expect(site.kinds()).toEqual(['test:zone_walked:active']);
    expect(site.kinds(site.pass(6 * 60_000 - 1))).toEqual([]);
    expect(site.kinds(site.pass(1))).toEqual(['test:walk_test:restored']);
  });

  it('one that ended while siteward was down, or of which no clock can tell, is over at the start', () => {
    const down = tested({ minutes: 10 });
    down.ms += 11 * 60_000;
    restart(down);
    expect(down.kinds()).toEqual(['test:walk_test:restored']);
    const unknown = tested();
    unknown.clock = 'doubtful';
    restart(unknown, false);
    expect(unknown.kinds()).toEqual(['test:walk_test:restored']);
  });

  it('begun again it lasts anew and keeps what was walked, and every change of it is reported', () => {
    const site = tested({ minutes: 10, zones: ['2'] });
    const evidence = (tested: number, named: string) => [{ type: 'walk_test', tested, tested_zones: named }];
    expect(site.events()).toMatchObject([{ detail: 'minutes: 10', evidence: evidence(1, '2') }]);
    site.open('2');
    site.ms += 9 * 60_000;
    walk(site, { minutes: 30 });
    expect(site.events()).toMatchObject([
      { kind: 'walk_test', status: 'active', detail: 'minutes: 30', evidence: evidence(6, '1 2 3 4 13 21') },
    ]);
    expect(site.state.periods.p1?.test?.walked).toEqual(['2']);
    site.pass(30 * 60_000 - 1);
    expect(site.state.periods.p1?.test).toBeDefined();
    expect(site.kinds(site.pass(1))).toEqual(['test:walk_test:restored']);
  });

  it('however often it is begun again, and over a start, it ends 240 minutes after its first begin', () => {
    const site = tested({ minutes: 10_000 });
    for (let count = 0; count < 4; count += 1) {
      site.pass(59 * 60_000);
      restart(site, count % 2 === 0);
      walk(site, { minutes: 240 });
    }
    expect(site.events()).toMatchObject([{ status: 'active', detail: 'minutes: 4' }]);
    site.pass(4 * 60_000 - 1);
    expect(site.state.periods.p1?.test).toBeDefined();
    expect(site.kinds(site.pass(1))).toEqual(['test:walk_test:restored']);
    walk(site, { minutes: 240 });
    expect(site.events()).toMatchObject([{ status: 'active', detail: 'minutes: 240' }]);
  });

  it('a zone that another, armed partition shares is watched there', () => {
    const both = { partitions: ['p1', 'p2'] };
    const zones = [zone('2', 'perimeter', both), zone('13', '24h_burglary', both)];
    const site = world(house({ partitions: [partition('p1'), partition('p2')], zones, cameras: [] }));
    site.arm({ partition: 'p2', skipExitDelay: true });
    walk(site);
    site.open('2');
    expect([site.word('p1'), site.word('p2')]).toEqual(['disarmed', 'triggered']);
  });

  it('a partition that goes, or comes under a panel, takes its test with it', () => {
    const site = tested();
    const state = adoptPlan(panelHouse(), site.state, stamp(site.ms));
    expect(Object.keys(state.timers)).toEqual([]);
  });
});
