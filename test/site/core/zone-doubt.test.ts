import { describe, expect, it } from 'vitest';
import { readState, siteView, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal, SitePlan } from '#site/model/index.ts';
import { armed, house, panelHouse, stamp, type World, world } from './world.ts';

const source = { kind: 'panel', id: 'main' } as const;
type Levels = { readonly open?: boolean; readonly alarm?: boolean; readonly tamper?: boolean };
type Way = 'live' | 'retained' | 'queued';
const queue = { since: 1_700_000_000_000 };

const says = (zone: string, levels: Levels, way: Way = 'live', waited: { since?: number } = queue): Signal => ({
  ...{ kind: 'zone', source, zone, replay: way === 'retained', ...levels },
  ...(way === 'queued' && { waited }),
});
const isIn = (state: ArmingWord, way: Way = 'live'): Signal => ({
  ...{ kind: 'partition', source, partition: 'p1', state, replay: way === 'retained' },
  ...(way === 'queued' && { waited: queue }),
});
const up: Signal = { kind: 'link', source, layer: 'bridge', up: true };

/** Alarms that begin and end. */
const alarms = (site: World, ...signals: Signal[]) =>
  signals
    .flatMap((signal) => site.events(site.signal(signal)))
    .filter((event) => event.class === 'alarm')
    .map(({ kind, status, zone }) => `${kind} ${status} ${zone}`);
const at = (plan: SitePlan, ...signals: Signal[]): World => {
  const site = world(plan);
  for (const signal of [up, ...signals]) site.signal(signal);
  return site;
};
const zoneOf = ({ state: { zones } }: World, number = '2') => {
  const { open, alarm, tamper } = zones[number] ?? {};
  return { open, alarm, tamper };
};
const viewOf = ({ plan, state, ms }: World) => siteView(plan, state, stamp(ms), { epoch: 1, seq: 1 });
/** What people are told of it. */
const doubted = (site: World) => viewOf(site).doubted;
/** Everything but the disk is gone. */
const restarted = (site: World): World => {
  site.state = readState(writeState(site.state)) ?? site.state;
  site.send({ kind: 'started', sameBoot: false, storeLost: false });
  site.signal(up);
  return site;
};
/** siteward's own engine watches what the panel's detectors see. */
const engine = house();
const doubtedWays = ['retained', 'queued'] as const;

