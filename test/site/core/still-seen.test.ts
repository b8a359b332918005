import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import { link, stamp, type World, world } from './world.ts';

const hall: DeviceRef = { kind: 'camera', id: 'hall' };
const again = (site: World, active = true, detection: 'person' | 'vehicle' = 'person') =>
  site.sees('hall', detection, { active, replay: true });

/** The daemon dies and comes back: what is on disk is all that it knows. */
function restart(site: World): void {
  const read = readState(writeState(site.state));
  if (read === undefined) throw new Error('the state was not read');
  site.state = read;
  site.ms += 20_000;
  site.send({ kind: 'started', sameBoot: true, storeLost: false, at: stamp(site.ms) });
  site.signal({ ...link(true, hall), anew: true } as Signal);
}

function armed(): World {
  const site = world();
  again(site, false);
  expect(site.arm({ code: 'ok', actor: 'ann' }).outcome).toBe('done');
  site.pass(60_000);
  site.log.length = 0;
  return site;
}

const alarms = (site: World) =>
  site.events(site.log).filter((event) => event.class === 'alarm' && event.status === 'active').length;
const troubles = (site: World) =>
  site.kinds(site.log).filter((kind) => kind.includes('swinger') || kind.includes('shut'));

describe('a detection that lasts over restarts', () => {
  it('is one alarm, shuts no zone, and the next one is an alarm', () => {
    const site = armed();
    site.sees('hall', 'person');
    for (let n = 0; n < 4; n += 1) {
      restart(site);
      again(site);
      expect(site.state.zones['21']?.open).toBe(true);
    }
    expect(alarms(site)).toBe(1);
    expect(troubles(site)).toEqual([]);
    site.sees('hall', 'person', { active: false });
    site.pass(20_000);
    site.sees('hall', 'person');
    expect(alarms(site)).toBe(2);
  });

  it('also where siteward dies again before the camera has said anything', () => {
    const site = armed();
    site.sees('hall', 'person');
    restart(site);
    restart(site);
    again(site);
    expect(alarms(site)).toBe(1);
  });

  it('so over a reload', () => {
    const site = armed();
    site.sees('hall', 'person');
    for (let n = 0; n < 3; n += 1) {
      site.signal({ ...link(true, hall), anew: true } as Signal);
      again(site);
    }
    expect(alarms(site)).toBe(1);
    expect(troubles(site)).toEqual([]);
  });

  it('so over an absence of the camera', () => {
    const site = armed();
    site.sees('hall', 'person');
    site.signal(link(false, hall));
    site.signal(link(true, hall));
    again(site);
    expect(alarms(site)).toBe(1);
  });

  it.each<[string, (site: World) => void]>([
    ['that had ended before', (site) => site.sees('hall', 'person', { active: false })],
    ['after another that ended', () => undefined],
  ])('one %s is another: an alarm', (name, before) => {
    const site = armed();
    site.sees('hall', 'person');
    before(site);
    restart(site);
    if (name.startsWith('after')) again(site, false);
    site.pass(20_000);
    site.sees('hall', 'person');
    expect(alarms(site)).toBe(2);
  });

  it('one that began meanwhile is an alarm, told late; so is another class', () => {
    for (const detection of ['person', 'vehicle'] as const) {
      const site = armed();
      if (detection === 'vehicle') site.sees('hall', 'person');
      else {
        site.sees('hall', 'person');
        site.sees('hall', 'person', { active: false });
      }
      restart(site);
      again(site, true, detection);
      expect(alarms(site)).toBe(2);
      expect(
        site
          .events(site.log)
          .filter((event) => event.class === 'alarm')
          .at(-1),
      ).toMatchObject({ late: true });
    }
  });

  it('one of before the arming that nobody was told of is an alarm', () => {
    const site = world();
    site.sees('hall', 'person');
    restart(site);
    expect(site.arm({ code: 'ok', actor: 'ann' }).outcome).toBe('done');
    site.pass(60_000);
    site.log.length = 0;
    again(site);
    expect(alarms(site)).toBe(1);
  });
});
