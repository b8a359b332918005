import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { panelHouse, type World, world } from './world.ts';

/** What a panel reports by SIA DC-09; zone 10 is a fire zone, 2 a window, 44 is not configured. */
const source = { kind: 'panel', id: 'main' } as const;
const link: Signal = { kind: 'link', source, layer: 'device', up: true };
const isIn = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });
const zone = (number: string, alarm: boolean): Signal => ({ kind: 'zone', source, zone: number, alarm, replay: false });
const closing = [isIn('armed_away')];
const opening = [isIn('disarmed'), zone('2', false)];
const window = [zone('2', true), isIn('triggered')];
const fire = [zone('10', true)];
const unknown: Signal[] = [
  { kind: 'partition', source, partition: 'p1', state: 'triggered', told: 'burglary', replay: false },
  { kind: 'alarm', source, partition: 'p1', alarm: 'burglary' },
];

const tell = (site: World, ...signals: Signal[]) =>
  signals
    .flatMap((signal) => site.events(site.signal(signal)))
    .filter((event) => event.class === 'alarm')
    .map(({ kind, status, zone: number }) => `${kind} ${status} ${number ?? '-'}`);
const shows = (site: World) => {
  const { state, alarm } = site.state.partitions.p1 ?? {};
  return `${state}: ${alarm?.kind ?? 'none'} ${alarm?.zone ?? '-'}`;
};

describe('a fire beside a burglary, of a panel that reports', () => {
  it.each<[string, Signal[], string]>([
    ['the burglary first', [...closing, ...window, ...fire], 'burglary_perimeter cancelled 2'],
    ['the fire first', [...closing, ...fire, ...window], 'burglary_perimeter cancelled 2'],
    ['a burglary of an unknown zone', [isIn('disarmed'), ...fire, ...unknown], 'burglary cancelled -'],
    ['the same while armed', [...closing, ...unknown, ...fire], 'burglary cancelled -'],
    [
      'another zone in the alarm memory',
      [...closing, ...window, zone('2', false), ...opening, ...fire, ...unknown],
      'burglary cancelled -',
    ],
  ])('%s: the opening takes back the burglary that runs, and the fire goes on in sight', (_, story, cancelled) => {
    const site = world(panelHouse());
    tell(site, link, ...story);
    expect(tell(site, ...opening).filter((one) => one.includes('cancelled'))).toEqual([cancelled]);
    expect(shows(site)).toBe('disarmed: fire 10');
    expect(tell(site, ...closing)).toEqual([]);
    expect(shows(site)).toBe('armed_away: fire 10');
    expect(tell(site, zone('10', false))).toEqual(['fire restored 10']);
    expect(shows(site)).toBe('armed_away: none -');
  });

  it('shows the fire first, and the burglary again when it is out', () => {
    const site = world(panelHouse());
    tell(site, link, ...closing, ...window, ...fire);
    expect(shows(site)).toBe('triggered: fire 10');
    expect(site.state.partitions.p1?.memory).toEqual(['2', '10']);
    expect(tell(site, zone('10', false))).toEqual(['fire restored 10']);
    expect(shows(site)).toBe('triggered: burglary_perimeter 2');
    expect(tell(site, ...opening)).toContain('burglary_perimeter cancelled 2');
    expect(shows(site)).toBe('disarmed: none -');
  });

  it('takes back nothing where no burglary was told', () => {
    const site = world(panelHouse());
    tell(site, link, ...closing, ...window, ...opening, ...closing, ...fire);
    expect(tell(site, isIn('triggered'), isIn('disarmed'))).toEqual([]);
    expect(shows(site)).toBe('disarmed: fire 10');
  });

  it('knows what to take back after a restart', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('disarmed'), ...fire, ...unknown);
    site.state = readState(writeState(site.state)) ?? site.state;
    expect(tell(site, ...opening)).toContain('burglary cancelled -');
  });
});
