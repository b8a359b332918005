import { describe, expect, it } from 'vitest';
import { adoptPlan, decide, readState, writeState } from '#site/core/index.ts';
import type { PartitionPlan, SitePlan } from '#site/model/index.ts';
import { armed, house, link, panelHouse, partition, says, stamp, type World, world, zone } from './world.ts';

const hours = 3_600_000;

/** The house with options of its partition and of the site. */
const withRules = (rules: Partial<PartitionPlan>, more: Partial<SitePlan> = {}): SitePlan =>
  house({ partitions: [partition('p1', rules)], ...more });

const trips = (site: World, number: string) => {
  site.open(number, false);
  return site.open(number);
};

/** As after a start of the daemon, or of the machine: the state comes from disk. */
function restart(site: World, how: { downMs: number; sameBoot?: boolean; clock?: 'synced' | 'doubtful' }) {
  const stored = readState(writeState(site.state));
  if (stored === undefined) throw new Error('the state is not readable');
  site.ms += how.downMs;
  const sameBoot = how.sameBoot ?? true;
  const at = stamp(site.ms, { clock: how.clock ?? 'synced', ...(sameBoot ? {} : { boot: 'boot-2' }) });
  const begun = decide(site.plan, adoptPlan(site.plan, stored, at), {
    at,
    kind: 'started',
    sameBoot,
    storeLost: false,
  });
  site.state = begun.state;
  return begun.effects;
}

describe('swinger shutdown', () => {
  const plan = house({ swingerTrips: 2 });

  it('the second alarm of a zone is still signalled and shuts the zone, which is reported once (CID 377)', () => {
    const site = armed(plan);
    site.open('2');
    expect(site.kinds()).toEqual(['alarm:burglary_perimeter:active']);
    trips(site, '2');
    expect(site.events()).toMatchObject([
      { kind: 'burglary_perimeter', signalToStation: true },
      { class: 'trouble', kind: 'swinger_shutdown', zone: '2', contactId: '377', sia: 'BD', signalToStation: false },
    ]);
    trips(site, '2');
    expect(site.events()).toMatchObject([
      { kind: 'shut_zone_tripped', zone: '2', signalToStation: false, toCloud: false, media: [] },
    ]);
    for (let count = 0; count < 3; count += 1) expect(trips(site, '2')).toEqual([]);
    expect(site.events(site.pass(48 * hours))).toMatchObject([
      { kind: 'swinger_shutdown', status: 'restored', detail: 'trips_while_shut: 4' },
    ]);
  });

  it('another zone alarms as before, and a disarm opens the shut one again', () => {
    const site = armed(plan);
    site.open('2');
    trips(site, '2');
    expect(site.kinds(site.open('3'))).toEqual(['alarm:burglary_interior:active']);
    site.disarm();
    expect(site.kinds()).toContain('trouble:swinger_shutdown:restored');
    site.open('2', false);
    site.open('3', false);
    site.arm({ skipExitDelay: true });
    expect(site.kinds(site.open('2'))).toEqual(['alarm:burglary_perimeter:active']);
  });

  it('a shut zone is released after 48 hours, also over a restart', () => {
    const site = armed(plan);
    site.open('2');
    trips(site, '2');
    expect(restart(site, { downMs: 47 * hours })).not.toContainEqual(expect.objectContaining({ kind: 'event' }));
    expect(site.kinds(trips(site, '2'))).toEqual(['system:shut_zone_tripped:active']);
    expect(site.kinds(site.pass(hours))).toEqual(['trouble:swinger_shutdown:restored']);
    expect(site.kinds(trips(site, '2'))).toEqual(['alarm:burglary_perimeter:active']);
  });

  it('after a start of the machine with a clock in doubt the zone is released: signalling is the safe reading', () => {
    const site = armed(plan);
    site.open('2');
    trips(site, '2');
    expect(site.kinds(restart(site, { downMs: 1000, sameBoot: false, clock: 'doubtful' }))).toEqual([
      'trouble:swinger_shutdown:restored',
    ]);
  });

  it('the trouble is restored also when a panel has taken the partition over, where no zone is shut', () => {
    const site = armed(plan);
    site.open('2');
    trips(site, '2');
    const beside = world(panelHouse({ swingerTrips: 2 }), { quiet: false });
    beside.ms = site.ms;
    beside.state = adoptPlan(beside.plan, site.state, stamp(site.ms));
    beside.signal(link(true));
    expect(beside.kinds(beside.signal(says('armed_away')))).toContain('trouble:swinger_shutdown:restored');
  });

  it.each(['10', '11', '12'])('safety 1: zone %s, life safety or hold-up, is never shut', (number) => {
    const site = armed(plan);
    for (let count = 0; count < 8; count += 1) {
      expect(site.events(trips(site, number)).filter(({ signalToStation }) => signalToStation)).toHaveLength(1);
    }
    expect(site.kinds(site.log).join()).not.toContain('swinger');
  });

  it('a 24-hour burglary zone of a disarmed partition is shut too, and tamper is not', () => {
    const site = world(plan);
    for (let count = 0; count < 3; count += 1) trips(site, '13');
    expect(site.kinds()).toEqual(['system:shut_zone_tripped:active']);
    const tampered = armed(house({ swingerTrips: 1, zones: [zone('14', 'tamper_24h'), zone('2', 'perimeter')] }));
    for (let count = 0; count < 3; count += 1) trips(tampered, '14');
    for (const tamper of [true, false, true, false]) tampered.open('2', false, { tamper });
    expect(tampered.kinds(tampered.log).join()).not.toContain('swinger');
  });
});

