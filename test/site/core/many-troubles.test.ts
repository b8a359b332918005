import { expect, it } from 'vitest';
import { siteView, writeState } from '#site/core/index.ts';
import type { Signal } from '#site/model/index.ts';
import { panelHouse, stamp, type World, world } from './world.ts';

const source = { kind: 'panel', id: 'main' } as const;
const minute = 60_000;

type Told = Partial<Extract<Signal, { kind: 'trouble' }>>;
/** What a panel that reports as to a station tells by a code and a number of its own. */
const trouble = (code: string, number: string | undefined, more: Told = {}): Signal => ({
  ...{ kind: 'trouble', source, trouble: 'system', active: true, apart: true, replay: false },
  code: { code, ...(number === undefined ? {} : { number }) },
  ...more,
});
const over = { active: false, ends: 'YX' };

const eventsOf = (site: World) => site.events(site.log).filter((event) => event.class === 'trouble');
const shown = ({ plan, state, ms }: World) => siteView(plan, state, stamp(ms), { epoch: 1, seq: 0 }).troubles;
const watches = ({ state }: World) => Object.keys(state.watches ?? {});

const pulse = { pulse: true } as const;
const told: readonly [string, (number: string) => readonly Signal[]][] = [
  ['without an end', (number) => [trouble('JA', number, pulse)]],
  ['without an end, three times each', (number) => [1, 2, 3].map(() => trouble('JA', number, pulse))],
  ['with their end', (number) => [trouble('YX', number), trouble('YZ', number, over)]],
  ['and never ended', (number) => [trouble('YX', number)]],
];

it.each(told)('numbers a panel makes up fill no memory, and are one unstable trouble: %s', (_, signals) => {
  const site = world(panelHouse());
  for (let number = 1; number <= 2_000; number++) for (const signal of signals(String(number))) site.signal(signal);
  expect(watches(site).length).toBeLessThan(200);
  expect(shown(site).length).toBeLessThanOrEqual(65);
  expect(shown(site)).toContainEqual(expect.objectContaining({ kind: 'system', losses: expect.any(Number) }));
  expect(eventsOf(site).length).toBeLessThan(100);
  expect(writeState(site.state).length).toBeLessThan(60_000);
});

it('numbers told all day fill no memory', () => {
  const site = world(panelHouse());
  for (let number = 1; number <= 400; number++) {
    site.signal(trouble('XT', String(number), { trouble: 'sensor_battery' }));
    site.signal(trouble('XR', String(number), { trouble: 'sensor_battery', active: false, ends: 'XT' }));
    site.pass(3 * minute);
  }
  expect(watches(site).length).toBeLessThan(200);
});

it('those told one by one before a storm go on so, each with its own end', () => {
  const site = world(panelHouse());
  const numbers = Array.from({ length: 32 }, (_, index) => String(index + 1));
  for (const number of numbers) site.signal(trouble('YX', number));
  expect(eventsOf(site)).toHaveLength(32);
  for (const number of ['33', '34']) site.signal(trouble('YX', number));
  expect(eventsOf(site)).toHaveLength(33);
  expect(eventsOf(site).at(-1)?.detail).toContain('more than 32 of this kind');
  site.signal(trouble('YZ', '5', over));
  expect(eventsOf(site).at(-1)).toMatchObject({ status: 'restored', reported: { code: 'YZ', number: '5' } });
  expect(shown(site)).toHaveLength(32);
});

it('a storm is over after a quiet time, and the next trouble is told by itself again', () => {
  const site = world(panelHouse());
  for (let number = 1; number <= 100; number++) site.signal(trouble('JA', String(number), pulse));
  expect(shown(site)).toHaveLength(1);
  site.pass(10 * minute);
  expect(shown(site)).toEqual([]);
  expect(eventsOf(site).at(-1)).toMatchObject({ status: 'restored', evidence: [{ unstable: false }] });
  site.signal(trouble('YX', '7'));
  expect(eventsOf(site).at(-1)).toMatchObject({ status: 'active', reported: { code: 'YX', number: '7' } });
});

it('one kind in storm leaves the other kinds as they are', () => {
  const site = world(panelHouse());
  for (let number = 1; number <= 100; number++) site.signal(trouble('JA', String(number), pulse));
  site.signal(trouble('ET', '9', { trouble: 'comm_fail' }));
  expect(eventsOf(site).at(-1)).toMatchObject({ kind: 'comm_fail', status: 'active', reported: { number: '9' } });
});

it('a fault of a zone ends with a report that names no number, that of a detector does not', () => {
  const site = world(panelHouse());
  site.signal(trouble('380', '2', { zone: '2' }));
  site.signal({ kind: 'zone', source, zone: '2', online: false, replay: false, code: { code: '381', number: '2' } });
  expect(shown(site)).toHaveLength(2);
  site.signal(trouble('381', undefined, { trouble: 'supervision', active: false, ends: '381' }));
  expect(shown(site)).toHaveLength(2);
  site.signal(trouble('380', undefined, { active: false, ends: '380' }));
  expect(shown(site)).toMatchObject([{ kind: 'supervision', zone: '2' }]);
  expect(eventsOf(site).at(-1)).toMatchObject({ kind: 'system', zone: '2', status: 'restored' });
});

it('a fault that began before its zone was configured ends with that of the zone', () => {
  const site = world(panelHouse());
  site.signal(trouble('380', '2'));
  site.signal(trouble('380', '2', { zone: '2', active: false, ends: '380' }));
  expect(shown(site)).toEqual([]);
});
