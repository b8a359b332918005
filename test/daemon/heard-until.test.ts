import { expect, it } from 'vitest';
import type { SiteView } from '#site/model/index.ts';
import { heardUntil, panelWords } from '../../src/daemon/heard-until.ts';

const view = (partitions: readonly number[], zones: readonly number[]) =>
  ({
    partitions: partitions.map((at) => ({ at })),
    zones: zones.map((at) => ({ at })),
  }) as unknown as Pick<SiteView, 'partitions' | 'zones'>;

it('is the newest change of an earlier run: what the start itself changed does not count', () => {
  expect(heardUntil(view([5_000, 0], [7_000, 9_500]), 9_000)).toBe(7_000);
});

it('is not known of a new site, and after a start into 1970', () => {
  expect(heardUntil(view([0], [0]), 9_000)).toBeUndefined();
  expect(heardUntil(view([1_800_000_000_000], []), 40_000)).toBeUndefined();
  expect(heardUntil(undefined, 9_000)).toBeUndefined();
});

it('knows the partitions of panels as they stand, and no others', () => {
  const plan = {
    partitions: [
      { id: 'p1', authority: 'panel' },
      { id: 'p2', authority: 'engine' },
    ],
  };
  const known = { state: 'armed_away', mode: 'away' };
  const partitions = ['p1', 'p2'].map((id) => ({ id, ...known }));
  const zones = [
    { number: '1', open: true, alarm: false },
    { number: '2', open: false, alarm: true },
    { number: '3', open: false, alarm: false },
    { number: '4', open: true, alarm: true },
  ];
  const planned = zones.map(({ number }) => ({ number, partitions: [number === '4' ? 'p2' : 'p1'] }));
  const site = { plan: { ...plan, zones: planned }, partitions, zones } as unknown as SiteView;
  expect([...panelWords(site)]).toEqual([['p1', { ...known, zones: ['1', '2'] }]]);
  expect(panelWords(undefined).size).toBe(0);
});