describe.each(doubtedWays)('a word of a zone that is %s and calmer than what is known', (way) => {
  it.each<[string, keyof Levels, SitePlan]>([
    ['a panel', 'alarm', panelHouse()],
    ['a panel', 'tamper', panelHouse()],
    ['the engine', 'alarm', engine],
    ['the engine', 'tamper', engine],
  ])('under %s, changes nothing at any time, and a live one does: %s', (_, level, plan) => {
    const site = at(plan, says('2', { [level]: true }));
    site.signal(says('2', { [level]: false }, way));
    restarted(site);
    site.ms += 7 * 86_400_000;
    site.signal(says('2', { [level]: false }, way));
    expect(zoneOf(site)[level]).toBe(true);
    expect(doubted(site)).toEqual(['2']);
    site.signal(says('2', { [level]: false }));
    expect(zoneOf(site)[level]).toBe(false);
    expect(doubted(site)).toEqual([]);
  });

  it('closes a door of a burglary zone, which may never be told live, and one that says open is shown', () => {
    const site = world();
    const isReady = () => viewOf(site).ready.p1;
    expect(isReady()).toBe(true);
    site.signal(says('2', { open: true }, way));
    expect([zoneOf(site).open, isReady()]).toEqual([true, false]);
    site.signal(says('2', { open: true }));
    site.signal(says('2', { open: false }, way));
    expect([zoneOf(site).open, isReady(), doubted(site)]).toEqual([false, true, []]);
  });

  it('closes no detector of danger to life', () => {
    const site = at(panelHouse(), says('10', { open: true }));
    site.signal(says('10', { open: false }, way));
    expect([zoneOf(site, '10').open, doubted(site)]).toEqual([true, ['10']]);
  });

  it('closes no door that is in alarm under the engine', () => {
    const site = armed();
    site.signal(says('2', { open: true }));
    site.signal(says('2', { open: false }, way));
    expect(doubted(site)).toEqual(['2']);
  });

  it('ends no alarm, and the next one is another, with the end of neither made up', () => {
    const site = at(panelHouse(), isIn('armed_away'));
    expect(alarms(site, says('2', { alarm: true }), isIn('triggered'))).toEqual(['burglary_perimeter active 2']);
    expect(alarms(site, says('2', { alarm: false }, way))).toEqual([]);
    expect(alarms(restarted(site), says('2', { alarm: true }))).toEqual(['burglary_perimeter active 2']);
    // Told again it is the same.
    expect(alarms(site, says('2', { alarm: true }))).toEqual([]);
    expect(alarms(site, says('2', { alarm: false }))).toEqual(['burglary_perimeter restored 2']);
  });

  it.each<[string, Levels, Levels, Levels]>([
    ['open', { open: true }, { open: false }, { open: true }],
    ['an alarm', { alarm: true }, { alarm: false }, { alarm: true }],
    ['one in two ways', { alarm: true }, { open: false }, { open: true }],
    ['one in two other ways', { open: true, alarm: true }, { open: false, alarm: false }, { alarm: true }],
  ])('lets the engine raise the next trip: %s', (_, before, calm, next) => {
    const site = armed();
    expect(alarms(site, says('2', before))).toEqual(['burglary_perimeter active 2']);
    expect(alarms(site, says('2', calm, way))).toEqual([]);
    expect(alarms(site, says('2', next))).toEqual(['burglary_perimeter active 2']);
  });

  it('of a silent button is judged alike, and shows nowhere (safety 4)', () => {
    const site = at(panelHouse());
    const pressed = () => site.log.filter((one) => one.kind === 'event' && one.event.silent === true).length;
    const before = JSON.stringify(viewOf(site));
    site.signal(says('12', { alarm: true }));
    site.signal(says('12', { alarm: false }, way));
    expect(pressed()).toBe(1);
    expect(JSON.stringify(viewOf(site))).toBe(before);
    site.signal(says('12', { alarm: true }));
    expect(pressed()).toBe(2);
  });

  it('about an alarm is true once its panel says live that none runs; about a fire only its own is', () => {
    const fire = '10';
    const site = at(panelHouse(), isIn('armed_away'), says('2', { alarm: true }), says(fire, { alarm: true }));
    for (const number of ['2', fire]) site.signal(says(number, { alarm: false }, way));
    expect(alarms(site, isIn('triggered'), isIn('disarmed', way))).not.toContain('burglary_perimeter restored 2');
    expect(zoneOf(site).alarm).toBe(true);
    expect(alarms(site, isIn('disarmed'))).toContain('burglary_perimeter restored 2');
    expect([zoneOf(site).alarm, zoneOf(site, fire).alarm]).toEqual([false, true]);
  });
});

describe('what a queue of the broker tells', () => {
  const door = (open: boolean, since?: number) => says('2', { open }, 'queued', since === undefined ? {} : { since });

  it.each([[1], [undefined]])('ends what it has begun itself, the engine’s alarm too: since %s', (since) => {
    const site = armed();
    expect(alarms(site, door(true, since))).toEqual(['burglary_perimeter active 2']);
    site.signal(door(true, since));
    expect(alarms(site, door(false, since))).toEqual(['burglary_perimeter restored 2']);
    expect(zoneOf(site)).toMatchObject({ open: false, alarm: false });
  });

  it('ends nothing another queue, or a live word, has begun', () => {
    const alarm = (on: boolean, since: number) => says('2', { alarm: on }, 'queued', { since });
    for (const begin of [alarm(true, 1), says('2', { alarm: true })]) {
      const site = at(panelHouse(), begin, alarm(true, 2), alarm(false, 2));
      expect(zoneOf(site).alarm).toBe(true);
    }
  });
});

