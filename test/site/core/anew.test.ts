import { describe, expect, it } from 'vitest';
import { adoptPlan } from '#site/core/index.ts';
import type { DeviceRef, Signal, SitePlan } from '#site/model/index.ts';
import { camera, house, link, stamp, type World, world, zone } from './world.ts';

const hall: DeviceRef = { kind: 'camera', id: 'hall' };
const recorder: DeviceRef = { kind: 'nvr', id: 'rec' };
/** A session's first word. */
const anew = (site: World, source: DeviceRef = hall) => site.signal({ ...link(true, source), anew: true } as Signal);
const again = (site: World, active: boolean) => site.sees('hall', 'person', { active, replay: true });

function armed(): World {
  const site = world();
  again(site, false);
  expect(site.arm({ code: 'ok', actor: 'ann' }).outcome).toBe('done');
  site.pass(60_000);
  return site;
}

describe('a session that begins anew while the link was up, as after a reload', () => {
  it('somebody who came between the two sessions is an alarm', () => {
    const site = armed();
    anew(site);
    expect(site.kinds(again(site, true))).toContain('alarm:burglary_interior:active');
    expect(site.events()[0]).toMatchObject({ zone: '21', late: true });
  });

  it('somebody is an alarm, too, when the camera first says that nothing moves', () => {
    const site = armed();
    anew(site);
    site.sees('hall', 'motion', { active: false, replay: true });
    expect(site.kinds(again(site, true))).toContain('alarm:burglary_interior:active');
  });

  it('within one session a present state is no edge, and a link that is told again changes nothing', () => {
    const site = armed();
    const before = site.state;
    site.signal(link(true, hall));
    expect(site.state).toEqual(before);
    expect(site.kinds(again(site, true))).toEqual([]);
  });

  it('what the former session saw does not stay for a camera that tells no present states', () => {
    const site = world();
    site.sees('hall', 'person');
    expect(site.arm().error).toMatchObject({ code: 'NOT_READY', zones: ['21'] });
    anew(site);
    expect(site.state.zones['21']).toMatchObject({ open: null, online: true });
    expect(site.arm().outcome).toBe('done');
  });

  it('a camera that is covered still is', () => {
    const site = world();
    site.sees('hall', 'tamper');
    expect(site.kinds(anew(site))).toEqual([]);
    expect(site.arm().error).toMatchObject({ zones: ['21'] });
  });
});

/** The site with another plan, as after a reload that began no session anew. */
function reload(site: World, plan: SitePlan): World {
  const next = world(plan, { quiet: false });
  next.ms = site.ms;
  next.state = adoptPlan(plan, site.state, stamp(site.ms));
  next.send({ kind: 'replanned' });
  return next;
}

const without = (plan: SitePlan): SitePlan => ({
  ...plan,
  zones: plan.zones.filter(({ source }) => source.kind === 'panel'),
});

describe('a zone that is given to a device that is linked', () => {
  it('a camera: it can be at rest', () => {
    const site = reload(world(without(house())), house());
    expect(site.state.zones['21']).toMatchObject({ online: true, open: null });
    expect(site.arm().outcome).toBe('done');
  });

  it('a channel: as its recorder is linked; one of a recorder that is away is not known', () => {
    const zones = [
      zone('1', 'entry_exit_1'),
      zone('31', 'interior_follower', { source: { kind: 'camera', id: 'gate' } }),
      zone('41', 'perimeter', { source: recorder, input: 'In_1' }),
    ];
    const plan = house({ zones, cameras: [camera('gate', { nvr: 'rec', zone: '31' })], nvrs: ['rec'] });
    const site = world(without(plan));
    const online = () => ['31', '41'].map((number) => reload(site, plan).state.zones[number]?.online);
    site.signal(link(true, recorder));
    expect(online()).toEqual([true, true]);
    site.signal(link(false, recorder));
    expect(online()).toEqual([false, false]);
  });

  it('not one that comes back under the id of one that was linked', () => {
    const gone = without(house({ cameras: [camera('yard')], nvrs: [], panels: ['main'] }));
    const site = world();
    site.signal(link(true, recorder));
    const empty = reload(site, gone);
    expect(Object.keys(empty.state.links)).toEqual(['panel:main', 'camera:yard']);
    const back = reload(empty, house());
    expect(back.state.zones['21']?.online).toBe(false);
    expect(back.arm().error).toMatchObject({ zones: ['21'] });
  });
});
