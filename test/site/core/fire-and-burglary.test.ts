import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { ArmingWord, Signal } from '#site/model/index.ts';
import { panelHouse, type World, world } from './world.ts';

/** What a panel reports by SIA DC-09; zone 10 is a fire zone, 2 a window, 44 is not configured. */
const source = { kind: 'panel', id: 'main' } as const;
const link: Signal = { kind: 'link', source, layer: 'device', up: true };
const isIn = (state: ArmingWord): Signal => ({ kind: 'partition', source, partition: 'p1', state, replay: false });
const zone = (number: string, alarm: boolean): Signal => ({ kind: 'zone', source, zone: number, alarm, replay: false });
const sabotage = (tamper: boolean): Signal => ({ kind: 'zone', source, zone: '3', tamper, replay: false });
const hour = 3_600_000;
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

  it('takes back the burglary that runs, and no sabotage or 24-hour alarm that was over before', () => {
    const site = world(panelHouse());
    tell(site, link, ...closing, sabotage(true), sabotage(false), zone('13', true), zone('13', false));
    site.pass(3 * hour);
    tell(site, ...window, ...fire);
    expect(tell(site, isIn('disarmed'))).toEqual(['burglary_perimeter cancelled 2']);
  });

  it.each<[string, Signal[]]>([
    ['a sabotage', [...closing, sabotage(true), sabotage(false)]],
    ['a sabotage that lasts', [...closing, sabotage(true)]],
    ['a 24-hour alarm', [isIn('disarmed'), zone('13', true), zone('13', false)]],
  ])('%s of before is not what a fire leaves behind, and is not taken back with it', (_, before) => {
    const site = world(panelHouse());
    tell(site, link, ...before);
    site.pass(3 * hour);
    tell(site, ...fire, isIn('triggered'));
    expect(tell(site, zone('10', false))).toEqual(['fire restored 10']);
    expect(shows(site)).toBe('triggered: fire 10');
    expect(tell(site, isIn('disarmed'))).toEqual([]);
  });

  it.each<[string, Signal[]]>([
    ['plainly', [isIn('triggered')]],
    ['with a word for it', unknown],
  ])('takes back what its panel is in alarm for and tells %s, also where an earlier alarm never ended', (_, story) => {
    const site = world(panelHouse());
    tell(site, link, ...closing, zone('13', true), ...fire, zone('10', false));
    site.pass(3 * hour);
    expect(tell(site, ...story, ...fire)).toEqual(['burglary active -', 'fire active 10']);
    expect(tell(site, isIn('disarmed'))).toEqual(['burglary cancelled -']);
  });

  it('tells the doors that are opened in a burglary, also after a fire; and in a fire alone none', () => {
    const site = world(panelHouse());
    const door = (number: string, open: boolean): Signal => ({
      kind: 'zone',
      source,
      zone: number,
      open,
      replay: false,
    });
    const story = (...before: Signal[]) => {
      tell(site, link, ...closing, door('3', false), ...before);
      return site.kinds(site.signal(door('3', true)));
    };
    expect(story(...window, ...fire)).toEqual(['system:further_zone:active']);
    expect(site.state.partitions.p1?.memory).toContain('3');
    tell(site, zone('10', false), ...opening);
    expect(story(...fire, isIn('triggered'))).toEqual([]);
  });

  it('shows a fire that came first before a burglary, which is told once, and after it', () => {
    const site = world(panelHouse());
    tell(site, link, ...closing, ...fire);
    site.pass(hour);
    expect(tell(site, zone('2', true))).toEqual(['burglary_perimeter active 2']);
    expect(shows(site)).toBe('armed_away: fire 10');
    expect(tell(site, isIn('triggered'))).toEqual([]);
    expect(shows(site)).toBe('triggered: fire 10');
    expect(tell(site, zone('3', true))).toEqual(['burglary_interior active 3']);
    expect(tell(site, zone('10', false))).toEqual(['fire restored 10']);
    expect(shows(site)).toBe('triggered: burglary_perimeter 2');
    expect(tell(site, ...opening)).toContain('burglary_perimeter cancelled 2');
  });

  it('tells the burglary of a zone within a fire of no zone', () => {
    const site = world(panelHouse());
    const told: Signal[] = [
      { kind: 'partition', source, partition: 'p1', state: 'triggered', told: 'fire', replay: false },
      { kind: 'alarm', source, partition: 'p1', alarm: 'fire' },
    ];
    expect(tell(site, link, ...closing, ...told)).toEqual(['fire active -']);
    expect(tell(site, zone('2', true))).toEqual(['burglary_perimeter active 2']);
    expect(shows(site)).toBe('triggered: fire -');
    expect(tell(site, ...opening)).toContain('burglary_perimeter cancelled 2');
  });
});

