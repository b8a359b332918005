import { describe, expect, it } from 'vitest';
import {
  assignZones,
  numbersOf,
  stageZones,
  withoutZones,
  type Zones,
  type ZoneWish,
} from '#cloud/sync/devices/zones.ts';
import { plainZone } from '#site/model/index.ts';

const none: Zones = { further: [] };
const now = (main: string, ...further: string[]): Zones => ({ main, further });
const wish = (id: string, more: Partial<ZoneWish> = {}): ZoneWish => ({ id, now: none, ...more });

/** As `main` or `main+further,further`, by device. */
function given(wishes: readonly ZoneWish[], foreign: readonly string[] = []): Record<string, string> {
  const { zones } = assignZones(wishes, foreign);
  return Object.fromEntries(
    [...zones].map(([id, { main, further }]) => [
      id,
      [main ?? '', ...(further.length > 0 ? [further.join(',')] : [])].join('+'),
    ]),
  );
}

describe('zone numbers', () => {
  it('are split at commas, without blanks and empty ones, and count as numbers', () => {
    expect(numbersOf(' 1, 2,,07 ,')).toEqual(['1', '2', '07']);
    expect(numbersOf(undefined)).toEqual([]);
    expect(['07', '7', '000', 'A7', '0A'].map(plainZone)).toEqual(['7', '7', '0', 'A7', '0A']);
  });

  it.each<[list: string, hidden: readonly string[], shown: string]>([
    ['07', ['7'], ''],
    ['7', ['007'], ''],
    ['1, 07,3', ['7'], '1,3'],
    ['1,7,07,70,17', ['7'], '1,70,17'],
    ['0A,A', ['A'], '0A'],
    ['000,1', ['0'], '1'],
    // Nothing is taken out: the text is as the cloud has it.
    [' 1 ,2,', ['7'], ' 1 ,2,'],
    ['', ['7'], ''],
    ['1,2', [], '1,2'],
  ])('of the list "%s" are shown without %j, in whatever spelling: "%s"', (list, hidden, shown) => {
    expect(withoutZones(list, hidden)).toBe(shown);
  });

  it.each<[string, readonly ZoneWish[], readonly string[], Record<string, string>]>([
    ['are given as wanted', [wish('a', { zone: '21' })], ['20'], { a: '21' }],
    ['are the lowest that is free where any will do', [wish('a'), wish('b')], ['1', '3'], { a: '2', b: '4' }],
    ['give way to another device with the next one', [wish('a', { zone: '21' })], ['21', '22'], { a: '23' }],
    ['clash with the same number in other words', [wish('a', { zone: '7' })], ['07'], { a: '8' }],
    ['clash with an additional number', [wish('a', { zone: '5', further: [] })], ['1', '5'], { a: '6' }],
    ['of one site: the first has it', [wish('a', { zone: '5' }), wish('b', { zone: '05' })], [], { a: '5', b: '6' }],
    [
      'of one site: who has it keeps it, whatever the order',
      [wish('a', { zone: '5' }), wish('b', { zone: '5', now: now('5') })],
      [],
      { a: '6', b: '5' },
    ],
    ['stay once given', [wish('a', { zone: '21', now: now('30') })], ['21'], { a: '30' }],
    ['stay where any will do', [wish('a', { now: now('9') })], ['1'], { a: '9' }],
    ['are the wanted one as soon as it is free', [wish('a', { zone: '21', now: now('22') })], [], { a: '21' }],
    ['do not stay where somebody else has them', [wish('a', { now: now('9') })], ['9'], { a: '1' }],
    [
      'of a bridge: each panel zone, and a main one that is none of them',
      [wish('sw', { further: ['1', '2', '3'] })],
      [],
      { sw: '4+1,2,3' },
    ],
    [
      'of a bridge: a panel zone that is taken is replaced',
      [wish('sw', { zone: '50', further: ['1', '2', '3'] })],
      ['2'],
      { sw: '50+1,4,3' },
    ],
    [
      'of a bridge: the replacement stays',
      [wish('sw', { zone: '50', further: ['1', '2', '3'], now: now('50', '3', '1', '12') })],
      ['2'],
      { sw: '50+1,12,3' },
    ],
    [
      'of a bridge: a zone twice counts once',
      [wish('sw', { zone: '9', further: ['1', '01', '9'] })],
      [],
      { sw: '9+1' },
    ],
    [
      'of a bridge: a panel zone that is gone is dropped',
      [wish('sw', { zone: '9', further: ['1'], now: now('9', '1', '2') })],
      [],
      { sw: '9+1' },
    ],
    [
      'of a camera: what somebody added in the cloud stays',
      [wish('a', { zone: '5', now: now('5', '6') }), wish('b')],
      [],
      { a: '5+6', b: '1' },
    ],
    ['of a camera: unless another device has it', [wish('a', { zone: '5', now: now('5', '6') })], ['6'], { a: '5' }],
    ['that are words are replaced by the lowest number', [wish('a', { zone: 'gate' })], ['gate', '1'], { a: '2' }],
  ])('%s', (_, wishes, foreign, expected) => {
    const first = given(wishes, foreign);
    expect(first).toEqual(expected);
    // Once given, the same wishes give the same again.
    const again = assignZones(wishes, foreign).zones;
    expect(
      given(
        wishes.map((one) => ({ ...one, now: again.get(one.id) ?? none })),
        foreign,
      ),
    ).toEqual(expected);
  });

  it('that were replaced are told, and what is the same in other words is not', () => {
    const { changes } = assignZones(
      [wish('a', { zone: '21' }), wish('sw', { zone: '07', further: ['1', '2'] }), wish('b')],
      ['21', '2'],
    );
    expect(changes).toEqual([
      { id: 'a', wanted: '21', given: '22' },
      { id: 'sw', wanted: '2', given: '3' },
    ]);
  });
});

