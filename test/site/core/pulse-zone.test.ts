import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { ZoneType } from '#site/model/index.ts';
import { house, link, stamp, type World, world, zone } from './world.ts';

/** Safety 1: what watches always tells each alarm, also where the camera tells pulses without an end. */

const hall = { kind: 'camera', id: 'hall' } as const;
const seen = (type: ZoneType) =>
  house({ zones: [zone('21', type, { source: hall, detections: ['line', 'intrusion'] })] });
const told = (site: World) =>
  site.events(site.log).flatMap(({ class: c, kind, status }) => (c === 'alarm' ? [`${kind} ${status}`] : []));
const crosses = (site: World) => site.sees('hall', 'line', { pulse: true });

describe('pulses of a zone that watches always', () => {
  it.each([
    ['24h_burglary', 'burglary_24h'],
    ['tamper_24h', 'tamper'],
    ['fire', 'fire'],
    ['medical', 'medical'],
    ['panic_audible', 'panic'],
  ] as const)('%s: each is an alarm, in one incident while the alarm lasts', (type, kind) => {
    const site = world(seen(type));
    for (let n = 0; n < 4; n += 1) {
      crosses(site);
      site.pass(12_000);
    }
    expect(told(site)).toEqual(Array.from({ length: 4 }, () => `${kind} active`));
    const incidents = site.events(site.log).flatMap(({ incident }) => incident ?? []);
    expect(new Set(incidents).size).toBe(1);
    expect(site.state.zones['21']).toMatchObject({ open: false, alarm: true });
  });

  it.each(['24h_burglary', 'fire'] as const)(
    '%s: the alarm ends by itself after the last one, and the next night has its own',
    (type) => {
      const site = world(seen(type));
      crosses(site);
      site.pass(50_000);
      crosses(site);
      site.pass(59_000);
      expect(site.state.zones['21']?.alarm).toBe(true);
      site.pass(1000);
      expect(site.state.zones['21']?.alarm).toBe(false);
      expect(told(site).map((words) => words.split(' ')[1])).toEqual(['active', 'active', 'restored']);
      site.pass(86_400_000);
      site.log.length = 0;
      crosses(site);
      expect(told(site)).toHaveLength(1);
    },
  );

  it('the cap of an intrusion counts for them (safety 8), never for life safety', () => {
    const burglary = world(seen('24h_burglary'));
    const fire = world(seen('fire'));
    for (let n = 0; n < 20; n += 1) for (const site of [burglary, fire]) crosses(site);
    const signalled = (site: World) =>
      site.events(site.log).filter((event) => event.signalToStation && event.class === 'alarm');
    expect(signalled(burglary)).toHaveLength(6);
    expect(signalled(fire)).toHaveLength(20);
  });

  it('a fire shows on the partition as long as its alarm does', () => {
    const site = world(seen('fire'));
    crosses(site);
    expect(site.state.partitions.p1?.alarm).toMatchObject({ kind: 'fire', zone: '21' });
    site.pass(60_000);
    expect(site.state.partitions.p1?.alarm).toBeUndefined();
  });

  it('what lasts takes the alarm of a pulse over, and ends it', () => {
    const site = world(seen('fire'));
    crosses(site);
    site.sees('hall', 'intrusion');
    site.pass(600_000);
    expect(site.state.zones['21']).toMatchObject({ open: true, alarm: true });
    site.sees('hall', 'intrusion', { active: false });
    expect(told(site)).toEqual(['fire active', 'fire active', 'fire restored']);
  });

  it('the end comes over a restart as well', () => {
    const site = world(seen('fire'));
    crosses(site);
    const read = readState(writeState(site.state));
    if (read === undefined) throw new Error('the state was not read');
    site.state = read;
    site.ms += 90_000;
    site.send({ kind: 'started', sameBoot: true, storeLost: false, at: stamp(site.ms) });
    expect(site.state.zones['21']?.alarm).toBe(false);
    expect(told(site)).toEqual(['fire active', 'fire restored']);
  });
});

