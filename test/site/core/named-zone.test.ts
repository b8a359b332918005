import { describe, expect, it } from 'vitest';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { house, panelHouse, type World, world, zone } from './world.ts';

const source = { kind: 'panel', id: 'main' } as const;
const link: Signal = { kind: 'link', source, layer: 'bridge', up: true };
const isIn = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });
const alarm = (is: boolean): Signal => ({ kind: 'zone', source, zone: '2', alarm: is, replay: false });

const tell = (site: World, ...signals: Signal[]) =>
  signals
    .flatMap((signal) => site.events(site.signal(signal)))
    .filter((event) => event.class === 'alarm')
    .map(({ kind, status, zone: number }) => `${kind} ${status} ${number ?? '-'}`);

/** Texecom and Alarmo name the zone in the message of the partition's alarm, and publish that again and again. */
describe('a zone that the alarm of its partition names', () => {
  it('is the zone of the one alarm, and is calm with its partition', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('armed_away'));
    expect(tell(site, alarm(false), alarm(true), isIn('triggered'))).toEqual(['burglary_perimeter active 2']);
    expect(tell(site, alarm(true), isIn('triggered'), alarm(true), isIn('triggered'))).toEqual([]);
    expect(tell(site, isIn('disarmed'), alarm(false))).toContain('burglary_perimeter cancelled 2');
    tell(site, isIn('armed_away'));
    expect(tell(site, alarm(false), alarm(true), isIn('triggered'))).toEqual(['burglary_perimeter active 2']);
  });
});

describe('an alarm that names no zone', () => {
  const other = { kind: 'panel', id: 'radio' } as const;
  const open: Signal = { kind: 'zone', source: other, zone: '31', open: true, replay: false };
  const made = () => {
    const zones = [...house().zones, zone('31', 'perimeter', { source: other })];
    const site = world(panelHouse({ zones }));
    tell(site, link, { ...link, source: other }, open, isIn('armed_away'));
    return site;
  };

  it('is not that of a zone of another panel which stands open', () => {
    const site = made();
    expect(tell(site, isIn('triggered'))).toEqual(['burglary active -']);
    expect(tell(site, alarm(true))).toEqual([]);
    expect(site.state.partitions.p1?.alarm).toMatchObject({ zone: '2' });
  });
});

describe('a partition that its panel has armed again after an alarm', () => {
  const open = (number: string, is: boolean): Signal => ({
    kind: 'zone',
    source,
    zone: number,
    open: is,
    replay: false,
  });

  it('has another alarm with the next triggered, of the zone that is open then', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('armed_away'), open('2', true));
    expect(tell(site, isIn('triggered'))).toEqual(['burglary_perimeter active 2']);
    expect(tell(site, isIn('armed_away'), isIn('triggered'))).toEqual(['burglary_perimeter active 2']);
    expect(tell(site, isIn('armed_away'), open('2', false), open('1', true), isIn('triggered'))).toEqual([
      'burglary_entry_exit active 1',
    ]);
    expect(tell(site, isIn('armed_away'), open('1', false), isIn('triggered'))).toEqual(['burglary active -']);
  });

  it('tells the alarm of a zone that an earlier triggered had named', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('armed_away'), open('2', true), isIn('triggered'), isIn('armed_away'));
    expect(tell(site, alarm(true))).toEqual(['burglary_perimeter active 2']);
  });
});

describe('a fire that goes on', () => {
  const fire: Signal = { kind: 'zone', source, zone: '10', alarm: true, replay: false };

  it('is what the panel has triggered for, and not what a later burglary is about', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('armed_away'));
    expect(tell(site, fire, isIn('triggered'))).toEqual(['fire active 10']);
    expect(tell(site, isIn('armed_away'), isIn('triggered'))).toEqual(['burglary active -']);
    const later = world(panelHouse());
    tell(later, link, isIn('armed_away'), fire);
    later.pass(120_000);
    expect(tell(later, isIn('triggered'))).toEqual(['burglary active -']);
  });

  it('is not taken back by an opening, and the burglary beside it is', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('armed_away'), fire, isIn('triggered'));
    expect(tell(site, isIn('disarmed'))).toEqual([]);
    const both = world(panelHouse());
    tell(both, link, isIn('armed_away'), fire, isIn('triggered'), alarm(true));
    expect(tell(both, isIn('disarmed'))).toEqual(['burglary_perimeter cancelled 2']);
  });
});

describe('an alarm whose kind its panel says', () => {
  const fire: Signal = { kind: 'zone', source, zone: '10', alarm: true, replay: false };
  const isFire: Signal = { ...isIn('triggered'), told: 'fire' } as Signal;

  it('is that of the zone of this kind, also where its end was missed and a door stands open', () => {
    for (const state of ['armed_away', 'disarmed'] as const) {
      const site = world(panelHouse());
      const door: Signal = { kind: 'zone', source, zone: '2', open: true, replay: false };
      tell(site, link, isIn(state));
      expect(tell(site, fire)).toEqual(['fire active 10']);
      site.ms += 3_600_000;
      expect(tell(site, door, isFire)).toEqual(['fire active 10']);
    }
  });
});

describe('several zones of one alarm', () => {
  it('are counted where they are more than an event names', () => {
    const plan = panelHouse();
    const many = Array.from({ length: 30 }, (_, n) => zone(String(100 + n), 'perimeter'));
    const site = world({ ...plan, zones: [...plan.zones, ...many] });
    const inAlarm = many.map(
      ({ number }): Signal => ({ kind: 'zone', source, zone: number, alarm: true, replay: false }),
    );
    tell(site, link, isIn('disarmed'), ...inAlarm);
    const [event] = site.events(site.signal(isIn('triggered'))).filter(({ class: about }) => about === 'alarm');
    expect(event?.additionalZones).toHaveLength(24);
    expect(event?.detail).toBe('5 more zones');
  });

  it('that waited for the verdict of their panel stand in its one event', () => {
    const site = world(panelHouse());
    const inAlarm = (number: string): Signal => ({ kind: 'zone', source, zone: number, alarm: true, replay: false });
    tell(site, link, isIn('disarmed'));
    expect(tell(site, inAlarm('2'), inAlarm('3'), inAlarm('10'))).toEqual(['fire active 10']);
    tell(site, { kind: 'zone', source, zone: '10', alarm: false, replay: false });
    const [event] = site.events(site.signal(isIn('triggered'))).filter(({ class: about }) => about === 'alarm');
    expect(event).toMatchObject({ zone: '2', additionalZones: ['3'] });
    // Those that were told by an event of their own do not stand in another.
    tell(
      site,
      isIn('disarmed'),
      alarm(false),
      { ...inAlarm('3'), alarm: false } as Signal,
      isIn('armed_away'),
      inAlarm('2'),
    );
    expect(site.events(site.signal(inAlarm('3')))).toMatchObject([{ zone: '3' }]);
    expect(tell(site, isIn('triggered'))).toEqual([]);
  });
});
