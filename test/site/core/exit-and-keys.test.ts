import { describe, expect, it } from 'vitest';
import { adoptPlan, decide } from '#site/core/index.ts';
import { clearMemory } from '#site/core/memory.ts';
import { begin } from '#site/core/work.ts';
import type { PartitionPlan, SitePlan, ZonePlan } from '#site/model/index.ts';
import { armed, camera, house, link, panelHouse, partition, stamp, type World, world, zone } from './world.ts';

const withRules = (rules: Partial<PartitionPlan>, zones: readonly ZonePlan[] = house().zones): SitePlan =>
  house({ partitions: [partition('p1', rules)], zones });

const through = (site: World, number: string) => {
  site.open(number);
  return site.open(number, false);
};

describe('the exit delay', () => {
  const exitLeft = (site: World) => (site.state.partitions.p1?.exitEnds?.mono ?? 0) - stamp(site.ms).mono;

  it('begins anew once when somebody comes back through the exit door', () => {
    const site = world(withRules({ exitRestart: true }));
    site.arm();
    site.pass(20_000);
    through(site, '1');
    expect(exitLeft(site)).toBe(40_000);
    site.pass(20_000);
    through(site, '1');
    expect(exitLeft(site)).toBe(60_000);
    site.pass(20_000);
    through(site, '1');
    expect(exitLeft(site)).toBe(40_000);
    site.pass(39_999);
    expect(site.word()).toBe('arming');
    site.pass(1);
    expect(site.word()).toBe('armed_away');
  });

  it.each([
    ['switched off', false, '1'],
    ['not an exit door', true, '2'],
  ])('does not begin anew where that is %s', (_, exitRestart, number) => {
    const site = world(withRules({ exitRestart }));
    site.arm();
    site.pass(20_000);
    through(site, number);
    through(site, number);
    expect(exitLeft(site)).toBe(40_000);
  });

  it('auto-stay: armed away without anybody leaving is armed home', () => {
    const site = world(withRules({ autoStay: true }));
    site.arm();
    expect(site.events(site.pass(60_000))).toMatchObject([{ kind: 'armed_home', contactId: '441' }]);
    expect(site.state.partitions.p1).toMatchObject({ state: 'armed_home', mode: 'home' });
  });

  it.each<[string, (site: World) => void, Partial<PartitionPlan>]>([
    [
      'somebody left',
      (site) => {
        site.arm();
        through(site, '1');
      },
      { autoStay: true },
    ],
    ['the cloud armed', (site) => void site.arm({ source: 'cloud', code: 'none' }), { autoStay: true }],
    ['a schedule armed', (site) => void site.arm({ source: 'schedule', code: 'none' }), { autoStay: true }],
    ['it is switched off', (site) => void site.arm(), {}],
    [
      'it was armed before (C10)',
      (site) => {
        site.arm({ mode: 'vacation', skipExitDelay: true });
        site.arm({ mode: 'away' });
      },
      { autoStay: true },
    ],
  ])('auto-stay: away stays away where %s', (_, story, rules) => {
    const site = world(withRules(rules));
    story(site);
    site.pass(60_000);
    expect(site.word()).toBe('armed_away');
  });

  it('auto-stay needs an exit door', () => {
    const site = world(withRules({ autoStay: true }, [zone('2', 'perimeter')]));
    site.arm();
    site.pass(60_000);
    expect(site.word()).toBe('armed_away');
  });

  it('a final exit door that closes ends it at once; what is open then is an exit error', () => {
    const zones = [zone('1', 'entry_exit_1'), zone('5', 'final_exit')];
    const site = world(withRules({}, zones));
    site.arm();
    site.open('5');
    expect(site.word()).toBe('arming');
    site.open('5', false);
    expect(site.word()).toBe('armed_away');
    expect(site.kinds(site.pass(3_600_000))).toEqual([]);
    expect(site.kinds(site.open('5'))).toEqual(['system:entry_delay_started:active']);
    const other = world(withRules({}, zones));
    other.arm();
    other.open('1');
    through(other, '5');
    expect(other.word()).toBe('pending');
    const [alarm] = other.events(other.pass(30_000));
    expect(alarm).toMatchObject({ kind: 'exit_error', contactId: '374', sia: 'EA' });
    expect(alarm?.evidence).toContainEqual({ type: 'exit_error' });
  });
});

