import { describe, expect, it } from 'vitest';
import { adoptPlan, readState, type SiteState, visibleState, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { house, panelHouse, stamp, type World, world, zone } from './world.ts';

/** A panel repeats a report until it is acknowledged, also over a stop of siteward between the commit and the answer. */
const source = { kind: 'panel', id: 'main' } as const;
const link: Signal = { kind: 'link', source, layer: 'device', up: true };
const isIn = (state: ArmingWord, report: string): Signal => ({
  ...{ kind: 'partition', source, partition: 'p1', state, replay: false, report },
});
const alarm = (zone: string, report: string, is = true): Signal => ({
  ...{ kind: 'zone', source, zone, alarm: is, replay: false, report },
});
const burglary = (report: string, zone = '2'): readonly Signal[] => [alarm(zone, report), isIn('triggered', report)];

const tell = (site: World, signals: readonly Signal[]) =>
  signals
    .flatMap((signal) => site.events(site.signal(signal)))
    .map(({ class: about, kind, status, zone, partition }) => `${about} ${kind} ${status} ${zone ?? partition ?? ''}`);
const alarms = (site: World, signals: readonly Signal[]) =>
  tell(site, signals).filter((event) => event.startsWith('alarm'));

/** siteward stops and starts again with what was on disk. */
function restart(site: World): void {
  const stored = readState(writeState(site.state)) as SiteState;
  site.state = adoptPlan(site.plan, stored, stamp(site.ms));
  site.send({ kind: 'started', sameBoot: true, storeLost: false });
  site.signal(link);
}

const states: readonly ArmingWord[] = ['armed_away', 'armed_home', 'disarmed', 'pending', 'unknown'];

describe('a report that comes again after a restart', () => {
  it.each(states.flatMap((state) => [0, 1, 2].map((cut) => [state, cut] as const)))(
    'is one alarm, in a partition that is %s, when %i of its signals were on disk',
    (state, cut) => {
      const site = world(panelHouse());
      if (state !== 'unknown') tell(site, [isIn('armed_away', 'r0'), isIn(state, 'r1')]);
      const told = alarms(site, burglary('r2').slice(0, cut));
      restart(site);
      told.push(...alarms(site, burglary('r2')));
      expect(told).toEqual(['alarm burglary_perimeter active 2']);
      expect(site.word()).toBe('triggered');
    },
  );

  it('does not set off again what was disarmed meanwhile', () => {
    const site = world(panelHouse());
    tell(site, [isIn('armed_away', 'r0'), ...burglary('r1'), isIn('disarmed', 'r2'), alarm('2', 'r2', false)]);
    restart(site);
    expect(tell(site, burglary('r1'))).toEqual([]);
    expect(site.word()).toBe('disarmed');
  });

  it.each(['10', '11', '12'])('is one call for help (zone %s)', (zone) => {
    const site = world(panelHouse());
    expect(alarms(site, [alarm(zone, 'r1')])).toHaveLength(1);
    restart(site);
    const before = site.state;
    expect(tell(site, [alarm(zone, 'r1')])).toEqual([]);
    // Not even that it came shows (safety 4).
    expect(site.state).toBe(before);
  });

  it('is the same for as long as it is told again', () => {
    const site = world(panelHouse());
    tell(site, [isIn('disarmed', 'o1'), isIn('armed_away', 'c1'), ...burglary('r1')]);
    for (let n = 0; n < 10; n += 1) {
      site.pass(240_000);
      restart(site);
      expect(tell(site, [isIn('disarmed', 'o1'), ...burglary('r1')])).toEqual([]);
    }
    expect(site.word()).toBe('triggered');
  });

  it('is known for as long as a receiver knows it, and no reminder of it disarms', () => {
    const site = world(panelHouse());
    tell(site, [isIn('disarmed', 'o1'), isIn('armed_away', 'c1')]);
    // Told at 0, heard just before it would be reminded of, and again just before the receiver would forget it.
    site.pass(839_000);
    expect(tell(site, [isIn('disarmed', 'o1')])).toEqual([]);
    expect(site.word()).toBe('armed_away');
    site.pass(1_300_000);
    expect(tell(site, [{ ...isIn('disarmed', 'o1'), reminder: true } as Signal])).toEqual([]);
    expect(site.word()).toBe('armed_away');
  });

  it('is another one after twenty minutes, since the numbers of a panel go round', () => {
    const site = world(panelHouse());
    tell(site, [isIn('armed_away', 'r0'), ...burglary('r1')]);
    restart(site);
    site.pass(1_201_000);
    expect(alarms(site, burglary('r1'))).toContain('alarm burglary_perimeter active 2');
  });
});

describe('an opening that calms zones and comes again after a restart', () => {
  const opening = (report: string): readonly Signal[] => [
    isIn('disarmed', report),
    { ...alarm('2', report, false), opening: 'p1' } as Signal,
  ];

  it('still calms them when only the opening was on disk', () => {
    const site = world(panelHouse());
    tell(site, [isIn('armed_away', 'r0'), ...burglary('r1'), ...opening('r2').slice(0, 1)]);
    restart(site);
    expect(tell(site, opening('r2'))).toContain('alarm burglary_perimeter restored 2');
  });

  it('calms them where siteward decides by itself, whatever the panel said while it decided', () => {
    const before = world(panelHouse());
    tell(before, [isIn('armed_away', 'r0')]);
    const site = world(house());
    site.state = { ...site.state, periods: before.state.periods };
    tell(site, [alarm('2', 'r1'), ...opening('r2')]);
    expect(site.state.zones['2']?.alarm).toBe(false);
  });

  it('ends no alarm that came after it', () => {
    const site = world(panelHouse());
    tell(site, [isIn('armed_away', 'r0'), ...opening('r1'), isIn('armed_away', 'r2'), ...burglary('r3')]);
    restart(site);
    expect(tell(site, opening('r1'))).toEqual([]);
    expect(site.state.zones['2']?.alarm).toBe(true);
  });
});

describe('an alarm in another report', () => {
  it.each([
    ['in the same run', () => {}],
    ['after a restart', restart],
  ])('is another alarm though nothing told the end of the first, %s', (_, between) => {
    const site = world(panelHouse());
    tell(site, [isIn('armed_away', 'r0'), ...burglary('r1')]);
    between(site);
    expect(alarms(site, burglary('r2'))).toEqual([
      'alarm burglary_perimeter restored 2',
      'alarm burglary_perimeter active 2',
    ]);
    expect(alarms(site, [alarm('12', 'r3'), alarm('12', 'r4')])).toHaveLength(3);
  });
});

describe('what is remembered of reports', () => {
  it('has a bound, and nothing of a silent button for people', () => {
    const site = world(panelHouse());
    for (let n = 0; n < 500; n += 1) tell(site, [alarm('12', `s${n}`), alarm('10', `f${n}`)]);
    expect(site.state.reports).toHaveLength(32);
    const shown = visibleState(site.plan, site.state);
    expect(shown.reports).toHaveLength(16);
    expect(JSON.stringify(shown)).not.toContain('zone:12');
    const zones = Array.from({ length: 600 }, (_, n) => zone(`${1000 + n}`, 'perimeter'));
    const large = world(panelHouse({ zones }));
    for (const { number } of zones) tell(large, [alarm(number, 'r1')]);
    expect(large.state.reports).toHaveLength(512);
  });

  it('keeps an opening however many alarms there are, so that it disarms nothing when it comes again', () => {
    const zones = Array.from({ length: 600 }, (_, n) => zone(`${1000 + n}`, 'perimeter'));
    const site = world(panelHouse({ zones }));
    tell(site, [isIn('disarmed', 'o1'), isIn('armed_away', 'c1')]);
    for (const { number } of zones) tell(site, burglary(`b${number}`, number));
    tell(site, [isIn('armed_away', 'c2')]);
    restart(site);
    expect(tell(site, [isIn('disarmed', 'o1')])).toEqual([]);
    expect(site.word()).toBe('armed_away');
  });
});

describe('a report out of the memory of a panel', () => {
  it('carries the time at which it happened, by the same clocks', () => {
    const site = world(panelHouse());
    tell(site, [isIn('armed_away', 'r0')]);
    const ageMs = 5_400_000;
    const late = site.events(site.signal({ ...alarm('2', 'r1'), ageMs } as Signal));
    const now = stamp(site.ms);
    const at = { ...now, wall: now.wall - ageMs, mono: now.mono - ageMs };
    expect(late).toMatchObject([{ kind: 'burglary_perimeter', at, late: true }]);
    expect(site.events(site.signal({ ...isIn('disarmed', 'r2'), ageMs } as Signal))).toMatchObject([
      { kind: 'disarmed', at, late: true },
    ]);
    for (const event of site.events(site.signal(isIn('armed_away', 'r3')))) expect(event).not.toHaveProperty('at');
  });
});

describe('a test report of a panel', () => {
  it('is in the history of the site once, and goes nowhere', () => {
    const site = world(panelHouse());
    const test: Signal = { kind: 'test', source, test: 'periodic', report: 'r1' };
    const [event, ...more] = site.events(site.signal(test));
    expect(event).toMatchObject({
      ...{ class: 'test', kind: 'periodic_test', contactId: '602', sia: 'RP', source: 'panel:main' },
      // Where the memory of the report is too, so that no kill can lose one without the other.
      ...{ toCloud: false, signalToStation: false, lane: 'trouble' },
    });
    expect(more).toEqual([]);
    restart(site);
    expect(tell(site, [test])).toEqual([]);
    expect(tell(site, [{ ...test, report: 'r2' }])).toHaveLength(1);
  });
});
