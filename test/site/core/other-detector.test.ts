import { describe, expect, it } from 'vitest';
import { adoptPlan, readState, siteView, writeState } from '#site/core/index.ts';
import { type DeviceRef, openShown, type Signal, type SitePlan, type ZonePlan, zoneOnline } from '#site/model/index.ts';
import { house, link, stamp, type World, world } from './world.ts';

const main: DeviceRef = { kind: 'panel', id: 'main' };

/** Its panel is there, and all its zones are closed and quiet. */
function quietSite(): World {
  const plan = house();
  const site = world({ ...plan, zones: plan.zones.filter(({ source }) => source.kind === 'panel') }, { quiet: false });
  site.signal(link(true, main));
  for (const { number } of site.plan.zones)
    site.signal({ kind: 'zone', source: main, zone: number, replay: false, open: false, alarm: false } as Signal);
  return site;
}

const changed = (plan: SitePlan, number: string, change: Partial<ZonePlan>): SitePlan => ({
  ...plan,
  zones: plan.zones.map((zone) => (zone.number === number ? { ...zone, ...change } : zone)),
});

function adopt(site: World, plan: SitePlan): World {
  const next = world(plan, { quiet: false });
  next.ms = site.ms;
  next.state = adoptPlan(plan, site.state, stamp(site.ms));
  return next;
}

function restart(site: World): World {
  const read = readState(writeState(site.state));
  if (read === undefined) throw new Error('the state is not readable');
  site.state = read;
  const next = adopt(site, site.plan);
  next.send({ kind: 'started', sameBoot: true, storeLost: false });
  return next;
}

const shown = ({ plan, state }: World, number: string) =>
  openShown(plan.zones.find((one) => one.number === number)?.type ?? 'fire', state.zones[number]);

const burglary = (site: World) => site.plan.zones.find(({ type }) => type === 'perimeter')?.number ?? '';

describe('what was heard of one detector is nothing heard of another', () => {
  it.each<[string, Partial<ZonePlan>]>([
    ['with another name at its panel', { key: 'smoke_2' }],
    ['of another panel', { source: { kind: 'panel', id: 'other' } }],
    ['that watches for something else', { type: 'co' }],
    ['at an input', { source: { kind: 'camera', id: 'yard' }, input: '1' }],
  ])('a detector of fire: one %s, over restarts too', (_, change) => {
    const before = quietSite();
    expect(shown(before, '10')).toBe(false);
    const site = adopt(before, changed(before.plan, '10', change));
    expect(shown(site, '10')).toBeNull();
    expect(shown(restart(site), '10')).toBeNull();
  });

  it('a door that takes another contact is in the way of arming until that is heard', () => {
    const site = quietSite();
    const number = burglary(site);
    const other = adopt(site, changed(site.plan, number, { key: 'front_2' }));
    expect(site.arm().error).toBeUndefined();
    expect(other.arm().error?.zones).toContain(number);
    other.signal({ kind: 'zone', source: main, zone: number, replay: false, open: false } as Signal);
    expect(other.arm().error).toBeUndefined();
  });

  it('another name, partition or chime changes nothing of it, nor does another type of the same kind', () => {
    const before = quietSite();
    const number = burglary(before);
    const same = { name: 'Elsewhere', chime: true, type: 'entry_exit_1' as const };
    const site = adopt(before, changed(changed(before.plan, number, same), '10', { name: 'Elsewhere' }));
    expect([shown(site, number), shown(site, '10')]).toEqual([false, false]);
  });

  it('what an earlier version kept says nothing of that, and stays', () => {
    const site = quietSite();
    const { detectors: _, ...older } = site.state;
    site.state = older;
    const second = adopt(site, changed(site.plan, '10', { key: 'smoke_2' }));
    expect(shown(second, '10')).toBe(false);
    expect(shown(adopt(second, changed(site.plan, '10', { key: 'smoke_3' })), '10')).toBeNull();
  });
});

describe('a panel that was away before a start', () => {
  const online = (site: World, number: string) => {
    const view = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 0 });
    return zoneOnline(view, main, site.state.zones[number]);
  };

  it('is away until it is heard: its zones are not heard, and nothing is armed behind them', () => {
    const before = quietSite();
    before.signal(link(false, main));
    const refused = before.arm().error?.zones;
    expect(refused).toContain(burglary(before));
    const site = restart(before);
    expect(site.arm().error).toMatchObject({ code: 'NOT_READY', zones: refused });
    expect(online(site, burglary(site))).toBe(false);
    site.signal(link(true, main));
    expect(online(site, burglary(site))).toBe(true);
    expect(site.arm().error).toBeUndefined();
  });

  it('one that was there is believed until it had its time to speak', () => {
    const site = restart(quietSite());
    expect(online(site, burglary(site))).toBe(true);
    expect(site.arm().error).toBeUndefined();
  });
});