it('a camera knows what it sees, and a zone never heard takes what is retained', () => {
  const site = at(panelHouse(), says('2', { open: false, alarm: false, tamper: false }, 'retained'));
  expect(zoneOf(site)).toEqual({ open: false, alarm: false, tamper: false });
  site.signal({ ...says('21', { open: true }), source: { kind: 'camera', id: 'hall' } } as Signal);
  site.signal({ ...says('21', { open: false }, 'retained'), source: { kind: 'camera', id: 'hall' } } as Signal);
  expect(zoneOf(site, '21').open).toBe(false);
});

describe('the end in the queue that began it', () => {
  it('ends it also where a retained word came between', () => {
    const site = at(panelHouse(), says('2', { alarm: true }, 'queued'));
    site.signal(says('2', { alarm: false }, 'retained'));
    expect(zoneOf(site).alarm).toBe(true);
    site.signal(says('2', { alarm: false }, 'queued'));
    expect(zoneOf(site).alarm).toBe(false);
    expect(doubted(site)).toEqual([]);
  });

  it('does not where another queue tells it', () => {
    const site = at(panelHouse(), says('2', { alarm: true }, 'queued'));
    site.signal(says('2', { alarm: false }, 'retained'));
    site.signal(says('2', { alarm: false }, 'queued', { since: queue.since + 1 }));
    expect(zoneOf(site).alarm).toBe(true);
  });
});

describe('a door that was opened by who leaves, and closed while the line was away for a moment', () => {
  const wall = (ms: number) => stamp(ms).wall;
  /** Armed, with what was told of the door on the way out; what follows the exit delay. */
  const leaving = (...signals: Signal[]): readonly string[] => {
    const site = at(engine);
    site.signal(says('1', { open: false }));
    site.signal(says('2', { open: false }));
    site.arm();
    for (const signal of signals) {
      site.pass(5_000);
      site.signal(signal);
    }
    return site.events(site.pass(60_000)).map(({ kind }) => kind);
  };

  it.each([
    ['a queue', says('1', { open: false }, 'queued', { since: wall(8_000) })],
    ['a retained word', says('1', { open: false }, 'retained')],
    ['a queue of which nobody knows since when', says('1', { open: false }, 'queued', {})],
  ])('makes no exit error where %s tells it', (_, signal) => {
    expect(leaving(says('1', { open: true }), signal)).toEqual(['armed_away']);
  });
});

it.each([0, 1_000])('what is repeated of a partition of 2,000 zones looks at each a few times: %i doubted', (many) => {
  let looks = 0;
  const numbers = Array.from({ length: 2_000 }, (_, index) => String(100 + index));
  const base = panelHouse();
  const [first] = base.zones;
  if (first === undefined) throw new Error('no zone');
  const site = at({ ...base, zones: numbers.map((number) => ({ ...first, number, type: 'fire' as const })) });
  const doubts = Object.fromEntries(
    numbers.slice(0, many).map((number) => [number, { alarm: { ended: true } as const }]),
  );
  const zones = Object.fromEntries(
    Object.entries(site.state.zones).map(([key, one]) => [key, { ...one, alarm: true }]),
  );
  site.state = { ...site.state, ...(many > 0 && { zoneDoubts: doubts, zones }) };
  site.signal(isIn('disarmed'));
  for (const zone of site.plan.zones) {
    const { number } = zone;
    const get = () => {
      looks += 1;
      return number;
    };
    Object.defineProperty(zone, 'number', { enumerable: true, get });
  }
  site.signal(isIn('disarmed'));
  expect(looks).toBeLessThan(20_000);
});
