import { describe, expect, it } from 'vitest';
import { adoptPlan } from '#site/core/index.ts';
import type { SitePlan } from '#site/model/index.ts';
import { camera, house, link, panelHouse, stamp, type World, world, zone } from './world.ts';

const reload = (site: World, plan: SitePlan) => {
  site.state = adoptPlan(plan, site.state, stamp(site.ms));
};
const leave = (site: World, number: string, more = {}) =>
  site.command({ verb: 'bypass', partition: 'all', zone: number, ...more });

describe('a bypass over a reload', () => {
  it.each([
    ['for some minutes', { minutes: 1 }],
    ['until it is ended', { until: 'cleared' as const }],
    ['until the disarm', {}],
  ])('%s: a zone that went and came back is watched', (_, how) => {
    const plan = house();
    const site = world(plan);
    leave(site, '2', how);
    reload(site, { ...plan, zones: plan.zones.filter(({ number }) => number !== '2') });
    reload(site, plan);
    expect(site.state.periods.p1).toMatchObject({ bypassed: [] });
    site.open('2', false);
    site.pass(62_000);
    site.arm({ skipExitDelay: true });
    site.open('2');
    expect(site.word()).toBe('triggered');
  });

  it('a zone that leaves the partition is left out of it no longer, and shows so', () => {
    const plan = house();
    const site = world(plan);
    leave(site, '2', { until: 'cleared' });
    const moved = plan.zones.map((entry) => (entry.number === '2' ? { ...entry, partitions: [] } : entry));
    reload(site, { ...plan, zones: moved });
    expect([site.state.periods.p1?.bypassed, site.state.zones['2']?.bypassed]).toEqual([[], false]);
  });

  it('what stays in the plan stays left out, exactly as long', () => {
    const site = world();
    leave(site, '2', { minutes: 1 });
    reload(site, site.plan);
    site.pass(59_999);
    expect(site.state.zones['2']?.bypassed).toBe(true);
    site.pass(1);
    expect(site.state.zones['2']?.bypassed).toBe(false);
  });

  it('ends in a partition that a panel decides, too', () => {
    const plan = panelHouse({ cameras: [camera('hall')] });
    const zones = [zone('21', 'interior_follower', { source: { kind: 'camera', id: 'hall' } })];
    const site = world({ ...plan, zones });
    site.signal(link(true));
    expect(leave(site, '21', { minutes: 1 }).outcome).toBe('done');
    reload(site, site.plan);
    site.pass(60_000);
    expect(site.state.periods.p1?.bypassed).toEqual([]);
  });

  it('one that was kept without its timer by an older version ends', () => {
    const site = world();
    leave(site, '2', { minutes: 1 });
    site.state = { ...site.state, timers: {} };
    reload(site, site.plan);
    expect([site.state.periods.p1?.bypassed, site.state.zones['2']?.bypassed]).toEqual([[], false]);
  });
});
