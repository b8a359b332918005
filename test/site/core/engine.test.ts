import { describe, expect, it } from 'vitest';
import { siteView } from '#site/core/index.ts';
import { armed, camera, house, link, partition, stamp, world, zone } from './world.ts';

describe('the story of the demo', () => {
  it('door, entry delay, a person in the hall, end of the delay: triggered, two alarms with pictures, one incident', () => {
    const site = armed();
    site.open('1');
    expect(site.word()).toBe('pending');
    const [entry] = site.events();
    expect(entry).toMatchObject({
      kind: 'entry_delay_started',
      class: 'system',
      lane: 'alarm',
      signalToStation: false,
    });
    expect(entry?.media).toEqual([{ index: 0, kind: 'snapshot', camera: 'yard', offsetMs: 0 }]);
    expect(site.last).toContainEqual({ kind: 'capture', ref: 0 });

    site.ms += 5_000;
    site.sees('hall', 'person');
    expect(site.kinds()).toEqual(['camera:person:active']);
    expect(site.word()).toBe('pending');

    const effects = site.pass(25_000);
    expect(site.word()).toBe('triggered');
    const alarms = site.events(effects);
    expect(alarms.map(({ kind, zone, contactId, sia }) => [kind, zone, contactId, sia])).toEqual([
      ['burglary_entry_exit', '1', '134', 'BA'],
      ['burglary_interior', '21', '132', 'BA'],
    ]);
    expect(new Set([entry?.incident, ...alarms.map(({ incident }) => incident)]).size).toBe(1);
    expect(alarms.every(({ signalToStation, lane }) => signalToStation && lane === 'alarm')).toBe(true);
    expect(alarms[0]?.evidence).toContainEqual({
      type: 'detection',
      camera: 'hall',
      detection: 'person',
      seconds_ago: 25,
    });
    expect(alarms[0]?.media.map(({ camera, offsetMs }) => [camera, offsetMs])).toEqual([
      ['yard', 0],
      ['yard', 2000],
      ['yard', 4000],
    ]);
    expect(alarms[1]?.media.map(({ camera }) => camera)).toEqual(['hall', 'hall', 'hall']);
    expect(alarms[0]?.arming).toEqual({ state: 'triggered', seq: 4 });
    expect(site.state.partitions.p1?.memory).toEqual(['1', '21']);
  });

  it('a disarm with a good code in time ends it without an alarm', () => {
    const site = armed();
    site.open('1');
    site.pass(29_000);
    expect(site.disarm()).toMatchObject({ outcome: 'done', state: 'disarmed', final: true });
    expect(site.kinds()).toEqual(['arming:disarmed:active']);
    expect(site.kinds(site.pass(600_000))).toEqual([]);
    expect(site.word()).toBe('disarmed');
  });
});

