import { describe, expect, it } from 'vitest';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { panelHouse, type World, world } from './world.ts';

/** A panel that reports to a receiver says the zone and its partition in alarm together (docs/panels.md, SIA DC-09). */
const source = { kind: 'panel', id: 'main' } as const;
const isIn = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });
const alarm = (is: boolean): Signal => ({ kind: 'zone', source, zone: '2', alarm: is, replay: false });
const link = (up: boolean): Signal => ({ kind: 'link', source, layer: 'device', up });

const tell = (site: World, ...signals: Signal[]) =>
  signals
    .flatMap((signal) => site.events(site.signal(signal)))
    .filter((event) => event.class === 'alarm')
    .map(({ kind, status, zone }) => `${kind} ${status} ${zone}`);

const burglary = [alarm(true), isIn('triggered')];

describe('a zone and its partition that are reported in alarm together', () => {
  it.each<[string, Signal[]]>([
    ['armed', [link(true), isIn('armed_away')]],
    ['disarmed', [link(true), isIn('disarmed')]],
    ['not known yet', [link(true)]],
    ['known from before a lost link', [link(true), isIn('armed_away'), link(false), link(true)]],
  ])('are one alarm while the partition is %s', (_, before) => {
    const site = world(panelHouse());
    tell(site, ...before);
    expect(tell(site, ...burglary)).toEqual(['burglary_perimeter active 2']);
    expect(site.word()).toBe('triggered');
    expect(tell(site, ...burglary)).toEqual([]);
  });

  it('are cancelled by the opening, and a new alarm after the next closing', () => {
    const site = world(panelHouse());
    tell(site, link(true), isIn('armed_away'), ...burglary);
    expect(tell(site, isIn('disarmed'), alarm(false))).toContain('burglary_perimeter cancelled 2');
    expect(tell(site, isIn('armed_away'), ...burglary)).toEqual(['burglary_perimeter active 2']);
  });

  it('are a new alarm when the zone was calm in between, without a word of the partition', () => {
    const site = world(panelHouse());
    tell(site, link(true), isIn('armed_away'), ...burglary);
    expect(tell(site, alarm(false), ...burglary)).toContain('burglary_perimeter active 2');
  });
});
