import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readState, siteView, withoutCalls, writeState } from '#site/core/index.ts';
import { type PanicCall, type PanicKind, panicKinds } from '#site/model/index.ts';
import { anyCall, calmHouse, play, type Step, story } from './stories.ts';
import { house, panelHouse, partition, stamp, type World, world, zone } from './world.ts';

const call = (site: World, kind: PanicKind, more: Partial<PanicCall> = {}) =>
  site.send({
    kind: 'panic',
    call: { id: 'c1', kind, source: 'lan', client: 'kp1', partition: 'p1', issuedAt: stamp(site.ms).wall, ...more },
  });
const shop = (more = {}) => house({ partitions: [partition('p1', more), partition('p2')] });
const alarmsOf = (site: World) => site.events(site.log).filter(({ class: type }) => type === 'alarm');

describe('a call for help (safety 1)', () => {
  it.each([
    ['audible', 'panic', '120', 'PA'],
    ['silent', 'panic_silent', '122', 'HA'],
    ['medical', 'medical', '100', 'MA'],
    ['fire', 'fire', '110', 'FA'],
  ] as const)(
    '%s is one alarm with the codes of the field, told to the station at once',
    (kind, event, contactId, sia) => {
      const site = world(shop({ abortDelayMs: 30_000 }));
      const effects = call(site, kind);
      expect(site.events(effects).filter(({ class: type }) => type === 'alarm')).toMatchObject([
        {
          ...{ kind: event, contactId, sia, status: 'active', lane: 'alarm', signalToStation: true, toCloud: true },
          ...{ partition: 'p1', source: 'lan', evidence: [{ type: 'caller', client: 'kp1' }] },
        },
      ]);
      expect(effects.at(-1)).toBeDefined();
      const replies = effects.filter((effect) => effect.kind === 'reply');
      expect(replies).toEqual([
        {
          ...{ kind: 'reply', client: 'kp1', call: `${kind} c1 kp1` },
          result: { commandId: 'c1', outcome: 'done', partition: 'p1', at: stamp(0).wall, final: true },
        },
      ]);
    },
  );

  it('is never too old, too early or too late, and says so only where a clock can tell', () => {
    const at = stamp(0).wall;
    const lates = (clock: 'synced' | 'doubtful', more: Partial<PanicCall>) => {
      const site = world();
      site.clock = clock;
      call(site, 'audible', more);
      const [alarm] = alarmsOf(site);
      return [alarm?.late, ...(alarm?.evidence ?? []).filter(({ type }) => type === 'call_delayed')];
    };
    const old = { issuedAt: at - 3_600_000, expiresAt: at - 3_500_000 };
    expect(lates('synced', old)).toEqual([true, { type: 'call_delayed', seconds: 3600 }]);
    expect(lates('synced', { expiresAt: at - 1 })).toEqual([true]);
    expect(lates('synced', { issuedAt: at + 3_600_000 })).toEqual([undefined]);
    expect(lates('doubtful', old)).toEqual([undefined]);
    expect(lates('doubtful', { retained: true })).toEqual([true]);
    expect(lates('synced', {})).toEqual([undefined]);
  });

  it('is taken from a client that is locked for wrong codes and for too many commands', () => {
    const site = world();
    const client = 'kp1';
    for (let n = 0; n < 3; n += 1) site.disarm({ client, code: 'bad' });
    expect(site.disarm({ client }).error?.code).toBe('LOCKED');
    call(site, 'audible');
    expect(alarmsOf(site)).toHaveLength(1);
    const other = world();
    for (let n = 0; n < 8; n += 1) other.arm({ client, code: 'none' });
    expect(other.arm({ client, code: 'none' }).error?.code).toBe('RATE_LIMITED');
    for (let n = 0; n < 200; n += 1) call(other, 'medical', { id: `m${n}` });
    expect(alarmsOf(other)).toHaveLength(200);
    expect(alarmsOf(other).every(({ signalToStation }) => signalToStation)).toBe(true);
  });

  it('has one effect for each kind and id of a client (C2), whatever else the id was used for, and over a restart', () => {
    const site = world();
    site.arm({ id: 'c1' });
    call(site, 'audible');
    site.state = readState(writeState(site.state)) ?? site.state;
    expect(call(site, 'audible', { partition: 'all', issuedAt: 0 })).toMatchObject([
      { kind: 'reply', result: { outcome: 'done' } },
    ]);
    expect(site.rules).toContain('C2');
    call(site, 'silent');
    call(site, 'silent');
    call(site, 'audible', { id: 'c2' });
    expect(alarmsOf(site).map(({ kind }) => kind)).toEqual(['panic', 'panic_silent', 'panic']);
  });

  it('of another client is another call, whatever its id', () => {
    const site = world();
    for (const kind of ['audible', 'silent'] as const) {
      call(site, kind);
      call(site, kind, { client: 'kp2' });
      call(site, kind, { client: 'kp2' });
    }
    expect(alarmsOf(site).map(({ kind, evidence }) => `${kind} ${evidence?.[0]?.client}`)).toEqual([
      'panic kp1',
      'panic kp2',
      'panic_silent kp1',
      'panic_silent kp2',
    ]);
  });

  it('is known from the state of an earlier version, which kept no client', () => {
    const site = world();
    const before = { ...site.state, panics: ['fire c1'], calls: ['silent c1'] };
    site.state = readState(JSON.stringify({ version: 1, state: before })) ?? site.state;
    call(site, 'fire');
    call(site, 'silent');
    expect(alarmsOf(site)).toEqual([]);
    call(site, 'medical');
    expect(alarmsOf(site)).toHaveLength(1);
  });

  it('of what is not on disk comes again', () => {
    const site = world();
    call(site, 'audible');
    call(site, 'silent', { id: 'c2' });
    site.state = withoutCalls(site.state, new Set(['audible c1 kp1', 'silent c2 kp1']));
    call(site, 'audible');
    call(site, 'silent', { id: 'c2' });
    expect(alarmsOf(site)).toHaveLength(4);
    expect(withoutCalls(site.state, new Set())).toBe(site.state);
  });

  it('needs no partition, and none that the site has', () => {
    const site = world(shop());
    call(site, 'audible', { id: 'a', partition: 'p9' });
    call(site, 'medical', { id: 'b', partition: 'all' });
    expect(alarmsOf(site).map(({ kind, partition: id }) => [kind, id])).toEqual([
      ['panic', undefined],
      ['medical', undefined],
    ]);
    expect([site.word('p1'), site.word('p2')]).toEqual(['triggered', 'triggered']);
    const one = world();
    one.send({ kind: 'panic', call: { id: 'c', kind: 'fire', source: 'lan', client: 'kp1' } });
    expect(alarmsOf(one)).toMatchObject([{ kind: 'fire', partition: 'p1' }]);
  });

  it('is taken where siteward only watches, or a panel decides: it is told, and changes no arming there', () => {
    for (const plan of [
      panelHouse(),
      house({ securityType: 4, partitions: [partition('p1', { authority: 'external' })] }),
    ]) {
      const site = world(plan);
      const before = site.state.partitions;
      call(site, 'audible');
      expect(alarmsOf(site)).toMatchObject([{ kind: 'panic', signalToStation: true }]);
      expect(site.state.partitions.p1).toMatchObject({ state: before.p1?.state, seq: before.p1?.seq });
    }
  });

  it('sounds and shows until a disarm, which does not take it back at the station', () => {
    const site = world();
    call(site, 'audible');
    expect(site.state.partitions.p1).toMatchObject({ state: 'triggered', mode: null, alarm: { kind: 'panic' } });
    site.disarm();
    expect(site.word()).toBe('disarmed');
    expect(alarmsOf(site).map(({ status }) => status)).toEqual(['active']);
    const burgled = world();
    burgled.arm({ skipExitDelay: true });
    call(burgled, 'audible');
    burgled.open('2');
    burgled.disarm();
    expect(alarmsOf(burgled).map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'panic active',
      'burglary_perimeter active',
      'burglary_perimeter cancelled',
    ]);
  });

  it('during an entry delay, what tripped on the way in is told at once', () => {
    const site = world();
    site.arm({ skipExitDelay: true });
    site.open('1');
    expect(site.word()).toBe('pending');
    call(site, 'audible');
    expect(alarmsOf(site).map(({ kind }) => kind)).toEqual(['panic', 'burglary_entry_exit']);
    expect(site.word()).toBe('triggered');
  });

  it('for a doctor or by fire shows beside the arming until the next opening, also of what is open already', () => {
    const site = world();
    call(site, 'medical');
    expect(site.state.partitions.p1).toMatchObject({ state: 'disarmed', alarm: { kind: 'medical' } });
    site.open('10');
    expect(site.state.partitions.p1?.alarm).toMatchObject({ kind: 'fire', zone: '10' });
    site.open('10', false);
    expect(site.state.partitions.p1?.alarm).toMatchObject({ kind: 'medical' });
    site.arm({ skipExitDelay: true });
    expect(site.state.partitions.p1).toMatchObject({ state: 'armed_away', alarm: { kind: 'medical' } });
    site.disarm();
    expect(site.state.partitions.p1).toMatchObject({ state: 'disarmed' });
    expect(site.state.partitions.p1?.alarm).toBeUndefined();
    call(site, 'fire', { id: 'c2' });
    const { seq } = site.state.partitions.p1 ?? {};
    expect(site.disarm()).toMatchObject({ outcome: 'done', seq });
    expect(site.state.partitions.p1?.alarm).toBeUndefined();
    expect(site.disarm()).toMatchObject({ outcome: 'already' });
  });

  describe('beside another alarm', () => {
    const runs = (site: World, id = 'p1') => {
      const { alarms = {} } = siteView(site.plan, site.state, stamp(site.ms), { epoch: 1, seq: 1 });
      return (alarms[id] ?? []).map(
        ({ kind, zone, since = 0 }) => `${kind} ${zone ?? '-'} ${(since - stamp(0).wall) / 1000}`,
      );
    };
    const armedHouse = () => {
      const site = world();
      site.arm({ skipExitDelay: true });
      return site;
    };
    const later = (site: World, kind: PanicKind, id: string) => {
      site.pass(1000);
      call(site, kind, { id });
    };

    it('runs where a burglary has triggered the partition, until the disarm', () => {
      const site = armedHouse();
      site.open('2');
      for (const kind of ['fire', 'audible', 'medical', 'silent'] as const) later(site, kind, kind);
      later(site, 'fire', 'again');
      expect(runs(site)).toEqual(['fire - 1', 'medical - 3', 'burglary_perimeter 2 0', 'panic - 2']);
      site.disarm();
      expect(runs(site)).toEqual([]);
    });

    it('goes on when a burglary comes after it, and during an entry', () => {
      const site = armedHouse();
      call(site, 'fire');
      site.pass(1000);
      site.open('2');
      expect(runs(site)).toEqual(['fire - 0', 'burglary_perimeter 2 1']);
      const entered = armedHouse();
      entered.open('1');
      later(entered, 'medical', 'm');
      expect([entered.word(), ...runs(entered)]).toEqual(['pending', 'medical - 1']);
      entered.pass(60_000);
      expect(runs(entered)).toEqual(['medical - 1', 'burglary_entry_exit 1 30']);
    });

    it('is an alarm of its own beside another call and a fire zone, with the time it was made', () => {
      const site = world();
      call(site, 'fire');
      later(site, 'medical', 'm');
      site.state = readState(writeState(site.state)) ?? site.state;
      site.pass(1000);
      site.open('10');
      expect(runs(site)).toEqual(['fire 10 2', 'fire - 0', 'medical - 1']);
      site.disarm();
      expect(runs(site)).toEqual(['fire 10 2']);
    });

    it('of a button that is let go runs on, in each of its partitions', () => {
      const both = { partitions: ['p1', 'p2'] };
      const { zones } = shop();
      const more = [zone('30', 'panic_audible', both), zone('31', 'perimeter', both)];
      const site = world({ ...shop(), zones: [...zones, ...more] });
      site.arm({ partition: 'all', skipExitDelay: true });
      site.open('31');
      site.open('30');
      site.open('30', false);
      for (const id of ['p1', 'p2']) expect(runs(site, id)).toEqual(['burglary_perimeter 31 0', 'panic 30 0']);
      site.disarm();
      expect(runs(site, 'p1')).toEqual([]);
      expect(runs(site, 'p2')).toContain('panic 30 0');
    });

    it('is read from the state of an earlier version, which kept one', () => {
      const site = world();
      call(site, 'medical');
      const json = JSON.parse(writeState(site.state));
      const [one] = json.state.periods.p1.called;
      json.state.periods.p1.called = one;
      const read = readState(JSON.stringify(json));
      expect(read).toEqual(site.state);
    });
  });

  it('forgets the oldest call, never the newest', () => {
    const site = world();
    for (let n = 0; n < 300; n += 1) call(site, 'audible', { id: `c${n}` });
    expect(site.state.panics).toHaveLength(256);
    call(site, 'audible', { id: 'c299' });
    expect(alarmsOf(site)).toHaveLength(300);
  });
});

