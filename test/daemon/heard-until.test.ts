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
  const partitions = ['p1', 'p2'].map((id) => ({ id, state: 'armed_away' }));
  const site = { plan, partitions } as unknown as Pick<SiteView, 'plan' | 'partitions'>;
  expect([...panelWords(site)]).toEqual([['p1', 'armed_away']]);
  expect(panelWords(undefined).size).toBe(0);
});
