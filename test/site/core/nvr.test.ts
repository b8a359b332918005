import { describe, expect, it } from 'vitest';
import { siteView } from '#site/core/index.ts';
import type { DeviceRef, SitePlan } from '#site/model/index.ts';
import { camera, house, link, stamp, type World, world, zone } from './world.ts';

const recorder: DeviceRef = { kind: 'nvr', id: 'rec' };
const channel = (id: string): DeviceRef => ({ kind: 'camera', id });

/** A recorder with two channels that are zones, a third that is none, and a contact and a silent button wired to it. */
const recorded = (more: Partial<SitePlan> = {}): SitePlan =>
  house({
    zones: [
      zone('1', 'entry_exit_1'),
      zone('31', 'interior_follower', { source: channel('hall'), cameras: ['hall'] }),
      zone('32', 'video_person_perimeter', { source: channel('gate'), cameras: ['gate'] }),
      zone('41', 'perimeter', { source: recorder, input: 'In_1' }),
      zone('42', 'panic_silent', { source: recorder, input: 'In_2' }),
      zone('43', 'perimeter', { source: channel('shed'), input: '1' }),
    ],
    cameras: [
      camera('hall', { nvr: 'rec', zone: '31' }),
      camera('gate', { nvr: 'rec', zone: '32' }),
      camera('spare', { nvr: 'rec' }),
      camera('shed'),
    ],
    nvrs: ['rec'],
    ...more,
  });

/** Everything is there and closed. */
function quietSite(plan = recorded()): World {
  const site = world(plan, { quiet: false });
  for (const source of [{ kind: 'panel', id: 'main' } as const, recorder, channel('shed')])
    site.signal(link(true, source));
  for (const { number, source } of plan.zones) if (source.kind === 'panel') site.open(number, false);
  contact(site, '41', false);
  contact(site, '43', false);
  site.log.length = 0;
  return site;
}

const contact = (site: World, number: string, open: boolean, replay = false) =>
  site.signal({ kind: 'zone', source: recorder, zone: number, open, replay });

function armedSite(): World {
  const site = quietSite();
  expect(site.arm().outcome).toBe('done');
  site.pass(600_000);
  return site;
}

describe('the link of a recorder', () => {
  it('carries its channels: it alone is told, and their zones are not known while it is away', () => {
    const site = quietSite();
    site.sees('hall', 'motion');
    expect(site.state.zones['31']?.open).toBe(true);
    expect(site.kinds(site.signal(link(false, recorder)))).toEqual(['trouble:device_offline:active']);
    expect(site.events()[0]).toMatchObject({ source: 'nvr:rec' });
    expect(['31', '32', '41', '43'].map((number) => site.state.zones[number]?.open)).toEqual([null, null, null, false]);
    expect(['31', '32', '41', '43'].map((number) => site.state.zones[number]?.online)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(site.arm().error).toMatchObject({ code: 'NOT_READY', zones: ['31', '32', '41'] });
    expect(site.kinds(site.signal(link(true, recorder)))).toEqual(['trouble:device_offline:restored']);
    expect(site.state.zones['31']?.online).toBe(true);
  });

  it('makes its channels ready to be armed and shown as connected', () => {
    const site = quietSite();
    expect(site.arm().outcome).toBe('done');
    const view = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 });
    const up = Object.fromEntries(view.links.map(({ source, up }) => [`${source.kind}:${source.id}`, up]));
    expect(up).toMatchObject({ 'nvr:rec': true, 'camera:hall': true, 'camera:gate': true, 'camera:spare': true });
    site.signal(link(false, recorder));
    const after = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 });
    expect(after.links.find(({ source }) => source.id === 'gate')?.up).toBe(false);
  });

  it('a person in a channel opens the zone of that channel alone; one of no known channel opens none', () => {
    const site = armedSite();
    expect(site.kinds(site.sees('gate', 'person'))).toContain('alarm:burglary_perimeter:active');
    expect(site.events().find((event) => event.class === 'alarm')).toMatchObject({ zone: '32', camera: 'gate' });
    expect(site.state.zones['31']?.open).toBe(null);
    const unknown = site.signal({
      ...{ kind: 'detection', source: recorder, detection: 'person', active: true, pulse: false, replay: false },
      topic: 'x',
    });
    expect(site.kinds(unknown)).toEqual(['camera:person:active']);
    expect(site.state.zones['41']?.open).toBe(false);
  });

  it('a trouble of a recorder that is no longer configured ends', () => {
    const site = quietSite();
    site.signal(link(false, recorder));
    const { nvrs: _, ...rest } = recorded();
    const gone = world({ ...rest, nvrs: [] }, { quiet: false });
    gone.state = site.state;
    expect(gone.kinds(gone.send({ kind: 'replanned' }))).toEqual(['trouble:device_offline:restored']);
  });
});

describe('a contact wired to a recorder or camera', () => {
  it('is a zone like any other: closed before arming, an alarm when it opens', () => {
    const site = quietSite();
    contact(site, '41', true);
    expect(site.arm().error).toMatchObject({ code: 'NOT_READY', zones: ['41'] });
    contact(site, '41', false);
    expect(site.arm().outcome).toBe('done');
    site.pass(600_000);
    expect(site.kinds(contact(site, '41', true))).toContain('alarm:burglary_perimeter:active');
  });

  it('is not opened by what the camera sees, nor by what makes it unwell', () => {
    const site = armedSite();
    site.sees('shed', 'person');
    expect(site.state.zones['43']?.open).toBe(false);
  });

  it('that was never heard is in the way of arming, as any contact', () => {
    const site = world(recorded(), { quiet: false });
    for (const source of [{ kind: 'panel', id: 'main' } as const, recorder, channel('shed')])
      site.signal(link(true, source));
    site.open('1', false);
    expect(site.arm().error).toMatchObject({ code: 'NOT_READY', zones: ['41', '43'] });
  });

  it('safety 4: a silent button always looks closed, also while the recorder is away and after a restart', () => {
    const site = quietSite();
    contact(site, '42', true);
    for (const input of [link(false, recorder), link(true, recorder)]) {
      site.signal(input);
      expect(site.state.zones['42']?.open).toBe(false);
    }
    site.send({ kind: 'started', sameBoot: true, storeLost: false });
    expect(site.state.zones['42']?.open).toBe(false);
  });
});