describe('arming', () => {
  it('arming runs the exit delay and only the armed word is an event (CID 401, SIA CL)', () => {
    const site = world();
    expect(site.arm()).toMatchObject({ outcome: 'done', state: 'arming', seq: 1 });
    expect(site.events()).toEqual([]);
    expect(site.kinds(site.pass(59_999))).toEqual([]);
    const [event] = site.events(site.pass(1));
    expect(event).toMatchObject({ class: 'arming', kind: 'armed_away', contactId: '401', sia: 'CL', actor: 'anna' });
  });

  it.each([
    ['home', 'armed_home', '441', 'CG'],
    ['night', 'armed_night', '441', 'CG'],
    ['vacation', 'armed_vacation', '401', 'CL'],
    ['custom', 'armed_custom_bypass', '401', 'CL'],
  ] as const)('mode %s ends in %s with Contact ID %s and SIA %s', (mode, word, contactId, sia) => {
    const site = world();
    site.arm({ mode, skipExitDelay: true });
    expect(site.word()).toBe(word);
    expect(site.events()[0]).toMatchObject({ kind: word, contactId, sia });
  });

  it.each([
    ['cloud', '407', 'CQ', 'OQ'],
    ['schedule', '403', 'CA', 'OA'],
  ] as const)('source %s opens and closes with Contact ID %s', (source, contactId, close, open) => {
    const site = world();
    site.arm({ source, actor: 'x', code: 'none', skipExitDelay: true });
    expect(site.events()[0]).toMatchObject({ contactId, sia: close });
    site.disarm({ source, actor: 'x', code: 'none' });
    expect(site.events()[0]).toMatchObject({ contactId, sia: open });
  });

  it('a zone that was never heard is not closed: NOT_READY names it', () => {
    const site = world(house(), { quiet: false });
    expect(site.arm()).toMatchObject({
      outcome: 'refused',
      error: { code: 'NOT_READY', field: 'bypass', zones: ['1', '2', '3', '4', '13', '21'] },
    });
    expect(site.word()).toBe('disarmed');
  });

  it('an interior zone does not keep the mode home from being armed', () => {
    const site = world();
    site.open('3');
    expect(site.arm().error).toEqual({ code: 'NOT_READY', zones: ['3'] });
    expect(site.arm({ mode: 'home' })).toMatchObject({ outcome: 'done' });
  });

  it('force leaves open zones out until the disarm, and says so in a local event', () => {
    const site = world();
    site.open('2');
    expect(site.arm({ force: true, skipExitDelay: true }).leftOut).toEqual(['2']);
    expect(site.kinds()).toEqual(['arming:armed_away:active', 'bypass:zone_bypassed:active']);
    expect(site.state.zones['2']?.bypassed).toBe(true);
    site.open('2', false);
    site.open('2');
    expect(site.word()).toBe('armed_away');
    site.disarm();
    expect(site.state.zones['2']?.bypassed).toBe(false);
  });

  it.each(['10', '11', '13'])('safety 1: zone %s, which always watches, is never left out', (number) => {
    const site = world();
    site.arm({ bypass: [number] });
    expect(site.word()).toBe('disarmed');
    expect(site.last.at(-1)).toMatchObject({ result: { error: { code: 'NOT_ALLOWED', zones: [number] } } });
    site.open(number);
    site.disarm();
    expect(site.arm({ force: true }).error).toEqual({ code: 'NOT_READY', field: 'bypass', zones: [number] });
    site.open('2');
    expect(site.arm().error, 'no bypass is offered where it would not help').toMatchObject({ field: 'bypass' });
  });

  it('a tampered zone blocks arming', () => {
    const site = world();
    site.open('2', false, { tamper: true });
    expect(site.arm().error).toEqual({ code: 'NOT_READY', zones: ['2'] });
  });

  it('a camera that is away keeps its zone from being ready', () => {
    const site = world();
    site.signal(link(false, { kind: 'camera', id: 'hall' }));
    expect(site.arm().error).toEqual({ code: 'NOT_READY', zones: ['21'] });
    expect(site.state.zones['21']).toMatchObject({ open: null, online: false });
  });

  it('an exit door still open at the end of the exit delay is an entry, then an exit error alarm (CID 374)', () => {
    const site = world();
    site.arm();
    site.open('1');
    expect(site.word()).toBe('arming');
    const kinds = site.kinds(site.pass(60_000));
    expect(kinds).toEqual(['arming:armed_away:active', 'system:entry_delay_started:active']);
    expect(site.word()).toBe('pending');
    const [alarm] = site.events(site.pass(30_000));
    expect(alarm).toMatchObject({ kind: 'exit_error', contactId: '374', sia: 'EA', signalToStation: true });
    expect(alarm?.evidence).toContainEqual({ type: 'recent_close', seconds: 30 });
  });

  it('a partition without exit and entry delay arms and alarms at once', () => {
    const site = world(house({ partitions: [partition('p1', { exitDelayMs: 0, entryDelayMs: 0 })] }));
    site.arm();
    expect(site.word()).toBe('armed_away');
    site.open('1');
    expect(site.word()).toBe('triggered');
    expect(site.kinds()).toEqual(['alarm:burglary_entry_exit:active']);
  });
});

