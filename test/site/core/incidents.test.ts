import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import { armed, camera, house, panelHouse, partition, says, type World, world, zone } from './world.ts';

/** Safety 8, sentence by sentence. */

const incidents = (site: World) =>
  new Set(site.events(site.log).flatMap(({ incident }) => (incident === undefined ? [] : [incident])));

const trip = (site: World, number: string, times: number) => {
  for (let count = 0; count < times; count += 1) {
    site.open(number);
    site.open(number, false);
  }
};
const alarmsOf = (site: World, number: string) =>
  site.events(site.log).filter(({ class: c, status, zone }) => c === 'alarm' && status === 'active' && zone === number);

describe('signals of one intrusion share an incident', () => {
  it('from the entry over every zone and camera to the cancellation; the next arming period has another', () => {
    const site = armed();
    site.open('1');
    site.pass(10_000);
    site.open('3');
    site.sees('hall', 'person');
    site.pass(20_000);
    site.open('2');
    site.open('2', false);
    site.open('13');
    site.disarm();
    const told = site.events(site.log).filter(({ class: c }) => c === 'alarm' || c === 'system');
    expect(told.map(({ kind, status }) => `${kind} ${status}`)).toEqual(
      expect.arrayContaining([
        'entry_delay_started active',
        'burglary_entry_exit active',
        'burglary_interior active',
        'burglary_perimeter active',
        'burglary_24h active',
        'burglary_entry_exit cancelled',
      ]),
    );
    expect(told.every(({ incident }) => incident !== undefined)).toBe(true);
    expect(incidents(site).size).toBe(1);
    site.open('1', false);
    site.open('3', false);
    site.sees('hall', 'person', { active: false });
    site.open('13', false);
    site.arm({ skipExitDelay: true });
    site.open('2');
    expect(incidents(site).size).toBe(2);
  });

  it('also when the daemon is started anew in the middle', () => {
    const site = armed();
    site.open('1');
    site.state = readState(writeState(site.state)) ?? site.state;
    site.pass(30_000);
    site.open('2');
    expect(incidents(site).size).toBe(1);
  });

  it('each partition has its own, and a silent hold-up stands in none that can be seen', () => {
    const site = armed(
      house({
        partitions: [partition('p1'), partition('p2')],
        zones: [...house().zones, zone('30', 'perimeter', { partitions: ['p2'] })],
      }),
    );
    site.arm({ partition: 'p2', skipExitDelay: true });
    site.open('2');
    const [burglary] = site.events();
    site.open('12');
    const [silent] = site.events();
    site.open('30');
    const [other] = site.events();
    expect(new Set([burglary?.incident, silent?.incident, other?.incident]).size).toBe(3);
    expect(site.state.partitions.p1?.incident).toBe(burglary?.incident);
  });
});

describe('signalled alarms per source and arming period are capped', () => {
  it('source by source, and anew in the next period', () => {
    const site = armed();
    trip(site, '2', 9);
    trip(site, '13', 1);
    expect(alarmsOf(site, '2').map(({ signalToStation }) => signalToStation)).toEqual([
      ...Array(6).fill(true),
      ...Array(3).fill(false),
    ]);
    expect(alarmsOf(site, '13')).toMatchObject([{ signalToStation: true }]);
    site.disarm();
    site.arm({ skipExitDelay: true });
    site.open('2');
    expect(alarmsOf(site, '2').at(-1)).toMatchObject({ signalToStation: true, lane: 'alarm' });
  });

  it('with a trouble that is reported to the cloud, once, and ends with the period', () => {
    const site = armed();
    trip(site, '2', 20);
    site.disarm();
    const told = site.events(site.log).filter(({ kind }) => kind === 'runaway');
    expect(told).toMatchObject([
      { class: 'trouble', status: 'active', zone: '2', partition: 'p1', toCloud: true, lane: 'trouble' },
      { class: 'trouble', status: 'restored', zone: '2' },
    ]);
  });

  it('also over a restart', () => {
    const site = armed();
    trip(site, '2', 5);
    site.state = readState(writeState(site.state)) ?? site.state;
    trip(site, '2', 2);
    expect(alarmsOf(site, '2').map(({ signalToStation }) => signalToStation)).toEqual([...Array(6).fill(true), false]);
  });

  it.each(['fire', 'co', 'gas', 'medical', 'panic_audible', 'panic_silent'] as const)('never for %s', (type) => {
    const site = armed(house({ zones: [...house().zones, zone('40', type)] }));
    trip(site, '40', 30);
    const alarms = alarmsOf(site, '40');
    expect(alarms).toHaveLength(30);
    expect(alarms.every(({ signalToStation, lane }) => signalToStation && lane === 'alarm')).toBe(true);
    expect(site.kinds(site.log).join()).not.toContain('runaway');
  });
});

describe('when the entry delay starts', () => {
  const early = (site: World) => site.events().find(({ kind }) => kind === 'entry_delay_started');

  it('an event with a picture leaves at once, before anything is known, and does not call the station', () => {
    const site = armed();
    site.open('1');
    expect(early(site)).toMatchObject({
      toCloud: true,
      lane: 'alarm',
      signalToStation: false,
      media: [{ kind: 'snapshot', camera: 'yard', offsetMs: 0 }],
    });
    expect(site.last.some(({ kind }) => kind === 'capture')).toBe(true);
  });

  it('of the cameras of the partition where the door has none, also those with pictures only of alarms', () => {
    const zones = house().zones.map((one) => (one.number === '1' ? { ...one, cameras: [] } : one));
    const site = armed(
      house({ zones, cameras: [camera('lobby', { pictures: 'alarm' }), camera('hall', { zone: '21' })] }),
    );
    site.open('1');
    expect(early(site)?.media.map(({ camera: id, offsetMs }) => [id, offsetMs])).toEqual([
      ['lobby', 0],
      ['hall', 0],
    ]);
  });

  it('also where a panel decides, which only says that it is pending', () => {
    const site = world(panelHouse());
    site.signal(says('armed_away'));
    site.open('1');
    site.signal(says('pending'));
    expect(early(site)).toMatchObject({
      zone: '1',
      toCloud: true,
      signalToStation: false,
      media: [{ camera: 'yard' }],
    });
  });
});
