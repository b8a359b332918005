import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { Signal } from '#site/model/index.ts';
import { house, panelHouse, says, type World, world } from './world.ts';

const inAlarm = (site: World, zone: string, alarm = true) =>
  site.signal({ kind: 'zone', source: { kind: 'panel', id: 'main' }, zone, alarm, replay: false } as Signal);

/** A panel says that its armed partition is in alarm, after these zones were opened. */
const triggered = (...opened: readonly string[]): World => {
  const site = world(panelHouse());
  site.signal(says('armed_away'));
  for (const zone of opened) site.open(zone);
  site.signal(says('triggered'));
  return site;
};
const incidents = (site: World) =>
  new Set(site.events(site.log).flatMap(({ incident }) => (incident === undefined ? [] : [incident])));

describe('an alarm that a panel has begun', () => {
  it('tells each zone that opens while it runs, once, within its incident and without another signal', () => {
    const site = triggered('2');
    const signalled = site.events(site.log).filter(({ signalToStation }) => signalToStation).length;
    expect(signalled).toBe(1);
    expect(site.events(site.open('3'))).toMatchObject([
      {
        kind: 'further_zone',
        zone: '3',
        partition: 'p1',
        lane: 'alarm',
        toCloud: true,
        signalToStation: false,
        evidence: [{ type: 'zone', zone: '3' }],
      },
    ]);
    expect(site.kinds(site.open('1'))).toEqual(['system:further_zone:active']);
    for (let count = 0; count < 20; count += 1) {
      for (const zone of ['1', '2', '3']) site.open(zone, count % 2 === 0);
    }
    expect(site.kinds(site.log).filter((kind) => kind.includes('further_zone'))).toHaveLength(2);
    expect(site.events(site.log).filter(({ signalToStation }) => signalToStation)).toHaveLength(1);
    expect(incidents(site).size).toBe(1);
    expect(site.state.partitions.p1?.memory).toEqual(['2', '3', '1']);
    expect(readState(writeState(site.state))).toEqual(site.state);
  });

  it('tells the zone of an alarm that began without one, and signals the next', () => {
    const site = triggered();
    expect(site.events(inAlarm(site, '3'))).toMatchObject([
      { kind: 'further_zone', zone: '3', signalToStation: false },
    ]);
    expect(site.events(inAlarm(site, '2'))).toMatchObject([
      { kind: 'burglary_perimeter', zone: '2', signalToStation: true },
    ]);
    expect(incidents(site).size).toBe(1);
  });

  it('tells a zone anew in the alarm after the next arming', () => {
    const site = triggered('2');
    site.open('3');
    for (const zone of ['2', '3']) site.open(zone, false);
    for (const state of ['disarmed', 'armed_away']) site.signal(says(state));
    site.open('2');
    site.signal(says('triggered'));
    expect(site.kinds(site.open('3'))).toEqual(['system:further_zone:active']);
  });

  it('says nothing of a zone its panel leaves out, of what is only retained, and of a door opened in a fire', () => {
    const site = triggered('2');
    site.open('3', false, { bypassed: true });
    expect(site.kinds(site.open('3', true, { bypassed: true }))).toEqual([]);
    expect(site.kinds(site.open('4', true, { replay: true }))).toEqual([]);
    const fire = house().zones.find(({ type }) => type === 'fire');
    const burning = world(panelHouse());
    burning.signal(says('armed_away'));
    inAlarm(burning, fire?.number ?? '');
    burning.signal(says('triggered'));
    expect(burning.kinds(burning.open('1'))).toEqual([]);
  });

  it('says nothing of zones that open before and after it', () => {
    const site = world(panelHouse());
    site.signal(says('armed_away'));
    expect(site.kinds(site.open('3'))).toEqual([]);
    site.signal(says('triggered'));
    site.signal(says('disarmed'));
    expect(site.kinds(site.open('2'))).toEqual([]);
  });
});