describe('zones', () => {
  it.each([
    ['1', 'away', 'pending', 'system:entry_delay_started:active'],
    ['2', 'away', 'triggered', 'alarm:burglary_perimeter:active'],
    ['3', 'away', 'triggered', 'alarm:burglary_interior:active'],
    ['4', 'away', 'triggered', 'alarm:burglary_day_night:active'],
    ['13', 'away', 'triggered', 'alarm:burglary_24h:active'],
    ['11', 'away', 'triggered', 'alarm:panic:active'],
    ['3', 'home', 'armed_home', undefined],
    ['3', 'night', 'armed_night', undefined],
    ['2', 'home', 'triggered', 'alarm:burglary_perimeter:active'],
  ] as const)('zone %s in mode %s: %s', (number, mode, word, kind) => {
    const site = armed(house(), mode);
    site.open(number);
    expect(site.word()).toBe(word);
    expect(site.kinds()).toEqual(kind === undefined ? [] : [kind]);
  });

  it.each([
    ['1', 'disarmed', []],
    ['2', 'disarmed', []],
    ['4', 'disarmed', ['trouble:day_trouble:active']],
    ['13', 'triggered', ['alarm:burglary_24h:active']],
    ['11', 'triggered', ['alarm:panic:active']],
  ] as const)('zone %s while disarmed: %s', (number, word, kinds) => {
    const site = world();
    site.open(number);
    expect(site.word()).toBe(word);
    expect(site.kinds()).toEqual(kinds);
  });

  it('safety 1: fire is an alarm while disarmed, shows as triggered as long as it lasts, and is no transition', () => {
    const site = world();
    site.open('10');
    expect(site.events()[0]).toMatchObject({ kind: 'fire', contactId: '110', sia: 'FA', signalToStation: true });
    expect(site.word()).toBe('disarmed');
    const view = () => siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 0 });
    expect(view().partitions[0]?.state).toBe('triggered');
    site.open('10', false);
    expect(site.events()[0]).toMatchObject({ status: 'restored', sia: 'FH', signalToStation: false });
    expect(view().partitions[0]?.state).toBe('disarmed');
    expect(site.state.partitions.p1?.seq).toBe(0);
  });

  it('safety 1: fire does not end the arming beneath it', () => {
    const site = armed();
    site.open('10');
    expect(site.word()).toBe('armed_away');
    site.open('2');
    expect(site.word()).toBe('triggered');
  });

  it('a follower is quiet during an entry delay and a perimeter zone cuts the delay short', () => {
    const site = armed();
    site.open('1');
    site.open('3');
    expect(site.kinds()).toEqual([]);
    site.open('2');
    expect(site.word()).toBe('triggered');
    expect(site.events().map(({ zone }) => zone)).toEqual(['2', '1', '3']);
    expect(site.kinds(site.pass(60_000))).toEqual([]);
  });

  it('signalRestores sends restores to the station too', () => {
    const site = armed(house({ signalRestores: true }));
    site.open('2');
    site.open('2', false);
    expect(site.events()[0]).toMatchObject({ status: 'restored', sia: 'BH', signalToStation: true });
  });

  it('a disarm during an alarm cancels it (CID 406) before the opening', () => {
    const site = armed();
    site.open('2');
    site.disarm();
    expect(site.kinds()).toEqual(['alarm:burglary_perimeter:cancelled', 'arming:disarmed:active']);
    expect(site.events()[0]).toMatchObject({ contactId: '406', sia: 'OC', incident: 'p1-1' });
  });

  it('safety 8: the seventh alarm of one source in an arming period is not signalled, and the runaway is reported', () => {
    const site = armed();
    for (let count = 0; count < 8; count += 1) {
      site.open('2');
      site.open('2', false);
    }
    const alarms = site.events(site.log).filter(({ class: c, status }) => c === 'alarm' && status === 'active');
    expect(alarms.map(({ signalToStation }) => signalToStation)).toEqual([...Array(6).fill(true), false, false]);
    expect(alarms.at(-1)).toMatchObject({ lane: 'activity', media: [] });
    expect(site.kinds(site.log).filter((kind) => kind.includes('runaway'))).toEqual(['trouble:runaway:active']);
    site.disarm();
    expect(site.kinds()).toContain('trouble:runaway:restored');
  });

  it('safety 8: life safety and hold-up have no cap', () => {
    const site = world();
    for (let count = 0; count < 9; count += 1) {
      site.open('10');
      site.open('10', false);
    }
    const fires = site.events(site.log).filter(({ kind, status }) => kind === 'fire' && status === 'active');
    expect(fires.map(({ signalToStation }) => signalToStation)).toEqual(Array(9).fill(true));
  });

  it('tamper is a trouble, and an alarm as well while armed', () => {
    const calm = world();
    calm.open('2', false, { tamper: true });
    expect(calm.kinds()).toEqual(['trouble:tamper:active']);
    const site = armed();
    site.open('2', false, { tamper: true });
    expect(site.kinds()).toEqual(['alarm:tamper:active', 'trouble:tamper:active']);
    site.open('2', false, { tamper: false });
    expect(site.kinds()).toEqual(['trouble:tamper:restored']);
  });

  it('troubles are pairs: a repeat of either half is no event', () => {
    const site = world();
    const kinds = [true, true, false, false].flatMap((lowBattery) => site.kinds(site.open('2', false, { lowBattery })));
    expect(kinds).toEqual(['trouble:sensor_battery:active', 'trouble:sensor_battery:restored']);
  });
});

