import { describe, expect, it } from 'vitest';
import { siteView } from '#site/core/index.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { panelHouse, stamp, type World, world } from './world.ts';

/** Zone 10 is a fire zone, 2 a window, 12 a silent button; 44 is not configured. */
const source = { kind: 'panel', id: 'main' } as const;
const link: Signal = { kind: 'link', source, layer: 'device', up: true };
const isIn = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });
const zone = (number: string, alarm = true): Signal => ({ kind: 'zone', source, zone: number, alarm, replay: false });
const closing = [link, isIn('armed_away')];
const window = [zone('2'), isIn('triggered')];
const unknown: Signal[] = [
  { kind: 'partition', source, partition: 'p1', state: 'triggered', told: 'burglary', replay: false },
  { kind: 'alarm', source, partition: 'p1', alarm: 'burglary' },
];

function running(site: World, ...signals: readonly Signal[]): string[] {
  for (const signal of signals) {
    site.pass(1000);
    site.signal(signal);
  }
  const { alarms = {} } = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 });
  return (alarms.p1 ?? []).map((one) => `${one.kind} ${one.zone ?? '-'} ${((one.since ?? 0) - stamp(0).wall) / 1000}`);
}

describe('the alarms that run', () => {
  it.each<[string, Signal[], string[]]>([
    ['none', closing, []],
    ['a burglary', [...closing, ...window], ['burglary_perimeter 2 4']],
    ['a second zone', [...closing, ...window, zone('3')], ['burglary_perimeter 2 4', 'burglary_interior 3 5']],
    ['a fire during a burglary', [...closing, ...window, zone('10')], ['fire 10 5', 'burglary_perimeter 2 4']],
    ['a burglary during a fire', [...closing, zone('10'), ...window], ['fire 10 3', 'burglary_perimeter 2 5']],
    ['one of an unknown zone', [link, isIn('disarmed'), zone('10'), ...unknown], ['fire 10 3', 'burglary - 4']],
    ['a fire after the opening', [...closing, ...window, zone('10'), isIn('disarmed')], ['fire 10 5']],
    ['one whose window is closed', [...closing, ...window, zone('2', false)], ['burglary_perimeter 2 4']],
    ['an entry', [...closing, isIn('pending')], []],
    ['a silent button', [...closing, zone('12')], []],
    ['one of a partition that is disarmed', [link, isIn('disarmed'), zone('2')], []],
  ])('%s', (_, story, told) => {
    expect(running(world(panelHouse()), ...story)).toEqual(told);
  });
});