it('every call is answered, and each kind and id of a client is one alarm, in any story (safety 1, C2)', () => {
  const plan = shop();
  const steps = fc
    .tuple(story(plan), fc.array(anyCall, { minLength: 3, maxLength: 12 }), story(plan))
    .map(([one, calls, two]): Step[] => [...calmHouse(plan), ...one, ...calls, ...two, ...calls]);
  const kinds = { audible: 'panic', silent: 'panic_silent', medical: 'medical', fire: 'fire' } as const;
  fc.assert(
    fc.property(steps, (all) => {
      const alarms = new Map<string, number>();
      for (const { input, effects } of play(plan, all).seen) {
        if (input.kind !== 'panic') continue;
        const { kind, id, client } = input.call;
        expect(effects.filter((effect) => effect.kind === 'reply')).toMatchObject([{ result: { outcome: 'done' } }]);
        const told = effects.filter(
          (effect) => effect.kind === 'event' && effect.event.kind === kinds[kind] && effect.event.status === 'active',
        );
        expect(told.every((effect) => effect.kind === 'event' && effect.event.signalToStation)).toBe(true);
        const name = `${kind} ${id} ${client}`;
        alarms.set(name, (alarms.get(name) ?? 0) + told.length);
      }
      expect([...alarms.values()].every((count) => count === 1)).toBe(true);
    }),
    { numRuns: 200 },
  );
  expect(panicKinds).toEqual(Object.keys(kinds));
});