describe('what nobody on site may see (safety 4)', () => {
  it('silent panic raises a silent alarm and changes nothing a view shows', () => {
    const site = world();
    const before = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 0 });
    site.open('12');
    expect(site.events()).toMatchObject([
      {
        kind: 'panic_silent',
        contactId: '122',
        sia: 'HA',
        lane: 'alarm',
        silent: true,
        signalToStation: true,
        toCloud: true,
      },
    ]);
    expect(siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 0 })).toEqual(before);
    site.open('12');
    expect(site.events()).toEqual([]);
  });

  it('I11: a duress disarm gives the same transition, arming event, reply and rules as an ordinary one', () => {
    const run = (code: 'ok' | 'duress') => {
      const site = armed();
      site.disarm({ code });
      return { effects: site.last, rules: site.rules, partitions: site.state.partitions };
    };
    const [plain, forced] = [run('ok'), run('duress')];
    const seen = forced.effects.filter((effect) => effect.kind !== 'event' || effect.event.silent !== true);
    const open = seen.filter((effect) => effect.kind !== 'audit' || effect.entry.visibility === undefined);
    expect(open.filter(({ kind }) => kind !== 'capture')).toEqual(plain.effects);
    const sealed = seen.flatMap((effect) => (effect.kind === 'audit' && !open.includes(effect) ? [effect.entry] : []));
    expect(sealed).toMatchObject([{ kind: 'command', action: 'duress', actor_ref: 'anna', visibility: 'auditor' }]);
    expect(forced.rules).toEqual(plain.rules);
    expect(forced.partitions).toEqual(plain.partitions);
    const [duress] = forced.effects.flatMap((effect) =>
      effect.kind === 'event' && effect.event.silent ? [effect.event] : [],
    );
    expect(duress).toMatchObject({
      kind: 'duress',
      class: 'alarm',
      contactId: '121',
      sia: 'HA',
      signalToStation: true,
    });
  });
});