describe('abort window', () => {
  const plan = withRules({ abortDelayMs: 30_000, cancelWindowMs: 300_000 });

  it('the alarm sounds, shows and leaves with its picture at once, and is signalled when the window ends', () => {
    const site = armed(plan);
    site.open('2');
    expect(site.word()).toBe('triggered');
    const [first] = site.events();
    expect(first).toMatchObject({ kind: 'burglary_perimeter', lane: 'alarm', signalToStation: false, toCloud: true });
    expect(first?.media.length).toBeGreaterThan(0);
    const tripped = new Date(stamp(site.ms).wall).toISOString();
    expect(site.events(site.pass(29_999))).toEqual([]);
    const told = site.events(site.pass(1));
    expect(told).toMatchObject([{ kind: 'burglary_perimeter', signalToStation: true, incident: first?.incident }]);
    expect(told[0]?.evidence).toContainEqual({ type: 'abort_window_ended', tripped_at: tripped });
    site.open('3');
    expect(site.events()).toMatchObject([{ kind: 'burglary_interior', signalToStation: true }]);
  });

  it('a disarm within the window: nothing was ever signalled, and the abort is told without signalling', () => {
    const site = armed(plan);
    site.open('2');
    site.open('3');
    site.pass(20_000);
    site.disarm();
    expect(site.kinds()).toEqual(['alarm:alarm_aborted:cancelled', 'arming:disarmed:active']);
    site.pass(hours);
    expect(site.events(site.log).filter(({ signalToStation }) => signalToStation)).toEqual([]);
  });

  it('after an entry delay the window follows, and everything on the way in waits in its order', () => {
    const site = armed(plan);
    site.open('1');
    site.open('3');
    const atEntryEnd = site.events(site.pass(30_000));
    expect(atEntryEnd.map(({ zone, signalToStation }) => [zone, signalToStation])).toEqual([
      ['1', false],
      ['3', false],
    ]);
    expect(site.events(site.pass(30_000)).map(({ zone, signalToStation }) => [zone, signalToStation])).toEqual([
      ['1', true],
      ['3', true],
    ]);
  });

  it.each([
    ['1 minute', 60_000, ['alarm:burglary_perimeter:cancelled', 'arming:disarmed:active']],
    ['6 minutes', 360_000, ['arming:disarmed:active']],
  ])('a disarm %s after the alarm was signalled', (_, ms, kinds) => {
    const site = armed(plan);
    site.open('2');
    site.pass(30_000);
    site.pass(ms);
    site.disarm();
    expect(site.kinds()).toEqual(kinds);
    if (kinds.length > 1) expect(site.events()[0]).toMatchObject({ contactId: '406', signalToStation: true });
  });

  it.each(['10', '11', '12', '13'])('zone %s, which always watches, is signalled at once', (number) => {
    const site = armed(plan);
    expect(site.events(site.open(number))).toMatchObject([{ signalToStation: true }]);
  });

  it('tamper is signalled at once', () => {
    const site = armed(plan);
    expect(site.events(site.open('2', false, { tamper: true }))[0]).toMatchObject({ signalToStation: true });
  });

  it('a restart within the window goes on exactly', () => {
    const site = armed(plan);
    site.open('2');
    site.pass(10_000);
    expect(site.kinds(restart(site, { downMs: 5_000 }))).toEqual([]);
    expect(site.kinds(site.pass(14_999))).toEqual([]);
    expect(site.events(site.pass(1))).toMatchObject([{ signalToStation: true }]);
  });

  it.each([
    ['the daemon', { sameBoot: true }],
    ['the machine', { sameBoot: false }],
    ['the machine with a clock in doubt', { sameBoot: false, clock: 'doubtful' as const }],
  ])('a window that ended while %s was down is signalled at the start, with the true time', (_, how) => {
    const site = armed(plan);
    site.open('2');
    const tripped = new Date(stamp(site.ms).wall).toISOString();
    const events = site.events(restart(site, { downMs: 60_000, ...how })).filter((event) => event.class === 'alarm');
    expect(events).toMatchObject([{ kind: 'burglary_perimeter', late: true, signalToStation: true }]);
    expect(events[0]?.evidence).toContainEqual({ type: 'abort_window_ended', tripped_at: tripped });
    expect(site.word()).toBe('triggered');
  });

  it('sixteen alarms are no mistake: the window ends at once', () => {
    const zones = Array.from({ length: 17 }, (_, index) => zone(String(100 + index), 'perimeter'));
    const site = armed(withRules({ abortDelayMs: 30_000 }, { zones }));
    const signalled = zones.map(({ number }) => site.events(site.open(number)).filter((e) => e.signalToStation).length);
    expect(signalled).toEqual([...Array(15).fill(0), 16, 1]);
  });

  it('a window goes on when a panel takes the partition over, and over its next arming', () => {
    const site = armed(plan);
    site.open('2');
    const beside = world(panelHouse(), { quiet: false });
    beside.ms = site.ms;
    beside.state = adoptPlan(beside.plan, site.state, stamp(site.ms));
    beside.signal(link(true));
    beside.signal(says('armed_away'));
    expect(beside.events(beside.pass(30_000))).toMatchObject([
      { kind: 'burglary_perimeter', zone: '2', signalToStation: true },
    ]);
  });

  it('a restore the station has no alarm for is not signalled', () => {
    const site = armed(withRules({ abortDelayMs: 30_000 }, { signalRestores: true }));
    site.open('2');
    expect(site.events(site.open('2', false))).toMatchObject([{ status: 'restored', signalToStation: false }]);
  });

  it('an alarm of a 24-hour zone that was signalled is taken back, the waiting one is not told', () => {
    const site = armed(plan);
    site.open('2');
    site.open('13');
    site.disarm();
    expect(site.kinds()).toEqual([
      'alarm:alarm_aborted:cancelled',
      'alarm:burglary_24h:cancelled',
      'arming:disarmed:active',
    ]);
  });
});

