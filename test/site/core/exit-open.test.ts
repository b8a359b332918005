import { describe, expect, it } from 'vitest';
import { house, partition, type World, world } from './world.ts';

const leaving = (...numbers: string[]): World => {
  const site = world(house({ partitions: [partition('p1', { exitDelayMs: 60_000 })] }));
  site.arm();
  for (const number of numbers) site.open(number);
  return site;
};
const told = (site: World, ms: number) =>
  site.events(site.pass(ms)).flatMap(({ class: type, kind, zone }) => (type === 'arming' ? [] : [[kind, zone]]));

describe('zones that are open at the end of the exit delay', () => {
  it('all on the way in are told when the entry delay ends', () => {
    const site = leaving('3', '1');
    expect(told(site, 60_000)).toEqual([['entry_delay_started', '1']]);
    expect(told(site, 30_000)).toEqual([
      ['exit_error', '1'],
      ['burglary_interior', '3'],
    ]);
  });

  it('a window gets no entry delay: it is an alarm at once, and the door with it', () => {
    expect(told(leaving('2'), 60_000)).toEqual([['burglary_perimeter', '2']]);
    const both = leaving('1', '2');
    expect(told(both, 60_000)).toEqual([
      ['entry_delay_started', '1'],
      ['burglary_perimeter', '2'],
      ['burglary_entry_exit', '1'],
    ]);
    expect(both.word()).toBe('triggered');
  });
});
