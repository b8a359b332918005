import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  adoptPlan,
  changesBetween,
  decide,
  initialState,
  Picture,
  readState,
  type SiteState,
  signalToStation,
  siteView,
  writeState,
  zoneTable,
} from '#site/core/index.ts';
import { type SitePlan, type SiteView, zoneTypes } from '#site/model/index.ts';
import { armed, house, panelHouse, partition, stamp, world, zone } from './world.ts';

describe('the stored state', () => {
  it('I3: text that is not a whole state is a lost store, and a lost store is never disarmed', () => {
    const text = writeState(armed().state);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.nat(text.length - 1).map((end) => text.slice(0, end)),
        ),
        (json) => {
          expect(readState(json)).toBeUndefined();
        },
      ),
      { numRuns: 2000 },
    );
    const lost = initialState(house({ partitions: [partition('p1'), partition('p2')] }), stamp(0), { storeLost: true });
    expect(Object.values(lost.partitions).map(({ state }) => state)).toEqual(['unknown', 'unknown']);
    expect(Object.values(lost.troubles)).toMatchObject([{ trouble: 'system', source: { kind: 'bridge' } }]);
  });

  it('keeps what is held until the panel is heard, with all that came with it', () => {
    const site = world(panelHouse());
    site.send({ kind: 'started', sameBoot: true, storeLost: false });
    const source = { kind: 'panel', id: 'main' } as const;
    const about = { source, replay: true, report: 'main 0001', ageMs: 2500, waited: { since: 7 } } as const;
    site.signal({ kind: 'zone', zone: '1', open: true, ...about });
    site.signal({
      kind: 'partition',
      partition: 'p1',
      state: 'armed_away',
      user: 'anna',
      reminder: true,
      told: 'fire',
      ...about,
    });
    expect(Object.values(site.state.held)).toHaveLength(2);
    expect(readState(writeState(site.state))).toEqual(site.state);
  });

  it.each([
    ['a word that is none', '"armed_away"', '"armed"'],
    ['a partition under another name', '"id":"p1"', '"id":"p2"'],
    ['a later version', '"version":1', '"version":2'],
    ['a member nobody knows', '"incidents":0', '"incidents":0,"more":1'],
  ])('%s makes it unusable', (_, from, to) => {
    const text = writeState(armed().state);
    expect(text).toContain(from);
    expect(readState(text.replace(from, to))).toBeUndefined();
  });
});

describe('a new plan', () => {
  it('keeps what stays exactly, and the running delay with it', () => {
    const site = armed();
    site.open('1');
    expect(adoptPlan(site.plan, site.state, stamp(site.ms))).toEqual(site.state);
  });

  it('starts what is new, drops what is gone', () => {
    const site = armed();
    const plan = house({
      partitions: [partition('p1'), partition('p2')],
      zones: [zone('1', 'perimeter'), zone('77', 'fire')],
    });
    const state = adoptPlan(plan, site.state, stamp(site.ms));
    expect(Object.keys(state.zones).sort()).toEqual(['1', '77']);
    expect(state.partitions.p1).toBe(site.state.partitions.p1);
    expect(state.partitions.p2).toMatchObject({ state: 'disarmed', seq: 0 });
  });

  it('safety 2: a partition that a panel takes over is unknown until the panel is heard, never disarmed', () => {
    const site = world();
    expect(site.word()).toBe('disarmed');
    const taken = adoptPlan(panelHouse(), site.state, stamp(site.ms));
    expect(taken.partitions.p1).toMatchObject({ state: 'unknown', stale: true, seq: site.state.partitions.p1?.seq });
  });

  it('safety 2: a partition the engine takes over stays armed, and is unknown when it was not', () => {
    const armedThere = armed();
    const owner = 'panel:main';
    const of = (state: SiteState) => ({
      ...state,
      partitions: Object.fromEntries(Object.entries(state.partitions).map(([id, one]) => [id, { ...one, owner }])),
    });
    expect(adoptPlan(armedThere.plan, of(armedThere.state), stamp(armedThere.ms)).partitions.p1?.state).toBe(
      'armed_away',
    );
    const calm = world();
    expect(adoptPlan(calm.plan, of(calm.state), stamp(calm.ms)).partitions.p1?.state).toBe('unknown');
  });

  it('I3: a partition that was removed while armed comes back unknown, with its sequence', () => {
    const site = armed();
    const without = adoptPlan(house({ partitions: [] }), site.state, stamp(site.ms));
    expect(without.partitions).toEqual({});
    expect(adoptPlan(site.plan, without, stamp(site.ms)).partitions.p1).toMatchObject({ state: 'unknown', seq: 2 });
  });

  it('a partition of a panel starts unknown and stale until the panel speaks', () => {
    const state = initialState(panelHouse(), stamp(0), { storeLost: false });
    expect(state.partitions.p1).toMatchObject({ state: 'unknown', stale: true });
  });
});