describe('cameras', () => {
  it.each([
    ['interior_follower', 'person', true],
    ['interior_follower', 'motion', true],
    ['interior_follower', 'animal', false],
    ['video_person_interior', 'motion', false],
    ['video_person_interior', 'loitering', true],
    ['video_person_perimeter', 'person', true],
    ['video_line_cross', 'line', true],
  ] as const)('zone type %s, detection %s: alarm %s', (type, detection, alarm) => {
    const site = armed(house({ zones: [zone('21', type, { source: { kind: 'camera', id: 'hall' } })] }));
    site.sees('hall', detection);
    expect(site.word()).toBe(alarm ? 'triggered' : 'armed_away');
  });

  it('a plan that names detections is taken by its word', () => {
    const zones = [zone('21', 'perimeter', { source: { kind: 'camera', id: 'hall' }, detections: ['animal'] })];
    const site = armed(house({ zones }));
    site.sees('hall', 'person');
    expect(site.word()).toBe('armed_away');
    site.sees('hall', 'animal');
    expect(site.word()).toBe('triggered');
  });

  it('a zone stays open while any of its detections lasts', () => {
    const site = world();
    site.sees('hall', 'person');
    site.sees('hall', 'vehicle');
    site.sees('hall', 'person', { active: false });
    expect(site.state.zones['21']?.open).toBe(true);
    site.sees('hall', 'vehicle', { active: false });
    expect(site.state.zones['21']?.open).toBe(false);
  });

  it('a pulse alarms and leaves the zone closed', () => {
    const site = armed();
    site.sees('hall', 'person', { pulse: true });
    expect(site.kinds()).toEqual(['alarm:burglary_interior:active']);
    expect(site.state.zones['21']).toMatchObject({ open: false, alarm: false });
  });

  it('a replay raises nothing where the zone was known, and an alarm where it was not', () => {
    const known = armed();
    known.sees('hall', 'person', { active: false, replay: true });
    known.sees('hall', 'person', { replay: true });
    expect(known.word()).toBe('armed_away');
    const unknown = armed();
    unknown.sees('hall', 'person', { replay: true });
    expect(unknown.word()).toBe('triggered');
    expect(unknown.events()[0]).toMatchObject({ late: true });
  });

  it('a detection ends by whatever topic or rule tells it', () => {
    const site = armed();
    site.sees('hall', 'person', { topic: 'RuleEngine/PeopleDetector/People', rule: 'one' });
    site.sees('hall', 'person', { active: false, topic: 'UserAlarm/IVA/HumanShapeDetect' });
    expect(site.state.zones['21']?.open).toBe(false);
  });

  it('a detection that begins anew has ended unheard: it is an alarm of its own', () => {
    const site = armed();
    site.sees('hall', 'person');
    const kinds = ['alarm:burglary_interior:restored', 'alarm:burglary_interior:active'];
    expect(site.kinds(site.sees('hall', 'person'))).toEqual(kinds);
    expect(site.state.zones['21']?.open).toBe(true);
  });

  it("the camera's own time goes with what it caused", () => {
    const site = armed();
    const deviceTime = '2017-01-01T00:00:00Z';
    site.sees('hall', 'person', { deviceTime });
    expect(site.events()[0]).toMatchObject({ class: 'alarm', deviceTime });
  });

  it('a pulse told as a present state is no alarm, also where nothing was known', () => {
    const site = armed();
    expect(site.kinds(site.sees('hall', 'line', { pulse: true, replay: true }))).toEqual([]);
    expect(site.word()).toBe('armed_away');
  });

  it('a detection without a zone is a local event that stays on the site', () => {
    const site = armed();
    site.sees('yard', 'person');
    expect(site.events()).toMatchObject([
      { class: 'camera', kind: 'person', lane: 'activity', toCloud: false, media: [] },
    ]);
  });

  it('a covered camera is a trouble, and a tamper alarm while armed', () => {
    const calm = world();
    calm.sees('hall', 'tamper');
    expect(calm.kinds()).toEqual(['trouble:camera_tamper:active']);
    const site = armed();
    site.sees('hall', 'tamper');
    expect(site.kinds()).toEqual(['alarm:tamper:active', 'trouble:camera_tamper:active']);
  });

  it.each([
    ['alarm', 3],
    ['armed', 3],
    ['always', 3],
  ] as const)('safety 11: pictures %s takes part in an alarm', (pictures, count) => {
    const site = armed(house({ cameras: [camera('hall', { pictures })] }));
    site.open('2');
    expect(site.events()[0]?.media).toHaveLength(count);
  });

  it('the cap on pictures cuts repetitions, not cameras', () => {
    const site = armed(house({ media: { snapshots: 3, intervalMs: 1000, maxPerEvent: 4 } }));
    site.open('2');
    expect(site.events()[0]?.media.map((item) => item.camera)).toEqual(['yard', 'hall', 'yard', 'hall']);
  });
});