describe('key switches', () => {
  const plan = house({
    zones: [...house().zones, zone('40', 'key_switch_momentary'), zone('41', 'key_switch_maintained')],
  });

  /** The panel has been heard for a while. */
  const steady = (options?: { storeLost: boolean }): World => {
    const site = world(plan, options);
    site.pass(10_000);
    return site;
  };

  it('momentary: each turn changes between armed away and disarmed (CID 409, SIA CS and OS)', () => {
    const site = steady();
    through(site, '40');
    expect(site.word()).toBe('arming');
    expect(site.events(site.pass(60_000))).toMatchObject([
      { kind: 'armed_away', contactId: '409', sia: 'CS', actor: 'key_switch:40', source: 'panel' },
    ]);
    expect(site.events(site.open('40'))).toMatchObject([{ kind: 'disarmed', contactId: '409', sia: 'OS' }]);
    expect(site.word()).toBe('disarmed');
    site.open('40', false);
    expect(site.word()).toBe('disarmed');
  });

  it('maintained: armed while it is open', () => {
    const site = steady();
    site.open('41');
    site.pass(60_000);
    expect(site.word()).toBe('armed_away');
    site.open('41', false);
    expect(site.word()).toBe('disarmed');
  });

  it('a turn during an alarm takes it back', () => {
    const site = armed(plan);
    site.open('2');
    expect(site.kinds(site.open('40'))).toEqual(['alarm:burglary_perimeter:cancelled', 'arming:disarmed:active']);
  });

  it('what is not ready is said, since a key switch cannot answer (CID 454)', () => {
    const site = steady();
    site.open('2');
    expect(site.events(site.open('40'))).toMatchObject([
      { class: 'trouble', kind: 'fail_to_arm', contactId: '454', zone: '40', detail: 'not ready: zones 2' },
    ]);
    expect(site.word()).toBe('disarmed');
  });

  const turns = ['40', '41'] as const;
  /** Armed, and the switch stands where its next edge would disarm. */
  const ready = (number: string): World => {
    const site = armed(plan);
    if (number === '41') site.open('41');
    return site;
  };
  const disarms = (number: string) => number === '40';

  it.each(turns)('I3: switch %s: the first level after a start is where it stands, never a disarm', (number) => {
    for (const sameBoot of [true, false]) {
      const site = ready(number);
      const at = stamp(site.ms, sameBoot ? {} : { boot: 'boot-2' });
      const start = { at, kind: 'started', sameBoot, storeLost: false } as const;
      site.state = decide(plan, adoptPlan(plan, site.state, at), start).state;
      site.open(number, disarms(number));
      expect(site.word()).toBe('armed_away');
    }
  });

  it.each(turns)('I3: switch %s: a replay never disarms', (number) => {
    const site = ready(number);
    site.open(number, disarms(number), { replay: true });
    expect(site.word()).toBe('armed_away');
  });

  it.each(turns)('I3: switch %s: a turn while the panel was away disarms nothing', (number) => {
    const site = ready(number);
    site.signal(link(false));
    site.signal(link(true));
    site.open(number, disarms(number));
    expect(site.word()).toBe('armed_away');
  });

  it.each([0, 9_999])('I3: turns that waited in the broker do nothing, %s ms after the link came up', (ms) => {
    const site = armed(plan);
    site.signal(link(false));
    site.signal(link(true));
    site.pass(ms);
    for (const open of [true, false, true, false]) site.open('40', open);
    expect(site.word()).toBe('armed_away');
    site.pass(10_000);
    site.open('40');
    expect(site.word()).toBe('disarmed');
  });

  it.each(turns)(
    'I3: switch %s: a turn that waited in the broker does nothing, however long the queue takes',
    (number) => {
      const site = ready(number);
      site.pass(3_600_000);
      site.open(number, disarms(number), { waited: {} });
      expect(site.word()).toBe('armed_away');
      site.open(number, !disarms(number));
      site.open(number, disarms(number));
      // The maintained one was turned to armed, as it is, and then to disarmed.
      expect(site.word()).toBe('disarmed');
    },
  );

  it('I3: after a lost store a key switch arms and does not disarm', () => {
    const site = steady({ storeLost: true });
    site.open('41');
    expect(site.word()).toBe('arming');
    const other = steady({ storeLost: true });
    other.open('41', false);
    other.open('41', true, { replay: true });
    other.open('41', false);
    expect(other.word()).toBe('unknown');
  });

  it('safety 3: what moves in the first minute after a start of the machine is no turn', () => {
    const site = armed(plan);
    const at = stamp(site.ms, { boot: 'boot-2' });
    const begun = decide(plan, adoptPlan(plan, site.state, at), {
      at,
      kind: 'started',
      sameBoot: false,
      storeLost: false,
    });
    const levels = [false, true].map(
      (open) => ({ kind: 'zone', zone: '40', source: { kind: 'panel', id: 'main' }, open, replay: false }) as const,
    );
    let { state } = begun;
    for (const signal of levels) state = decide(plan, state, { at, kind: 'signal', signal }).state;
    expect(state.partitions.p1?.state).toBe('armed_away');
  });
});

