import { describe, expect, it } from 'vitest';
import { readState, siteView, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal, SitePlan } from '#site/model/index.ts';
import { house, link, panelHouse, partition, stamp, type World, says as word, world } from './world.ts';

/** The power of box and bridge was cut: ends come retained only, and the first live word before the bridge's own `online`. */
const source = { kind: 'panel', id: 'main' } as const;
type Levels = { readonly open?: boolean; readonly alarm?: boolean; readonly tamper?: boolean };
const says = (zone: string, levels: Levels, replay = false): Signal => ({
  ...{ kind: 'zone', source, zone, replay, ...levels },
});
const isIn = (state: ArmingWord, replay = false) => word(state, { replay });

const told = (site: World, ...signals: readonly Signal[]) =>
  signals
    .flatMap((signal) => site.events(site.signal(signal)))
    .filter((event) => event.class === 'alarm' && event.status === 'active')
    .map(({ kind, zone }) => `${kind} ${zone ?? ''}`.trim());

/** Nothing but the disk is left; `isHeard`: false where the bridge never said how it is, not that it is away. */
function restarted(site: World, isHeard: boolean): void {
  site.state = readState(writeState(site.state)) ?? site.state;
  site.send({ kind: 'started', sameBoot: false, storeLost: false });
  if (isHeard) site.signal(link(false));
}

const engine = house({
  partitions: [partition('p1'), partition('p2', { authority: 'panel', panel: 'main' })],
});

describe.each([
  ['counts as away', true],
  ['was never heard', false],
])('the next alarm, after an end that was retained while the bridge %s', (_, isHeard) => {
  it.each<[string, string, Levels, Levels, SitePlan]>([
    ['fire', '10', { alarm: true }, { alarm: false }, panelHouse()],
    ['fire', '10', { alarm: true }, { alarm: false }, engine],
    ['fire', '10', { open: true }, { open: false }, engine],
    ['panic', '11', { alarm: true }, { open: false, alarm: false, tamper: false }, panelHouse()],
    ['panic_silent', '12', { open: true }, { open: false }, panelHouse()],
    ['panic_silent', '12', { open: true }, { open: false, alarm: false }, engine],
    ['burglary_24h', '13', { alarm: true }, { alarm: false }, panelHouse()],
  ])('is told: %s of zone %s', (kind, zone, begins, ends, plan) => {
    const site = world(plan);
    expect(told(site, says(zone, begins))).toEqual([`${kind} ${zone}`]);
    restarted(site, isHeard);
    expect(told(site, says(zone, ends, true))).toEqual([]);
    expect(told(site, says(zone, begins))).toEqual([`${kind} ${zone}`]);
    // And it is one, whatever comes then.
    expect(told(site, link(true), says(zone, begins))).toEqual([]);
  });

  it('is none where the retained word says that it goes on, by an alarm in what is closed', () => {
    const site = world(engine);
    const running = { open: false, alarm: true };
    expect(told(site, says('13', running))).toEqual(['burglary_24h 13']);
    restarted(site, isHeard);
    expect(told(site, says('13', running, true), says('13', running))).toEqual([]);
    // Its end is told as ever, and what comes after that is another one.
    expect(told(site, says('13', { open: false, alarm: false }), says('13', running))).toEqual(['burglary_24h 13']);
  });

  it('is told: a sabotage', () => {
    const site = world(panelHouse());
    const troubles = () => site.log.filter((one) => one.kind === 'event' && one.event.kind === 'tamper').length;
    site.signal(isIn('armed_away'));
    expect(told(site, says('2', { tamper: true }))).toEqual(['tamper 2']);
    restarted(site, isHeard);
    site.signal(says('2', { tamper: false }, true));
    expect(told(site, says('2', { tamper: true }))).toEqual(['tamper 2']);
    expect(troubles()).toBeGreaterThan(1);
  });

  it('is told: a burglary without a word of its zone', () => {
    const site = world(panelHouse());
    expect(told(site, isIn('armed_away'), isIn('triggered'))).toEqual(['burglary']);
    restarted(site, isHeard);
    expect(told(site, isIn('disarmed', true), isIn('armed_away', true))).toEqual([]);
    expect(told(site, isIn('triggered'))).toEqual(['burglary']);
    expect(told(site, link(true), isIn('triggered'))).toEqual([]);
  });

  it.each([
    ['2', 'burglary_perimeter'],
    ['13', 'burglary_24h'],
  ])('is told: the zone of a burglary that had none (zone %s)', (zone, kind) => {
    const site = world(panelHouse());
    told(site, isIn('armed_away'), isIn('triggered'));
    restarted(site, isHeard);
    told(site, isIn('armed_away', true));
    expect(told(site, says(zone, { alarm: true }))).toEqual([`${kind} ${zone}`]);
    // What always watches is no word of the partition: rather twice than never.
    if (zone === '2') expect(told(site, isIn('triggered'))).toEqual([]);
  });

  it('is the same alarm where no end was told', () => {
    const site = world(panelHouse());
    told(site, says('10', { alarm: true }));
    restarted(site, isHeard);
    expect(told(site, says('10', { alarm: true }, true), says('10', { alarm: true }))).toEqual([]);
    expect(told(site, says('2', { open: false }, true), says('10', { alarm: true }))).toEqual([]);
  });
});

it('of a silent button nothing else shows what was held of its lid (safety 4)', () => {
  const site = world(panelHouse());
  const view = () => JSON.stringify(siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 }));
  site.signal(says('12', { alarm: true, tamper: true }));
  restarted(site, true);
  site.signal(says('12', { alarm: false, tamper: false }, true));
  const before = [view(), site.state.zoneDoubts];
  expect(told(site, says('12', { alarm: true }))).toEqual(['panic_silent 12']);
  expect([view(), site.state.zoneDoubts?.['12']?.tamper]).toEqual([before[0], undefined]);
});
