import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { ZoneType } from '#site/model/index.ts';
import { armed, house, panelHouse, partition, says, type World, world, zone } from './world.ts';

/** A panel that tells openings and no closings: what is open is not known for ever (home-assistant/core#6999). */

const forgotten = (site: World, number: string) =>
  site.signal({
    ...{ kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: number, openForgotten: true, replay: false },
  });
const openOf = (site: World, number: string) => site.state.zones[number]?.open;

describe('an opening that nothing repeats', () => {
  it('is not known after a while, tells nothing, and opens anew with the next word', () => {
    const site = world(panelHouse());
    site.signal(says('disarmed'));
    site.open('2');
    expect(site.kinds(forgotten(site, '2'))).toEqual([]);
    expect(openOf(site, '2')).toBeNull();
    expect(readState(writeState(site.state))?.zones['2']?.open).toBeNull();
    site.open('2');
    expect(openOf(site, '2')).toBe(true);
  });

  it('is no closed door: siteward arms nothing with it', () => {
    const site = world();
    site.open('2');
    forgotten(site, '2');
    expect(openOf(site, '2')).toBeNull();
    expect(site.arm()).toMatchObject({ outcome: 'refused', error: { code: 'NOT_READY', zones: ['2'] } });
    site.open('2', false);
    expect(site.arm()).toMatchObject({ outcome: 'done' });
  });

  it('in the exit delay of siteward is still open at its end', () => {
    const site = world();
    site.arm();
    site.open('1');
    forgotten(site, '1');
    site.pass(61_000);
    expect([openOf(site, '1'), site.word()]).toEqual([true, 'pending']);
  });

  it('ends no alarm, whoever judges it', () => {
    const own = armed();
    own.open('2');
    forgotten(own, '2');
    expect([own.word(), own.state.zones['2']]).toMatchObject(['triggered', { open: true, alarm: true }]);
    const panel = world(panelHouse());
    panel.signal(says('armed_away'));
    panel.open('2', true, { alarm: true });
    panel.signal(says('triggered'));
    const before = panel.state;
    expect(panel.kinds(forgotten(panel, '2'))).toEqual([]);
    expect(panel.state.zones['2']).toEqual(before.zones['2']);
    expect(panel.state.partitions.p1).toEqual(before.partitions.p1);
  });

  it.each([
    ...['24h_burglary', 'tamper_24h', 'fire', 'co', 'gas', 'water', 'medical', 'panic_audible'],
    ...['panic_silent', 'day_trouble', 'key_switch_momentary', 'key_switch_maintained'],
  ] as ZoneType[])('is none of a zone of type %s', (type) => {
    for (const plan of [house, panelHouse]) {
      const site = world(plan({ zones: [zone('9', type)] }));
      site.signal(says('disarmed'));
      site.open('9', true, { opensOnly: true });
      const before = site.state;
      forgotten(site, '9');
      expect(site.state).toEqual(before);
    }
  });

  it('of a door that is closed, or that nobody has heard of, changes nothing', () => {
    const site = world();
    const before = site.state;
    forgotten(site, '2');
    expect(site.state).toEqual(before);
    const unheard = world(house(), { quiet: false });
    forgotten(unheard, '2');
    expect(openOf(unheard, '2')).toBeNull();
  });

  it('is kept while one of several partitions of siteward is armed', () => {
    const both = { partitions: [partition('p1'), partition('p2')] };
    const site = world(house({ ...both, zones: [zone('2', 'perimeter', { partitions: ['p1', 'p2'] })] }));
    site.arm({ partition: 'p2', skipExitDelay: true });
    site.command({ verb: 'bypass', partition: 'p2', zone: '2' });
    site.open('2');
    forgotten(site, '2');
    expect(openOf(site, '2')).toBe(true);
  });
});