describe('chime', () => {
  const zones = [
    zone('1', 'entry_exit_1', { chime: true }),
    zone('2', 'perimeter'),
    zone('21', 'video_person_perimeter', { source: { kind: 'camera', id: 'hall' }, chime: true }),
  ];
  const plan = house({ zones, cameras: [camera('hall', { zone: '21' })] });

  it('a zone with a chime sounds while disarmed, on the site only', () => {
    const site = world(plan);
    expect(site.events(site.open('1'))).toMatchObject([
      {
        class: 'system',
        kind: 'chime',
        zone: '1',
        toCloud: false,
        signalToStation: false,
        lane: 'activity',
        media: [],
      },
    ]);
    expect(site.kinds(site.open('1'))).toEqual([]);
    expect(site.kinds(site.open('2'))).toEqual([]);
    expect(site.kinds(site.sees('hall', 'person'))).toContain('system:chime:active');
  });

  it('is quiet while armed and for a replay, and sounds beside a panel too', () => {
    const away = armed(plan);
    expect(away.kinds(away.open('1'))).not.toContain('system:chime:active');
    const site = world(plan);
    expect(site.kinds(site.open('1', true, { replay: true }))).toEqual([]);
    const beside = world(panelHouse({ zones }));
    beside.signal({
      kind: 'partition',
      source: { kind: 'panel', id: 'main' },
      partition: 'p1',
      state: 'disarmed',
      replay: false,
    });
    expect(beside.kinds(beside.open('1'))).toEqual(['system:chime:active']);
  });
});

describe('alarm memory', () => {
  it('lasts over the disarm, and ends with the next arming or when somebody clears it', () => {
    const site = armed();
    site.open('2');
    const during = begin(site.plan, site.state, stamp(site.ms));
    expect(clearMemory(during, 'p1')).toBe(false);
    site.open('2', false);
    site.disarm();
    expect(site.state.partitions.p1?.memory).toEqual(['2']);
    const work = begin(site.plan, site.state, stamp(site.ms));
    expect(clearMemory(work, 'p1')).toBe(true);
    expect(work.state.partitions.p1?.memory).toEqual([]);
    site.arm();
    expect(site.state.partitions.p1?.memory).toEqual([]);
  });
});