describe('a change of numbers, so that two devices never have one', () => {
  const at = (devices: Record<string, Zones>) => new Map(Object.entries(devices));

  it('is written at once where nobody has the number', () => {
    expect(stageZones([{ id: 'a', to: now('2') }, { to: now('3') }], at({ a: now('1') }))).toEqual([
      now('2'),
      now('3'),
    ]);
  });

  it('waits while another device has it, in other words too', () => {
    const devices = at({ a: now('1'), b: now('9', '02') });
    expect(stageZones([{ id: 'a', to: now('2') }, { to: now('9') }], devices)).toEqual([undefined, undefined]);
  });

  it('goes over a free number where two are in each other’s way, and ends', () => {
    let devices = at({ a: now('1'), b: now('2') });
    const goal = at({ a: now('2'), b: now('1') });
    const steps: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      const moves = [...goal].filter(([id, to]) => devices.get(id)?.main !== to.main).map(([id, to]) => ({ id, to }));
      const stages = stageZones(moves, devices);
      const next = new Map(devices);
      for (const [index, { id }] of moves.entries()) next.set(id, stages[index] ?? devices.get(id) ?? none);
      devices = next;
      steps.push([...devices.values()].map(({ main }) => main).join(' '));
      expect(new Set([...devices.values()].map(({ main }) => main)).size).toBe(2);
    }
    expect(steps).toEqual(['3 4', '2 1', '2 1', '2 1', '2 1']);
  });

  it('goes over no number that nobody may have', () => {
    const moves = [
      { id: 'a', to: now('2') },
      { id: 'b', to: now('1') },
    ];
    expect(stageZones(moves, at({ a: now('1'), b: now('2') }), ['03'])).toEqual([now('4'), now('5')]);
  });

  it('of a row of devices that all move up by one needs two rounds, whatever their number', () => {
    const ids = Array.from({ length: 60 }, (_, n) => n + 1);
    let devices = new Map(ids.map((n) => [`d${n}`, now(String(n))]));
    for (let round = 0; round < 2; round += 1) {
      const moves = ids
        .map((n) => ({ id: `d${n}`, to: now(String(n + 1)) }))
        .filter(({ id, to }) => devices.get(id)?.main !== to.main);
      const stages = stageZones(moves, devices);
      devices = new Map([
        ...devices,
        ...moves.flatMap(({ id }, index) => (stages[index] === undefined ? [] : [[id, stages[index]] as const])),
      ]);
      expect(new Set([...devices.values()].map(({ main }) => main)).size).toBe(60);
    }
    expect([...devices.values()].map(({ main }) => main)).toEqual(ids.map((n) => String(n + 1)));
  });

  it('takes from a bridge the additional numbers that another device needs, and gives it those that are free', () => {
    const devices = at({ sw: now('9', '1', '2'), a: now('3') });
    const moves = [
      { id: 'sw', to: now('9', '2', '3') },
      { id: 'a', to: now('1') },
    ];
    expect(stageZones(moves, devices)).toEqual([now('9', '2'), now('4')]);
  });
});