describe('the view', () => {
  it.each(['perimeter', 'day_trouble', 'fire', 'video_person_perimeter'] as const)(
    'calls a partition ready exactly when it would be armed, with an open %s zone too',
    (type) => {
      const source = type.startsWith('video') ? ({ kind: 'camera', id: 'yard' } as const) : undefined;
      for (const open of [false, true]) {
        const site = world(house({ zones: [zone('1', type, source === undefined ? {} : { source })] }));
        site.open('1', open);
        const { ready } = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 7 });
        expect(ready).toEqual({ p1: !open });
        expect(site.arm().outcome === 'done').toBe(!open);
      }
    },
  );

  it('counts delays on the monotonic clock, whatever the wall clock does (I12)', () => {
    const site = world();
    site.arm();
    const at = stamp(site.ms + 20_000, { wall: 0 });
    expect(siteView(site.plan, site.state, at, { epoch: 1, seq: 7 })).toMatchObject({
      epoch: 1,
      seq: 7,
      at: 0,
      delays: { p1: { exitLeftS: 40 } },
    });
  });

  it('tells what changed and nothing else', () => {
    const site = world();
    const before = site.state;
    site.open('2');
    expect(changesBetween(before, site.state)).toEqual({ partitions: [], zones: ['2'], troubles: false, links: false });
    const open = site.state;
    site.open('2');
    expect(changesBetween(open, site.state)).toEqual({ partitions: [], zones: [], troubles: false, links: false });
    site.arm({ mode: 'home', force: true });
    expect(changesBetween(open, site.state)).toEqual({
      partitions: ['p1'],
      zones: ['2'],
      troubles: false,
      links: false,
    });
  });

  it('safety 4: a silent zone is no change', () => {
    const site = world();
    const before = site.state;
    site.open('12');
    expect(changesBetween(before, site.state)).toEqual({ partitions: [], zones: [], troubles: false, links: false });
  });
});

describe('tables', () => {
  it.each(zoneTypes)('safety 1: zone type %s is bypassable only if it depends on arming', (type) => {
    const { group, bypassable } = zoneTable[type];
    expect(bypassable).toBe(!['life', 'holdup', 'always'].includes(group));
  });

  it.each([
    ['alarm', 'active', false, false, true],
    ['alarm', 'active', true, false, false],
    ['alarm', 'cancelled', false, false, true],
    ['alarm', 'restored', false, false, false],
    ['alarm', 'restored', false, true, true],
    ['trouble', 'active', false, true, false],
    ['arming', 'active', false, true, false],
    ['system', 'active', false, true, false],
  ] as const)(
    'class %s, status %s, capped %s, restores %s: signalled %s',
    (eventClass, status, capped, signalRestores, signalled) => {
      expect(signalToStation({ class: eventClass, status, capped, signalRestores })).toBe(signalled);
    },
  );
});

describe('a large site', () => {
  /** 1,000 zones in eight partitions, 64 cameras. */
  const large: SitePlan = house({
    partitions: Array.from({ length: 8 }, (_, index) => partition(`p${index + 1}`)),
    zones: Array.from({ length: 1000 }, (_, index) =>
      zone(String(index), 'perimeter', { partitions: [`p${(index % 8) + 1}`] }),
    ),
    cameras: [],
  });

  it('an input copies only what it changes', () => {
    const site = world(large);
    const before = site.state;
    const { state } = decide(large, before, {
      at: stamp(1),
      kind: 'signal',
      signal: { kind: 'zone', source: { kind: 'panel', id: 'main' }, zone: '500', open: true, replay: false },
    });
    expect(changesBetween(before, state).zones).toEqual(['500']);
    expect(state.zones['499']).toBe(before.zones['499']);
    expect(state.partitions).toBe(before.partitions);
    expect(state.commands).toBe(before.commands);
  });
});

describe('a picture of the site', () => {
  it('has what the view has, and draws of it what somebody looks at', () => {
    const { plan, state } = armed();
    const numbers = { epoch: 1, seq: 7 };
    const { timers, ...rest } = state;
    let looks = 0;
    const watched: SiteState = {
      ...rest,
      get timers() {
        looks += 1;
        return timers;
      },
    };
    const picture = new Picture(plan, watched, stamp(0), numbers);
    const view = siteView(plan, state, stamp(0), numbers);
    expect(picture.zones).toEqual(view.zones);
    expect(looks).toBe(0);
    expect(Object.fromEntries(Object.keys(view).map((name) => [name, picture[name as keyof SiteView]]))).toEqual(view);
    expect(looks).toBeGreaterThan(0);
  });
});