describe('cross-zoning', () => {
  const plan = house({ crossZones: [{ zones: ['2', '3'], windowMs: 60_000 }] });

  it('one zone alone leaves with a picture and signals nobody; its window ends quietly', () => {
    const site = armed(plan);
    site.open('2');
    expect(site.word()).toBe('armed_away');
    expect(site.events()).toMatchObject([
      { class: 'system', kind: 'cross_zone_first', lane: 'alarm', zone: '2', signalToStation: false, toCloud: true },
    ]);
    expect(site.events()[0]?.media).toHaveLength(2);
    expect(site.kinds(trips(site, '2'))).toEqual([]);
    expect(site.events(site.pass(60_000))).toMatchObject([{ status: 'restored', signalToStation: false }]);
    site.open('2', false);
    expect(site.kinds(trips(site, '3'))).toEqual(['system:cross_zone_first:active']);
  });

  it.each([
    ['2', '3'],
    ['3', '2'],
  ])('zones %s then %s within the window are one signalled alarm with both as evidence', (a, b) => {
    const site = armed(plan);
    site.open(a);
    site.pass(59_000);
    site.open(b);
    expect(site.word()).toBe('triggered');
    const [over, ...alarms] = site.events();
    expect(over).toMatchObject({ kind: 'cross_zone_first', status: 'restored', zone: a, signalToStation: false });
    expect(alarms).toMatchObject([{ class: 'alarm', zone: b, signalToStation: true }]);
    expect(alarms[0]?.evidence).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'zone', zone: b }),
        expect.objectContaining({ type: 'cross_zone', zone: a, seconds_ago: 59 }),
      ]),
    );
    expect(site.kinds(site.pass(hours))).toEqual([]);
  });

  it('a zone that trips alone during an entry delay does not cut it short, and is in the alarm that follows', () => {
    const site = armed(plan);
    site.open('1');
    site.open('2');
    expect(site.word()).toBe('pending');
    const alarms = site.events(site.pass(30_000)).filter(({ signalToStation }) => signalToStation);
    expect(alarms.map(({ zone }) => zone)).toEqual(['1', '2']);
  });

  it('the first zone is remembered over a restart', () => {
    const site = armed(plan);
    site.open('2');
    site.pass(20_000);
    restart(site, { downMs: 20_000 });
    expect(site.events(site.open('3'))).toMatchObject([
      { kind: 'cross_zone_first', status: 'restored', zone: '2' },
      { class: 'alarm', zone: '3', signalToStation: true },
    ]);
  });

  it.each<[string, (site: World) => void]>([
    [
      'left out',
      (site) => {
        site.disarm();
        site.arm({ bypass: ['3'], skipExitDelay: true });
      },
    ],
    [
      'not watched in the mode',
      (site) => {
        site.disarm();
        site.arm({ mode: 'home', skipExitDelay: true });
      },
    ],
    ['tampered', (site) => site.open('3', false, { tamper: true })],
    ['away', (site) => site.open('3', false, { online: false })],
  ])('a partner that is %s confirms nothing, so nothing waits for it', (_, prepare) => {
    const site = armed(plan);
    prepare(site);
    if (site.word() === 'triggered') throw new Error('the story is wrong');
    expect(site.events(site.open('2')).filter((event) => event.kind === 'burglary_perimeter')).toMatchObject([
      { signalToStation: true },
    ]);
  });

  it('a disarm ends the waiting, and says so', () => {
    const site = armed(plan);
    site.open('2');
    site.disarm();
    expect(site.events().filter(({ kind }) => kind === 'cross_zone_first')).toMatchObject([
      { status: 'restored', zone: '2', signalToStation: false },
    ]);
    expect(site.kinds(site.pass(hours))).toEqual([]);
  });
});

