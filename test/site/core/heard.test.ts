import { describe, expect, it } from 'vitest';
import { adoptPlan, readState, writeState } from '#site/core/index.ts';
import { type DeviceRef, openShown, type Signal, type SitePlan } from '#site/model/index.ts';
import { house, link, panelHouse, stamp, type World, world, zone } from './world.ts';

const main: DeviceRef = { kind: 'panel', id: 'main' };

/** Its link is up, and nothing was heard of a zone. */
function fresh(plan: SitePlan = house()): World {
  const site = world(plan, { quiet: false });
  site.signal(link(true, main));
  return site;
}

const tells = (site: World, number: string, levels: Partial<Signal>, source = main) =>
  site.signal({ kind: 'zone', source, zone: number, replay: false, ...levels } as Signal);

function shown({ plan, state }: World, number: string): boolean | null {
  const type = plan.zones.find((one) => one.number === number)?.type;
  if (type === undefined) throw new Error(`no zone ${number}`);
  return openShown(type, state.zones[number]);
}

const plans = [
  ['that siteward judges', house],
  ["of a panel's partition", panelHouse],
] as const;

describe.each(plans)('a detector of fire %s', (_, plan) => {
  it('is not known until it has told whether it is in alarm, which it may do by nothing but its alarm', () => {
    const site = fresh(plan());
    expect(shown(site, '10')).toBeNull();
    tells(site, '10', { alarm: false });
    expect(shown(site, '10')).toBe(false);
    tells(site, '10', { alarm: true });
    expect(shown(site, '10')).toBe(true);
    tells(site, '10', { alarm: false });
    expect(shown(site, '10')).toBe(false);
  });

  it('is not known by its battery, its lid or that it is there', () => {
    const site = fresh(plan());
    tells(site, '10', { lowBattery: false, tamper: false, online: true, bypassed: false });
    expect(shown(site, '10')).toBeNull();
  });

  it('that is in alarm at its first word has tripped, and an alarm goes up', () => {
    const site = fresh(plan());
    expect(site.kinds(tells(site, '10', { alarm: true }))).toContain('alarm:fire:active');
    expect(shown(site, '10')).toBe(true);
  });

  it('is as it was after a restart, with and without a word before', () => {
    const site = fresh(plan());
    tells(site, '10', { alarm: false });
    const read = readState(writeState(site.state));
    if (read === undefined) throw new Error('the state is not readable');
    site.state = adoptPlan(site.plan, read, stamp(0));
    site.send({ kind: 'started', sameBoot: false, storeLost: false });
    expect([shown(site, '10'), shown(site, '11')]).toEqual([false, null]);
  });

  it("that is not heard is in nobody's way, and arms as one that was", () => {
    const heard = fresh(plan());
    const unheard = fresh(plan());
    tells(heard, '10', { alarm: false });
    expect(heard.arm().error?.zones).toEqual(unheard.arm().error?.zones);
    expect(unheard.arm().error?.zones ?? []).not.toContain('10');
  });
});

it('what was retained of a detector counts once its panel is there', () => {
  const site = world(house(), { quiet: false });
  tells(site, '10', { alarm: false, replay: true });
  expect(shown(site, '10')).toBeNull();
  site.signal(link(true, main));
  expect(shown(site, '10')).toBe(false);
});

it('a burglary zone is not closed by the word that it is in no alarm, and arming still waits for it', () => {
  const site = fresh();
  tells(site, '2', { alarm: false });
  expect(shown(site, '2')).toBeNull();
  expect(site.arm().error?.zones).toContain('2');
});

it('a detector wired to a camera is not known any more when that goes, comes or siteward starts', () => {
  const source: DeviceRef = { kind: 'camera', id: 'yard' };
  const wired = zone('10', 'fire', { source, input: '1' });
  const site = fresh(house({ zones: house().zones.map((one) => (one.number === '10' ? wired : one)) }));
  const quiet = () => {
    tells(site, '10', { alarm: false }, source);
    return shown(site, '10');
  };
  site.signal(link(true, source));
  expect(quiet()).toBe(false);
  site.signal(link(false, source));
  expect(shown(site, '10')).toBeNull();
  site.signal(link(true, source));
  expect([shown(site, '10'), quiet()]).toEqual([null, false]);
  site.send({ kind: 'started', sameBoot: true, storeLost: false });
  expect(shown(site, '10')).toBeNull();
});

it('safety 4: a silent button looks the same, pressed, let go or never heard', () => {
  const site = fresh();
  const before = site.state.zones['12'];
  tells(site, '12', { alarm: false });
  tells(site, '12', { alarm: true });
  expect(site.state.zones['12']).toEqual(before);
});
