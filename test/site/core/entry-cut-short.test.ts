import { describe, expect, it } from 'vitest';
import { armed, house, partition, type World, zone } from './world.ts';

const alarms = (site: World) =>
  site.events().flatMap(({ class: type, kind, zone: number }) => (type === 'alarm' ? [[kind, number]] : []));

describe('an entry delay that another alarm cuts short', () => {
  it.each([
    ['13', 'burglary_24h'],
    ['14', 'tamper'],
    ['11', 'panic'],
  ])('zone %s, which always watches, is told, and with it the door and what tripped on the way in', (number, kind) => {
    const plan = house();
    const site = armed({ ...plan, zones: [...plan.zones, zone('14', 'tamper_24h')] });
    site.open('1');
    site.open('3');
    site.open(number);
    expect(alarms(site)).toEqual([
      [kind, number],
      ['burglary_entry_exit', '1'],
      ['burglary_interior', '3'],
    ]);
    expect(site.events().every(({ class: type, signalToStation }) => type !== 'alarm' || signalToStation)).toBe(true);
    expect(site.word()).toBe('triggered');
    expect(site.events(site.pass(60_000))).toEqual([]);
  });

  it('a zone that was tampered with before is told too', () => {
    const site = armed();
    site.open('1', false, { tamper: true });
    site.open('1', true);
    site.open('2');
    expect(alarms(site)).toEqual([
      ['burglary_perimeter', '2'],
      ['burglary_entry_exit', '1'],
    ]);
  });

  it('safety 1: the disarm takes back the burglary and never the panic', () => {
    const site = armed();
    site.open('1');
    site.open('11');
    site.disarm();
    const cancelled = site.events().filter(({ status }) => status === 'cancelled');
    expect(cancelled.map(({ kind, zone: number }) => [kind, number])).toEqual([['burglary_entry_exit', '1']]);
  });

  it('safety 1: a panic alone is not taken back, nor when all else waited in the abort window', () => {
    const alone = armed();
    alone.open('11');
    alone.disarm();
    expect(alone.kinds()).toEqual(['arming:disarmed:active']);
    const site = armed(house({ partitions: [partition('p1', { abortDelayMs: 30_000 })] }));
    site.open('1');
    site.open('11');
    site.disarm();
    expect(site.kinds()).toEqual(['alarm:alarm_aborted:cancelled', 'arming:disarmed:active']);
  });
});
