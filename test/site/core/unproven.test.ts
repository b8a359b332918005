import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { panelHouse, type World, world } from './world.ts';

const source = { kind: 'panel', id: 'main' } as const;
const isIn = (state: ArmingWord, replay = false): Signal => ({
  kind: 'partition',
  source,
  partition: 'p1',
  state,
  replay,
});
const alarm = (replay = false): Signal => ({ kind: 'zone', source, zone: '2', alarm: true, replay });
const link = (up: boolean): Signal => ({ kind: 'link', source, layer: 'bridge', up });

const alarms = (site: World, signal: Signal) =>
  site
    .events(site.signal(signal))
    .filter((event) => event.class === 'alarm')
    .map(({ kind, zone, evidence }) => `${kind} ${zone} ${evidence?.some(({ type }) => type === 'arming_not_known')}`);

const told = (site: World, ...signals: Signal[]): World => {
  for (const signal of signals) site.signal(signal);
  return site;
};

/** A broker that comes back with what it had on disk can retain a state that is older than an arming. */
describe('an alarm of a zone whose partition is disarmed by a retained word only', () => {
  const away = [link(true), isIn('armed_away'), link(false), link(true), isIn('disarmed', true)];

  it.each<[string, Signal[]]>([
    ['was armed', away],
    [
      'was disarmed before the link was lost',
      [link(true), isIn('disarmed'), link(false), link(true), isIn('disarmed', true)],
    ],
    ['was not known', [link(true), isIn('disarmed', true)]],
  ])('goes up, flagged, when it %s', (_, before) => {
    const site = told(world(panelHouse()), ...before);
    expect(site.word()).toBe('disarmed');
    expect(alarms(site, alarm())).toEqual(['burglary_perimeter 2 true']);
    expect(alarms(site, isIn('triggered'))).toEqual([]);
  });

  it('goes up after a restart too', () => {
    const site = told(world(panelHouse()), ...away);
    site.state = readState(writeState(site.state)) ?? site.state;
    expect(alarms(site, alarm())).toEqual(['burglary_perimeter 2 true']);
  });

  it('waits for the panel once a live word has confirmed the disarming, and a retained alarm is none', () => {
    const retained = told(world(panelHouse()), ...away);
    expect(alarms(retained, alarm(true))).toEqual([]);
    const site = told(world(panelHouse()), ...away, isIn('disarmed'));
    expect(alarms(site, alarm())).toEqual([]);
  });

  it('is not in doubt when the same state is retained by a broker that was never lost', () => {
    const site = told(world(panelHouse()), link(true), isIn('disarmed'), isIn('disarmed', true));
    expect(alarms(site, alarm())).toEqual([]);
  });
});