describe('sequential confirmation', () => {
  const plan = withRules({ confirmationMs: 30 * 60_000 });
  const confirmed = (events: readonly { evidence?: readonly object[] }[]) =>
    events.flatMap(({ evidence }) => evidence ?? []).filter((entry) => 'type' in entry && entry.type === 'confirmed');

  it('the first alarm goes at once unconfirmed, the second detector confirms', () => {
    const site = armed(plan);
    expect(confirmed(site.events(site.open('2')))).toEqual([]);
    expect(site.events()).toMatchObject([{ signalToStation: true }]);
    site.pass(29 * 60_000);
    expect(confirmed(site.events(site.open('3')))).toEqual([
      { type: 'confirmed', method: 'sequential', first_zone: '2', second_zone: '3', seconds: 1740 },
    ]);
    expect(site.kinds(site.pass(hours))).toEqual([]);
  });

  it('the same detector again, tamper, and a detector outside the building do not confirm', () => {
    const zones = [...house().zones, zone('30', 'perimeter', { confirms: false })];
    const site = armed(withRules({ confirmationMs: 30 * 60_000 }, { zones }));
    site.open('30');
    site.open('2');
    trips(site, '2');
    site.open('3', false, { tamper: true });
    site.open('30', false);
    site.open('30');
    expect(confirmed(site.events(site.log))).toEqual([]);
    expect(confirmed(site.events(site.open('4')))).toHaveLength(1);
  });

  it('after an entry began only a detector off the way in confirms', () => {
    const site = armed(plan);
    site.open('1');
    site.open('3');
    expect(confirmed(site.events(site.pass(30_000)))).toEqual([]);
    expect(confirmed(site.events(site.open('2')))).toMatchObject([{ first_zone: '1', second_zone: '2' }]);
  });

  it('a window that breaks during the entry delay is confirmed by the door before it', () => {
    const site = armed(plan);
    site.open('1');
    site.open('2');
    expect(confirmed(site.events())).toMatchObject([{ first_zone: '1', second_zone: '2' }]);
  });

  it('at the end of the window the first alarm is restored and that is reported; the next alarm is a first one', () => {
    const site = armed(plan);
    site.open('2');
    expect(site.events(site.pass(30 * 60_000))).toMatchObject([
      { class: 'alarm', status: 'restored', zone: '2', detail: 'not_confirmed', lane: 'alarm' },
    ]);
    expect(confirmed(site.events(site.open('3')))).toEqual([]);
  });

  it('an alarm that was over before the window ended is not restored a second time', () => {
    const site = armed(plan);
    site.open('2');
    expect(site.kinds(site.open('2', false))).toEqual(['alarm:burglary_perimeter:restored']);
    expect(site.events(site.pass(30 * 60_000))).toMatchObject([
      { class: 'system', kind: 'alarm_not_confirmed', zone: '2', toCloud: false, signalToStation: false },
    ]);
  });

  it('the restore at the end of the window keeps quiet about a zone that ran away, as any restore does (safety 8)', () => {
    const site = armed(plan);
    site.open('2');
    for (let count = 0; count < 6; count += 1) trips(site, '2');
    expect(site.events(site.pass(30 * 60_000))).toMatchObject([
      { status: 'restored', zone: '2', detail: 'not_confirmed', lane: 'activity' },
    ]);
  });

  it.each([true, false])('the first detector is remembered over a restart, same boot %s', (sameBoot) => {
    const site = armed(plan);
    site.open('2');
    restart(site, { downMs: 60_000, sameBoot: true });
    if (!sameBoot) restart(site, { downMs: 60_000, sameBoot: false, clock: 'doubtful' });
    site.pass(70_000);
    expect(confirmed(site.events(site.open('3')))).toHaveLength(1);
  });
});