describe('a fire whose end its panel never tells', () => {
  const dc09 = [{ ...zone('10', true), report: 'f1.0' }] as Signal[];
  const coded = [{ ...zone('10', true), code: { code: '110' } }] as Signal[];
  const cycle = [isIn('armed_away'), isIn('triggered'), isIn('armed_away'), zone('13', true), zone('13', false)];

  it.each([
    ['an SIA DC-09 report', dc09],
    ['a code over MQTT', coded],
  ])('shows, of %s, until the next opening, and not again with what follows; its zone stays in alarm', (_, report) => {
    const site = world(panelHouse());
    tell(site, link, isIn('disarmed'));
    expect(tell(site, ...report)).toEqual(['fire active 10']);
    tell(site, isIn('armed_away'));
    expect(shows(site)).toBe('armed_away: fire 10');
    tell(site, isIn('disarmed'));
    expect(shows(site)).toBe('disarmed: none -');
    tell(site, ...cycle);
    expect(shows(site)).toBe('armed_away: none -');
    expect(site.state.zones['10']?.alarm).toBe(true);
    site.state = readState(writeState(site.state)) ?? site.state;
    tell(site, ...opening, isIn('armed_away'));
    expect(shows(site)).toBe('armed_away: none -');
    tell(site, zone('10', false), ...report.map((one) => ({ ...one, ...('report' in one && { report: 'f2.0' }) })));
    expect(shows(site)).toBe('armed_away: fire 10');
  });

  it('goes on over an opening that was only retained, and while the detector is open', () => {
    const site = world(panelHouse());
    tell(site, link, ...dc09, { ...isIn('disarmed'), replay: true } as Signal);
    expect(shows(site)).toBe('disarmed: fire 10');
    tell(site, { kind: 'zone', source, zone: '10', open: true, replay: false }, ...closing, ...opening);
    expect(shows(site)).toBe('disarmed: fire 10');
  });

  it('goes on over an opening from before it, which its panel sends later', () => {
    const site = world(panelHouse());
    tell(site, link, ...closing);
    site.pass(hour);
    tell(site, ...dc09);
    site.pass(60_000);
    tell(site, { ...isIn('disarmed'), report: 'o1.0', ageMs: 120_000 } as Signal);
    expect(shows(site)).toBe('disarmed: fire 10');
    tell(site, ...closing, { ...isIn('disarmed'), report: 'o2.0', ageMs: 0 } as Signal);
    expect(shows(site)).toBe('disarmed: none -');
  });

  it('comes not into sight again that was stored by an earlier version', () => {
    const site = world(panelHouse());
    tell(site, link, isIn('disarmed'), ...fire, ...closing, isIn('disarmed'));
    const { p1 } = site.state.periods;
    const { inSight: _, ...period } = p1 ?? { bypassed: [], entered: [], signalled: {} };
    site.state = { ...site.state, periods: { ...site.state.periods, p1: period } };
    tell(site, ...closing);
    expect(shows(site)).toBe('armed_away: none -');
  });
});
