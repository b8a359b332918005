import { describe, expect, it } from 'vitest';
import { shown } from '#site/core/shown.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { link, panelHouse, partition, type World, world } from './world.ts';

/** Alarms out of a panel's memory, from before its last opening or closing, beside what goes on now. */
const source = { kind: 'panel', id: 'main' } as const;
const minutes = (n: number) => n * 60_000;
let frames = 0;
const next = () => {
  frames += 1;
  return `f${frames}.0`;
};
const about = (report: string, ageMs?: number) => ({
  source,
  replay: false,
  report,
  ...(ageMs !== undefined && { ageMs }),
});
const isIn = (state: ArmingWord, report = next(), ageMs?: number): Signal => ({
  ...{ kind: 'partition', partition: 'p1', state },
  ...about(report, ageMs),
});
const zone = (number: string, alarm: boolean, report = next(), ageMs?: number): Signal => ({
  ...{ kind: 'zone', zone: number, alarm },
  ...about(report, ageMs),
});
/** As a panel reports it: the zone and its partition. */
const burglary = (number: string, ageMs?: number, report = next()): readonly Signal[] => [
  zone(number, true, report, ageMs),
  isIn('triggered', report, ageMs),
];

const at = (...signals: readonly Signal[]): World => {
  const site = world(panelHouse());
  for (const signal of [link(true), ...signals]) site.signal(signal);
  site.ms += minutes(10);
  return site;
};
const say = (site: World, signals: readonly Signal[]) =>
  signals.flatMap((signal) => site.events(site.signal(signal))).filter((event) => event.class === 'alarm');
const alarms = (site: World, signals: readonly Signal[]) =>
  say(site, signals).filter(({ status }) => status === 'active');

const p1 = (site: World) => site.state.partitions.p1;