describe('an alarm that ended while its camera was away', () => {
  it('holds back no later one, and is shown no longer than a minute', () => {
    const site = world(seen('fire'));
    site.sees('hall', 'intrusion');
    site.signal(link(false, hall));
    site.pass(600_000);
    site.signal(link(true, hall));
    site.sees('hall', 'intrusion', { active: false, replay: true });
    site.pass(10_000);
    site.sees('hall', 'intrusion');
    site.sees('hall', 'intrusion', { active: false });
    expect(told(site)).toEqual(['fire active', 'fire active', 'fire restored']);
    site.signal(link(false, hall));
    site.signal(link(true, hall));
    site.log.length = 0;
    site.sees('hall', 'intrusion', { replay: true });
    site.signal(link(false, hall));
    site.signal(link(true, hall));
    site.sees('hall', 'intrusion', { active: false, replay: true });
    site.pass(60_000);
    expect(told(site)).toEqual(['fire active', 'fire restored']);
  });

  it('one that still lasts then is no other', () => {
    const site = world(seen('fire'));
    site.sees('hall', 'intrusion');
    site.signal(link(false, hall));
    site.signal(link(true, hall));
    site.sees('hall', 'intrusion', { replay: true });
    expect(told(site)).toEqual(['fire active']);
  });
});

/** Many cameras never tell how things stand: after an outage they only tell the next change. */
describe('an alarm that ended while a camera was away that tells nothing at its return', () => {
  const outage = (site: World, back: number) => {
    site.signal(link(false, hall));
    site.pass(600_000);
    site.signal(link(true, hall));
    site.pass(back);
    site.log.length = 0;
  };
  const wired = (type: ZoneType) => house({ zones: [zone('21', type, { source: hall, input: '1' })] });
  const contact = (site: World, open: boolean, replay = false) =>
    site.signal({ kind: 'zone', source: hall, zone: '21', open, replay });

  it('what it sees then is another one, and the zone comes to rest', () => {
    const site = world(seen('fire'));
    site.sees('hall', 'intrusion');
    outage(site, 20_000);
    site.sees('hall', 'intrusion');
    expect(told(site)).toEqual(['fire active']);
    outage(site, 59_000);
    expect(site.state.zones['21']?.alarm).toBe(true);
    site.pass(1000);
    expect(site.state.zones['21']).toMatchObject({ open: null, alarm: false });
    expect(told(site)).toEqual(['fire restored']);
    site.sees('hall', 'intrusion');
    expect(told(site)).toEqual(['fire restored', 'fire active']);
  });

  it.each([
    ['fire', 'fire'],
    ['panic_audible', 'panic'],
    ['panic_silent', 'panic_silent'],
  ] as const)('%s: so with a contact wired to it', (type, kind) => {
    const site = world(wired(type));
    contact(site, false);
    contact(site, true);
    outage(site, 20_000);
    contact(site, true);
    expect(told(site)).toEqual([`${kind} active`]);
    outage(site, 86_400_000);
    contact(site, true);
    contact(site, true);
    expect(told(site)).toEqual([`${kind} active`]);
  });

  it.each(['fire', 'panic_silent'] as const)(
    '%s: a contact that is still held, told at the return, is no other',
    (type) => {
      for (const replay of [true, false]) {
        const site = world(wired(type));
        contact(site, true);
        outage(site, 5000);
        contact(site, true, replay);
        site.pass(600_000);
        contact(site, true);
        expect(told(site)).toEqual([]);
      }
    },
  );

  it('an alarm that may still last does not end while its camera is away again', () => {
    const site = world(seen('fire'));
    site.sees('hall', 'intrusion');
    outage(site, 5000);
    site.signal(link(false, hall));
    site.pass(600_000);
    expect(told(site)).toEqual([]);
    expect(site.state.zones['21']).toMatchObject({ open: null, alarm: true });
  });
});
