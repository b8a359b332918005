import { describe, expect, it } from 'vitest';
import { adoptPlan, changesBetween, decide, readState, siteView, writeState } from '#site/core/index.ts';
import { armed, house, panelHouse, partition, stamp, type World, world, zone } from './world.ts';

const view = (site: World) => siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 0 });
/** What the last input changed for a client that looks at partitions. */
function changed(site: World, act: () => unknown) {
  const before = site.state;
  act();
  return changesBetween(before, site.state).partitions;
}

describe('what shows beside a partition', () => {
  it('the seconds left of the abort window', () => {
    const site = armed(house({ partitions: [partition('p1', { abortDelayMs: 30_000 })] }));
    site.open('2');
    site.ms += 10_500;
    expect(view(site).delays.p1).toEqual({ abortLeftS: 20 });
    expect(changed(site, () => site.pass(60_000))).toContain('p1');
    expect(view(site).delays.p1).toBeUndefined();
  });

  it('zones that are shut, from the alarm that shuts them to the disarm', () => {
    const site = armed(house({ swingerTrips: 1 }));
    expect(view(site).shut).toEqual({});
    expect(changed(site, () => site.open('2'))).toContain('p1');
    expect(view(site).shut).toEqual({ p1: ['2'] });
    site.disarm();
    expect(view(site).shut).toEqual({});
  });

  it('a walk test, with what is walked and what is not', () => {
    const site = world();
    site.command({ verb: 'test', minutes: 10 });
    expect(view(site).tests).toEqual({ p1: { leftS: 600, walked: [], missing: ['1', '2', '3', '4', '13', '21'] } });
    expect(changed(site, () => site.open('2'))).toContain('p1');
    expect(view(site).tests?.p1?.walked).toEqual(['2']);
    expect(changed(site, () => site.command({ verb: 'end_test' }))).toContain('p1');
    expect(view(site).tests).toEqual({});
  });
});

describe('a partition that a new plan takes away within its abort window', () => {
  const delayed = { abortDelayMs: 30_000 };
  const before = house({
    partitions: [partition('p1', delayed), partition('p2', delayed)],
    zones: [zone('2', 'perimeter', { partitions: ['p2'] }), zone('3', 'perimeter', { partitions: ['p2'] })],
    cameras: [],
  });
  const after = house({
    partitions: [partition('p1', delayed)],
    zones: [zone('3', 'perimeter', { partitions: ['p1'] })],
    cameras: [],
  });
  const waiting = () => {
    const site = world(before);
    site.arm({ partition: 'p2', skipExitDelay: true });
    site.open('2');
    site.open('3');
    expect(site.events().every(({ signalToStation }) => !signalToStation)).toBe(true);
    return site;
  };

  it.each(['tick', 'started'] as const)('its alarms are signalled with the next input (%s), once', (kind) => {
    const site = waiting();
    const stored = readState(writeState(adoptPlan(after, site.state, stamp(site.ms))));
    expect(stored?.abandoned).toHaveLength(2);
    if (stored === undefined) return;
    const input = kind === 'tick' ? { kind } : { kind, sameBoot: true, storeLost: false };
    const { effects, state } = decide(after, stored, { at: stamp(site.ms + 1_000), ...input });
    const alarms = effects.flatMap((effect) => (effect.kind === 'event' ? [effect.event] : []));
    expect(alarms).toMatchObject([
      { kind: 'burglary_perimeter', partition: 'p2', signalToStation: true, incident: 'p2-1' },
      { kind: 'burglary_perimeter', partition: 'p2', signalToStation: true, incident: 'p2-1', zone: '3' },
    ]);
    expect(alarms[0]?.evidence).toContainEqual(expect.objectContaining({ type: 'zone', zone: '2' }));
    expect(state.abandoned).toBeUndefined();
    expect(Object.keys(state.partitions)).toEqual(['p1']);
  });

  const entered = () => {
    const site = armed();
    site.open('1');
    site.open('3');
    expect([site.word(), site.events(site.log).some(({ signalToStation }) => signalToStation)]).toEqual([
      'pending',
      false,
    ]);
    return site;
  };
  const signalled = [
    { kind: 'burglary_entry_exit', zone: '1', partition: 'p1', incident: 'p1-1', signalToStation: true },
    { kind: 'burglary_interior', zone: '3', partition: 'p1', incident: 'p1-1', signalToStation: true },
  ];

  it.each([1, 4] as const)('an entry delay that security type %s ends is an alarm at once', (securityType) => {
    const plan = panelHouse({ securityType: 3, partitions: [partition('p1', { panel: 'main' })] });
    const site = armed(securityType === 1 ? plan : house());
    site.open('1');
    site.open('3');
    expect(site.word()).toBe('pending');
    site.ms += 5_000;
    site.send({ kind: 'security_type', securityType, by: 'cli', whileArmed: true });
    const alarms = site.events().filter(({ class: of }) => of === 'alarm');
    expect(alarms).toMatchObject(signalled);
    const tripped = { type: 'entry_delay_ended', tripped_at: new Date(stamp(600_000).wall).toISOString() };
    expect(alarms[0]?.evidence).toContainEqual(tripped);
    expect([site.word(), site.state.abandoned]).toEqual(['unknown', undefined]);
    expect(site.kinds(site.pass(120_000)).filter((kind) => kind.startsWith('alarm'))).toEqual([]);
  });

  it.each([
    ['gives its partition to a panel', panelHouse()],
    ['has its partition no more', house({ partitions: [partition('p2')], zones: [], cameras: [] })],
  ])('an entry delay that ends with a plan that %s is signalled with the next input', (_, plan) => {
    const site = entered();
    const stored = readState(writeState(adoptPlan(plan, site.state, stamp(site.ms))));
    expect(stored?.abandoned).toHaveLength(2);
    if (stored === undefined) return;
    const { effects, state } = decide(plan, stored, { at: stamp(site.ms + 1_000), kind: 'replanned' });
    const events = effects.flatMap((effect) => (effect.kind === 'event' ? [effect.event] : []));
    expect(events.filter(({ signalToStation }) => signalToStation)).toMatchObject(
      signalled.map(({ kind, partition: of }) => ({
        kind: plan.zones.length === 0 && kind === 'burglary_interior' ? 'burglary' : kind,
        partition: of,
      })),
    );
    expect(state.abandoned).toBeUndefined();
  });

  it('one whose window has ended, or that stays, leaves nothing behind', () => {
    const ended = waiting();
    ended.pass(60_000);
    expect(adoptPlan(after, ended.state, stamp(ended.ms)).abandoned).toBeUndefined();
    expect(adoptPlan(before, waiting().state, stamp(0)).abandoned).toBeUndefined();
  });
});