describe('an alarm from before the last opening or closing', () => {
  it('takes no fire off its partition, and leaves no incident behind', () => {
    for (const state of ['disarmed', 'armed_away'] as const) {
      const site = at(isIn(state));
      say(site, [zone('10', true)]);
      const fire = p1(site);
      expect(fire?.alarm).toMatchObject({ zone: '10', kind: 'fire' });
      for (const number of ['2', '13']) {
        const [event] = alarms(site, burglary(number, minutes(60)));
        expect(event).toMatchObject({ zone: number, status: 'active', signalToStation: true });
        expect(event?.incident).not.toBe(fire?.incident);
        expect(p1(site)).toMatchObject({ state, alarm: fire?.alarm, incident: fire?.incident });
      }
      say(site, [zone('10', false)]);
      expect([p1(site)?.alarm, p1(site)?.incident]).toEqual([undefined, undefined]);
    }
  });

  it.each(['disarmed', 'armed_away'] as const)('is no part of an alarm of now: %s', (state) => {
    const site = at(isIn(state));
    const [past] = alarms(site, burglary('2', minutes(60)));
    expect([p1(site)?.incident, p1(site)?.alarm]).toEqual([undefined, undefined]);
    site.ms += minutes(60);
    const [now] = alarms(site, burglary('3'));
    expect(now).toMatchObject({ zone: '3', signalToStation: true });
    expect(now?.incident).not.toBe(past?.incident);
    expect(now).not.toHaveProperty('additionalZones');
    expect(now?.evidence).not.toContainEqual(expect.objectContaining({ type: 'earlier_alarm' }));
    // Its own end is told.
    expect(say(site, [zone('2', false)])).toMatchObject([{ status: 'restored', zone: '2' }]);
  });

  it('counts for no cap of now', () => {
    const site = at(isIn('armed_away'));
    for (let n = 0; n < 6; n += 1)
      expect(alarms(site, burglary('2', minutes(60)))).toMatchObject([{ signalToStation: true }]);
    // And yet they have one (safety 8).
    expect(alarms(site, burglary('2', minutes(60)))).toMatchObject([{ signalToStation: false }]);
    expect(alarms(site, burglary('2'))).toMatchObject([{ signalToStation: true }]);
  });

  it('is told also where its zone is one of another partition', () => {
    const own = (id: string) => partition(id, { authority: 'panel', panel: 'main' });
    const site = world(panelHouse({ partitions: [own('p1'), own('p2')] }));
    const closing = { ...isIn('armed_away'), partition: 'p2' } as Signal;
    for (const signal of [link(true), isIn('disarmed'), closing]) site.signal(signal);
    site.ms += minutes(10);
    const [inZone, triggered] = burglary('2', minutes(60));
    expect(alarms(site, [inZone as Signal, { ...triggered, partition: 'p2' } as Signal])).toMatchObject([
      { kind: 'burglary', partition: 'p2' },
    ]);
  });

  it('is one of now where it endangers life: it shows until its end, for no opening ends it (safety 1)', () => {
    const site = at(isIn('disarmed'));
    const isShown = () => {
      const partition = p1(site);
      return partition === undefined ? undefined : shown(partition).state;
    };
    expect(alarms(site, [zone('10', true, next(), minutes(60))])).toMatchObject([{ kind: 'fire' }]);
    expect(isShown()).toBe('triggered');
    say(site, [zone('10', false)]);
    expect(isShown()).toBe('disarmed');
  });

  it.each<[string, Signal]>([
    ['a burglary of no zone', { kind: 'alarm', alarm: 'burglary', partition: 'p1', ...about('g1.0', minutes(60)) }],
    ['another alarm', { kind: 'alarm', alarm: 'technical', zone: '2', ...about('g1.0', minutes(60)) }],
    ['a sabotage', { kind: 'zone', zone: '2', tamper: true, ...about('g1.0', minutes(60)) }],
  ])('begins no incident of now: %s', (_, signal) => {
    const site = at(isIn('armed_away'));
    expect(alarms(site, [signal])).toHaveLength(1);
    expect([p1(site)?.incident, p1(site)?.alarm, site.word()]).toEqual([undefined, undefined, 'armed_away']);
  });

  it('is none where the clock was set back since', () => {
    const site = at(isIn('armed_away'));
    site.ms -= minutes(60);
    expect(alarms(site, burglary('2', 6000))).toHaveLength(1);
    expect(site.word()).toBe('triggered');
  });
});

describe('the zone of an alarm', () => {
  const quietly = (number: string, level: 'alarm' | 'open', is = true): Signal => ({
    ...{ kind: 'zone', source, zone: number, replay: false, [level]: is },
  });
  const word = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });

  it('is not one whose panel has told no end since before the last disarming', () => {
    for (const level of ['alarm', 'open'] as const) {
      const site = at(word('armed_away'), quietly('2', 'alarm'), word('triggered'), word('disarmed'));
      const [event] = alarms(site, [quietly('3', level), word('triggered')]);
      expect(event).toMatchObject({ zone: '3' });
      expect(event).not.toHaveProperty('additionalZones');
    }
  });

  it('is that one where it was in alarm again, or where nothing else is known', () => {
    const site = at(word('armed_away'), quietly('2', 'alarm'), word('triggered'), word('disarmed'));
    expect(alarms(site, [word('triggered')])).toMatchObject([{ zone: '2' }]);
    say(site, [word('disarmed'), quietly('2', 'alarm', false)]);
    expect(alarms(site, [quietly('2', 'alarm'), quietly('3', 'open'), word('triggered')])).toMatchObject([
      { zone: '2' },
    ]);
  });

  it('is that of its report', () => {
    const site = at(isIn('disarmed'));
    say(site, [zone('2', true)]);
    expect(alarms(site, burglary('3'))).toMatchObject([{ zone: '3', additionalZones: ['2'] }]);
    // Also beside a fire that has just begun.
    const burning = at(isIn('disarmed'));
    expect(alarms(burning, [zone('10', true), ...burglary('2')]).map(({ kind }) => kind)).toEqual([
      'fire',
      'burglary_perimeter',
    ]);
  });
});
