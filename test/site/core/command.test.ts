import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import { armed, house, link, panelHouse, partition, says, stamp, world } from './world.ts';

const plain = { code: 'none' } as const;

describe('the command gate', () => {
  it('C1: a disarm older than 60 s is expired and changes nothing', () => {
    const site = armed();
    const before = site.state.partitions;
    expect(site.disarm({ issuedAt: stamp(site.ms - 60_001).wall })).toMatchObject({
      outcome: 'expired',
      error: { code: 'EXPIRED' },
    });
    expect(site.state.partitions).toBe(before);
  });

  it('C1: an arm lives for ten minutes, and a disarm never longer than two, whatever it says', () => {
    const site = world();
    const issuedAt = stamp(-599_000).wall;
    expect(site.arm({ issuedAt, skipExitDelay: true })).toMatchObject({ outcome: 'done' });
    const expiresAt = stamp(site.ms + 3_600_000).wall;
    expect(site.disarm({ issuedAt: stamp(site.ms - 120_001).wall, expiresAt })).toMatchObject({ outcome: 'expired' });
  });

  it('C1: a command from more than 30 s ahead is refused FUTURE', () => {
    const site = world();
    expect(site.arm({ issuedAt: stamp(30_001).wall }).error).toEqual({ code: 'FUTURE', field: 'issued_at' });
    expect(site.arm({ issuedAt: stamp(30_000).wall }).outcome).toBe('done');
  });

  it('C1: with a doubtful clock the LAN is not aged, a cloud disarm is refused and a cloud arm is done', () => {
    const site = world();
    site.clock = 'doubtful';
    expect(site.arm({ source: 'cloud', issuedAt: 0, skipExitDelay: true, ...plain })).toMatchObject({
      outcome: 'done',
    });
    expect(site.disarm({ source: 'cloud', ...plain }).error).toEqual({ code: 'CLOCK_DOUBTFUL' });
    expect(site.disarm({ issuedAt: 0 })).toMatchObject({ outcome: 'done' });
  });

  it('C2: the same id and body gets the same answer without a second effect; another body is ID_CONFLICT', () => {
    const site = world();
    const one = { id: 'c-1', bodyHash: 'a', skipExitDelay: true };
    const first = site.arm(one);
    site.disarm();
    const before = site.state;
    expect(site.arm(one)).toEqual(first);
    expect(site.last).toHaveLength(1);
    expect(site.arm({ ...one, bodyHash: 'b' }).error).toEqual({ code: 'ID_CONFLICT' });
    expect(site.state.partitions).toBe(before.partitions);
    expect(site.state.commands).toBe(before.commands);
  });

  it('C2: a command named like a member every object inherits is a new command', () => {
    expect(world().arm({ id: 'constructor', client: 'toString' })).toMatchObject({ outcome: 'done' });
  });

  it('C2: a command named __proto__ is remembered like any other', () => {
    const site = world();
    const first = site.arm({ id: '__proto__', bodyHash: 'a' });
    expect(site.arm({ id: '__proto__', bodyHash: 'a' })).toEqual(first);
    expect(site.arm({ id: '__proto__', bodyHash: 'b' }).error).toEqual({ code: 'ID_CONFLICT' });
  });

  it('C2: at most 1,000 results are kept, the oldest give way', () => {
    const site = world();
    for (let count = 0; count < 1005; count += 1) {
      site.ms += 13_000;
      site.disarm({ id: `c-${count}` });
    }
    expect(site.state.commands).toHaveLength(1000);
    expect(site.kept('c-4')).toBeUndefined();
    expect(site.kept('c-1004')).toBeDefined();
  });

  it('C2: an id that looks like a number is no older than the others, also in what is stored', () => {
    const site = world();
    site.disarm({ id: 'first' });
    site.disarm({ id: '7' });
    site.state = readState(writeState(site.state)) ?? site.state;
    for (let count = 0; count < 999; count += 1) site.disarm({ id: `c-${count}` });
    expect(site.kept('first')).toBeUndefined();
    expect(site.kept('7')).toBeDefined();
  });

  it('C2: a command whose answer gave way is never done twice inside its life; a fresh one is done', () => {
    const site = world();
    const arming = { id: 'first', bodyHash: 'first', skipExitDelay: true, issuedAt: stamp(site.ms).wall };
    expect(site.arm(arming)).toMatchObject({ outcome: 'done' });
    // Three a second, in turns, each by a person with a code.
    for (let count = 0; count < 1001; count += 1) {
      site.ms += 333;
      const given = { id: `c-${count}`, issuedAt: stamp(site.ms).wall, actor: 'anna' };
      if (count % 2 === 0) site.disarm(given);
      else site.arm({ ...given, skipExitDelay: true });
    }
    expect(site.word()).toBe('disarmed');
    expect(site.kept('first')).toBeUndefined();
    const stored = readState(writeState(site.state));
    expect(stored).toEqual(site.state);
    const before = site.state.partitions;
    expect(site.arm(arming)).toMatchObject({ outcome: 'expired', error: { code: 'EXPIRED' } });
    expect(site.state.partitions).toBe(before);
    site.ms += 2_000;
    expect(site.arm({ skipExitDelay: true, issuedAt: stamp(site.ms).wall })).toMatchObject({ outcome: 'done' });
    expect(site.disarm({ actor: 'anna', issuedAt: stamp(site.ms - 60_000).wall })).toMatchObject({ outcome: 'done' });
  });

  it('C2: a clock that was ahead when an answer gave way locks nobody out afterwards', () => {
    const site = world();
    const ahead = (ms: number) => stamp(ms, { wall: stamp(ms).wall + 86_400_000 });
    const disarm = { verb: 'disarm', partition: 'p1', source: 'lan', client: 'keypad', actor: 'anna', code: 'ok' };
    for (let count = 0; count < 1005; count += 1) {
      site.ms += 13_000;
      const at = ahead(site.ms);
      site.send({ kind: 'command', command: { ...disarm, id: `c-${count}`, bodyHash: 'c', issuedAt: at.wall }, at });
    }
    expect(site.kept('c-4')).toBeUndefined();
    expect(site.arm({ skipExitDelay: true })).toMatchObject({ outcome: 'done' });
  });

  it.each(['cloud', 'schedule'] as const)(
    'C3: a disarm from %s given before somebody armed on site is superseded',
    (source) => {
      const site = world();
      const issuedAt = stamp(site.ms).wall;
      site.pass(10_000);
      site.arm({ skipExitDelay: true });
      expect(site.disarm({ source, issuedAt, ...plain })).toMatchObject({
        outcome: 'superseded',
        error: { code: 'NEWER_LOCAL_CHANGE' },
      });
      expect(site.word()).toBe('armed_away');
    },
  );

  it('C3: an expected sequence or state that differs is CONFLICT', () => {
    const site = armed();
    expect(site.disarm({ expected: { seq: 1 } }).error?.code).toBe('CONFLICT');
    expect(site.disarm({ expected: { state: ['disarmed'] } }).error?.code).toBe('CONFLICT');
    expect(site.disarm({ expected: { seq: 2, state: ['armed_away'] } })).toMatchObject({ outcome: 'done', seq: 3 });
  });

  it('a disarm without a code is CODE_REQUIRED where the plan wants one', () => {
    const site = armed();
    expect(site.disarm(plain).error?.code).toBe('CODE_REQUIRED');
    const free = armed(house({ disarmNeedsCode: false }));
    expect(free.disarm(plain).outcome).toBe('done');
  });

  it('a bad code is refused for arming too', () => {
    const site = world();
    expect(site.arm({ code: 'bad' }).error?.code).toBe('BAD_CODE');
    expect(site.word()).toBe('disarmed');
  });

  it('C8: three wrong codes within 60 s lock that client for 90 s, and no other', () => {
    const site = armed();
    for (let count = 0; count < 3; count += 1) {
      site.ms += 10_000;
      expect(site.disarm({ code: 'bad' }).error?.code).toBe('BAD_CODE');
    }
    site.ms += 1_000;
    expect(site.disarm().error).toEqual({ code: 'LOCKED', retryAfterS: 89 });
    expect(site.disarm({ client: 'app', expected: { seq: 99 } }).error?.code).toBe('CONFLICT');
    site.ms += 89_000;
    expect(site.disarm().outcome).toBe('done');
  });

  it.each([
    ['locked', () => ({}), 'LOCKED'],
    [
      'expired',
      (ms: number) => ({ issuedAt: stamp(ms - 600_000).wall, expiresAt: stamp(ms - 500_000).wall }),
      'EXPIRED',
    ],
    ['from the future', (ms: number) => ({ issuedAt: stamp(ms + 600_000).wall }), 'FUTURE'],
    ['for nobody', () => ({ partition: 'p9' as const }), 'UNKNOWN_TARGET'],
  ] as const)('safety 1: a duress code calls for help also when its command is %s', (_, how, code) => {
    const site = armed();
    if (code === 'LOCKED') for (let count = 0; count < 3; count += 1) site.disarm({ code: 'bad' });
    const result = site.disarm({ code: 'duress', ...how(site.ms) });
    expect(result.error?.code).toBe(code);
    expect(site.word()).toBe('armed_away');
    const help = site.events(site.last).filter((event) => event.kind === 'duress');
    expect(help).toMatchObject([{ silent: true, lane: 'alarm', toCloud: true, signalToStation: true }]);
  });

  it('safety 1: a duress code calls for help once, whatever was answered under its id before', () => {
    const calls = (site: ReturnType<typeof world>) =>
      site.events(site.last).filter((event) => event.kind === 'duress').length;
    const site = armed();
    expect(site.disarm({ id: 'again', bodyHash: 'h', code: 'bad' }).error?.code).toBe('BAD_CODE');
    expect(site.disarm({ id: 'again', bodyHash: 'h', code: 'duress' }).error?.code).toBe('BAD_CODE');
    expect(calls(site)).toBe(1);
    expect(site.disarm({ id: 'again', bodyHash: 'other', code: 'duress' }).error?.code).toBe('ID_CONFLICT');
    expect(calls(site)).toBe(0);
  });

  it('safety 4: under a lock the answers to a duress code are those to a good one, and it works once the lock has ended', () => {
    const answers = (code: 'ok' | 'duress') => {
      const site = armed();
      for (let count = 0; count < 3; count += 1) site.disarm({ code: 'bad' });
      return [0, 10_000, 85_000].map((ms) => {
        site.ms += ms;
        const { outcome, error } = site.disarm({ id: 'again', bodyHash: 'h', code });
        return { outcome, error };
      });
    };
    expect(answers('duress')).toEqual(answers('ok'));
    expect(answers('ok').at(-1)).toMatchObject({ outcome: 'done' });
  });

  it.each([
    ['an answer of a guard, who is known without a code,', { verb: 'verify', partition: 'all' }],
    ["a code of the client's own", { verb: 'verify', partition: 'all', actor: 'anna', role: 'user' }],
    ['a disarm', { verb: 'disarm', partition: 'p1', actor: 'anna', role: 'user' }],
  ] as const)('C8: %s forgets no wrong code of the last minute', (_, between) => {
    const site = world();
    const wrong = () => site.disarm({ client: 'guard-1', code: 'bad' }).error?.code;
    const good = () => site.command({ client: 'guard-1', code: 'ok', ...between }).error?.code;
    expect([wrong(), wrong(), good(), wrong(), good()]).toEqual([
      ...['BAD_CODE', 'BAD_CODE', undefined, 'BAD_CODE', 'LOCKED'],
    ]);
  });

  it('C8: a good code forgets the wrong ones of a lock that is over, so that a start of the machine locks nobody anew', () => {
    const site = armed();
    for (let count = 0; count < 3; count += 1) site.disarm({ code: 'bad' });
    site.ms += 90_000;
    expect(site.disarm({ role: 'user' }).outcome).toBe('done');
    site.send({ kind: 'started', sameBoot: false, storeLost: false });
    expect(site.disarm().error).toBeUndefined();
  });

  it('C8: a client that gave too many commands cannot try codes: wrong ones are refused, told and lock it', () => {
    const site = armed();
    for (let count = 0; count < 6; count += 1) site.arm({ code: 'none' });
    expect(site.arm({ code: 'none' }).error?.code).toBe('RATE_LIMITED');
    const reasons: unknown[] = [];
    for (let count = 0; count < 20; count += 1) {
      site.disarm({ code: 'bad' });
      for (const effect of site.last) if (effect.kind === 'audit') reasons.push(effect.entry.reason);
    }
    expect(reasons).toEqual(['BAD_CODE', 'BAD_CODE', 'BAD_CODE']);
    expect(site.disarm().error).toEqual({ code: 'LOCKED', retryAfterS: 90 });
    expect(site.word()).toBe('armed_away');
  });

  it.each(['none', 'locked'] as const)(
    'C1: with a lock (%s) the answer to a command from the future is one for all codes',
    (lock) => {
      const site = armed();
      if (lock === 'locked') for (let count = 0; count < 6; count += 1) site.arm({ code: 'none' });
      const answers = (['bad', 'ok', 'bad', 'duress', 'bad', 'bad', 'ok'] as const).map(
        (code) => site.disarm({ code, issuedAt: stamp(site.ms + 600_000).wall }).error?.code,
      );
      expect(new Set(answers)).toEqual(new Set(['FUTURE']));
      expect(site.disarm().outcome).toBe('done');
    },
  );

  it('C8: a wrong code under an id that is taken counts as well', () => {
    const site = armed();
    site.arm({ id: 'taken', bodyHash: 'one' });
    const codes = ['bad', 'ok', 'bad', 'bad', 'ok'].map(
      (code) => site.disarm({ id: 'taken', bodyHash: 'two', code: code as 'ok' }).error?.code,
    );
    expect(codes).toEqual(['BAD_CODE', 'ID_CONFLICT', 'BAD_CODE', 'BAD_CODE', 'LOCKED']);
  });

  it('C8: wrong codes spread over more than 60 s do not lock', () => {
    const site = armed();
    for (let count = 0; count < 5; count += 1) {
      site.ms += 31_000;
      expect(site.disarm({ code: 'bad' }).error?.code).toBe('BAD_CODE');
    }
  });

  it('C8: a start of the machine does not end a lock', () => {
    const site = armed();
    for (let count = 0; count < 3; count += 1) site.disarm({ code: 'bad' });
    site.send({ kind: 'started', sameBoot: false, storeLost: false });
    expect(site.disarm().error?.code).toBe('LOCKED');
  });

  it('C10: home to away is one command, and the perimeter stays watched during the exit delay', () => {
    const site = armed(house(), 'home');
    expect(site.arm({ mode: 'away', ...plain })).toMatchObject({ outcome: 'done', state: 'arming' });
    site.open('2');
    expect(site.word()).toBe('triggered');
  });

  it('C10: between modes that watch the same there is no exit delay, so a door and a hall are watched throughout', () => {
    const site = armed();
    expect(site.arm({ mode: 'vacation', ...plain })).toMatchObject({ outcome: 'done', state: 'armed_vacation' });
    site.open('3');
    expect(site.word()).toBe('triggered');
  });

  it('C10: another mode during the exit delay of an armed partition does not make it longer', () => {
    const site = armed(house(), 'home');
    site.arm({ mode: 'away', ...plain });
    site.pass(40_000);
    expect(site.arm({ mode: 'vacation', ...plain })).toMatchObject({ outcome: 'done', state: 'arming' });
    site.pass(20_000);
    expect(site.word()).toBe('armed_vacation');
  });

  it('I13: leaving out zones of an armed partition needs the rights of a disarm, also on the way to more protection', () => {
    for (const more of [{ bypass: ['1', '2', '3', '21'] }, { force: true }]) {
      const site = armed();
      const vacation = { mode: 'vacation', skipExitDelay: true, ...more } as const;
      expect(site.arm({ ...vacation, ...plain }).error).toMatchObject({ code: 'CODE_REQUIRED' });
      expect(site.arm({ ...more, ...plain })).toMatchObject({ outcome: 'already' });
      expect([site.word(), site.state.periods.p1?.bypassed]).toEqual(['armed_away', []]);
      expect(site.arm(vacation)).toMatchObject({ outcome: 'done' });
    }
  });

  it('I13: away to home needs the rights of a disarm', () => {
    const site = armed();
    expect(site.arm({ mode: 'home', ...plain }).error?.code).toBe('CODE_REQUIRED');
    expect(site.word()).toBe('armed_away');
    expect(site.arm({ mode: 'home', skipExitDelay: true })).toMatchObject({ outcome: 'done', state: 'armed_home' });
  });

  it.each(['1', '2'])(
    'C11: no arming while zone %s has made it pending or triggered; a disarm with a code works',
    (number) => {
      const site = armed();
      site.open(number);
      expect(site.arm({ mode: 'home' }).error?.code).toBe('NOT_ALLOWED');
      expect(site.disarm({ source: 'schedule', ...plain }).error?.code).toBe('NOT_ALLOWED');
      expect(site.disarm({ source: 'cloud', actor: 'op', ...plain }).error?.code).toBe('NOT_ALLOWED');
      expect(site.disarm().outcome).toBe('done');
    },
  );

  it('C11: a cloud disarm with a person and an end of validity is allowed during an alarm', () => {
    const site = armed();
    site.open('2');
    const expiresAt = stamp(site.ms + 30_000).wall;
    expect(site.disarm({ source: 'cloud', actor: 'op', expiresAt, ...plain }).outcome).toBe('done');
  });

  it('C12: a schedule disarms only what the same schedule armed, with a synced clock', () => {
    const night = { source: 'schedule', actor: 'night', ...plain } as const;
    const site = world();
    site.arm({ ...night, skipExitDelay: true });
    expect(site.disarm({ ...night, actor: 'shop' }).error?.code).toBe('NOT_ALLOWED');
    site.clock = 'holdover';
    expect(site.disarm(night).error?.code).toBe('CLOCK_DOUBTFUL');
    site.clock = 'synced';
    expect(site.disarm(night).outcome).toBe('done');
    const person = armed();
    expect(person.disarm(night).error?.code).toBe('NOT_ALLOWED');
  });

  it('C12: a schedule does not arm what is armed in another mode', () => {
    const site = armed(house(), 'home');
    expect(site.arm({ source: 'schedule', actor: 'night', ...plain }).outcome).toBe('already');
    expect(site.word()).toBe('armed_home');
  });

  it.each([house({ securityType: 4 }), house({ partitions: [partition('p1', { authority: 'external' })] })])(
    'a system of others is NOT_CONTROLLED',
    (plan) => {
      const site = world(plan);
      expect(site.arm().error?.code).toBe('NOT_CONTROLLED');
      expect(site.arm({ partition: 'all' }).error?.code).toBe('NOT_CONTROLLED');
    },
  );

  it('an unknown partition is UNKNOWN_TARGET', () => {
    expect(world().arm({ partition: 'p9' }).error).toEqual({ code: 'UNKNOWN_TARGET', field: 'partition' });
  });

  it('"all" is each owned partition and one final reply; a part that cannot is `failed`, not `refused`', () => {
    const site = world(
      house({ partitions: [partition('p1'), partition('p2'), partition('p3', { authority: 'external' })] }),
    );
    expect(site.arm({ partition: 'all', skipExitDelay: true })).toMatchObject({ outcome: 'done', partition: 'all' });
    expect([site.word('p1'), site.word('p2'), site.word('p3')]).toEqual(['armed_away', 'armed_away', 'unknown']);
    site.disarm({ partition: 'all' });
    site.open('2');
    expect(site.arm({ partition: 'all', skipExitDelay: true })).toMatchObject({
      outcome: 'failed',
      error: { code: 'NOT_READY', zones: ['2'] },
      undone: [{ partition: 'p1', code: 'NOT_READY', zones: ['2'] }],
    });
    expect([site.word('p1'), site.word('p2')]).toEqual(['disarmed', 'armed_away']);
  });
});

describe('a lost store', () => {
  it('I3: starts unknown with a trouble; only a code may say that it is disarmed', () => {
    const site = world(house(), { storeLost: true });
    site.send({ kind: 'started', sameBoot: true, storeLost: true });
    expect(site.events()).toMatchObject([{ class: 'trouble', kind: 'system', detail: 'store_lost' }]);
    expect(site.word()).toBe('unknown');
    expect(site.disarm({ source: 'cloud', ...plain }).error?.code).toBe('CODE_REQUIRED');
    expect(site.disarm({ source: 'cli', ...plain }).error?.code).toBe('CODE_REQUIRED');
    expect(site.disarm().outcome).toBe('done');
    expect(site.kinds()).toEqual(['arming:disarmed:active', 'trouble:system:restored']);
  });

  it('safety 2: an intrusion signal goes up, flagged, while the arming is unknown', () => {
    const site = world(house(), { storeLost: true });
    site.open('2');
    expect(site.events()[0]).toMatchObject({ kind: 'burglary_perimeter', signalToStation: true });
    expect(site.events()[0]?.evidence).toContainEqual({ type: 'arming_not_known', state: 'unknown', stale: false });
    expect(site.word()).toBe('unknown');
  });
});

describe('a start', () => {
  const restart = (site: ReturnType<typeof world>, sameBoot: boolean) =>
    site.send({ kind: 'started', sameBoot, storeLost: false });

  it('of the daemon alone: delays go on where they were', () => {
    const site = armed();
    site.open('1');
    site.ms += 20_000;
    restart(site, true);
    expect(site.last.filter(({ kind }) => kind === 'timer.set')).toHaveLength(1);
    expect(site.kinds(site.pass(9_999))).toEqual([]);
    site.pass(1);
    expect(site.word()).toBe('triggered');
  });

  it('after the end of an entry delay: triggered at once, and said to be late', () => {
    const site = armed();
    site.open('1');
    site.ms += 31_000;
    restart(site, true);
    expect(site.word()).toBe('triggered');
    expect(site.events()[0]).toMatchObject({ kind: 'burglary_entry_exit', late: true });
  });

  it('of the machine with a clock in doubt: the exit delay runs in full, an entry delay is an alarm', () => {
    const exit = world();
    exit.arm();
    exit.ms += 50_000;
    exit.clock = 'doubtful';
    restart(exit, false);
    exit.pass(59_999);
    expect(exit.word()).toBe('arming');
    exit.pass(1);
    expect(exit.word()).toBe('armed_away');
    const entry = armed();
    entry.open('1');
    entry.clock = 'doubtful';
    restart(entry, false);
    expect(entry.word()).toBe('triggered');
  });

  it('of the machine with a synced clock: delays go on by the wall clock', () => {
    const site = world();
    site.arm();
    site.ms += 50_000;
    restart(site, false);
    site.pass(10_000);
    expect(site.word()).toBe('armed_away');
  });

  it('safety 3: motion detectors settle for 60 s only after a start of the machine', () => {
    const daemon = armed();
    restart(daemon, true);
    daemon.open('3');
    expect(daemon.word()).toBe('triggered');
    const machine = armed();
    restart(machine, false);
    machine.open('3');
    expect(machine.word()).toBe('armed_away');
    machine.open('2');
    expect(machine.word()).toBe('triggered');
    const later = armed();
    restart(later, false);
    later.ms += 60_000;
    later.open('3');
    expect(later.word()).toBe('triggered');
  });

  it('I12: an early timer is set again and changes nothing', () => {
    const site = world();
    site.arm();
    const before = site.state;
    site.send({ kind: 'timer.fired', timer: 'exit:p1' });
    expect(site.last).toMatchObject([{ kind: 'timer.set', timer: { id: 'exit:p1' } }]);
    expect(site.state).toBe(before);
  });
});

describe('a panel', () => {
  const ready = () => {
    const site = world(panelHouse());
    site.signal(says('disarmed'));
    site.log.length = 0;
    return site;
  };
  const reply = (site: ReturnType<typeof world>) =>
    site.last.flatMap((effect) => (effect.kind === 'reply' ? [effect.result] : [])).at(-1);

  it('I6: starts unknown, and what it says is the truth', () => {
    const site = world(panelHouse());
    expect(site.word()).toBe('unknown');
    site.signal(says('armed_night', { user: 'bert' }));
    expect(site.state.partitions.p1).toMatchObject({
      state: 'armed_night',
      mode: 'night',
      source: 'panel',
      changedBy: 'bert',
    });
    expect(site.events()[0]).toMatchObject({ kind: 'armed_night', contactId: '441' });
  });

  it('a command is accepted, forwarded, and done when the panel shows it', () => {
    const site = ready();
    expect(site.arm({ id: 'a' })).toMatchObject({ outcome: 'accepted', final: false });
    expect(site.last.map(({ kind }) => kind)).toEqual(['audit', 'reply', 'timer.set', 'panel']);
    expect(site.last.at(-1)).toMatchObject({ panel: 'main', partition: 'p1', action: 'arm_away', commandId: 'a' });
    expect(site.word()).toBe('disarmed');
    site.signal(says('armed_away'));
    expect(reply(site)).toMatchObject({ commandId: 'a', outcome: 'done', state: 'armed_away', final: true });
    expect(site.state.partitions.p1).toMatchObject({ source: 'lan', changedBy: 'anna' });
    expect(site.state.timers).toEqual({});
  });

  describe('one that takes another mode only when it is disarmed', () => {
    const site = () =>
      world(panelHouse({ partitions: [partition('p1', { authority: 'panel', panel: 'main', changeMode: false })] }));
    const refused = { outcome: 'refused', error: { code: 'NOT_ALLOWED', field: 'mode' } };

    it('is sent no other while it is armed or on the way to it', () => {
      const armedHome = site();
      armedHome.signal(says('armed_home'));
      expect(armedHome.arm()).toMatchObject(refused);
      expect(armedHome.last.map(({ kind }) => kind)).toEqual(['audit', 'reply']);
      expect(armedHome.arm({ mode: 'home' })).toMatchObject({ outcome: 'already' });
      expect(armedHome.disarm()).toMatchObject({ outcome: 'accepted' });
      const leaving = site();
      leaving.signal(says('disarmed'));
      leaving.arm({ mode: 'home' });
      leaving.signal(says('arming'));
      expect(leaving.arm()).toMatchObject(refused);
    });

    it('is sent one where nobody knows the mode, and once it is disarmed', () => {
      const leaving = site();
      leaving.signal(says('disarmed'));
      leaving.signal(says('arming'));
      expect(leaving.arm()).toMatchObject({ outcome: 'accepted' });
      const stale = site();
      stale.signal(says('armed_home'));
      stale.signal(link(false));
      stale.signal(link(true));
      expect(stale.state.partitions.p1).toMatchObject({ state: 'armed_home', stale: true });
      expect(stale.arm()).toMatchObject({ outcome: 'accepted' });
      const disarmed = site();
      disarmed.signal(says('armed_home'));
      disarmed.signal(says('disarmed'));
      expect(disarmed.arm()).toMatchObject({ outcome: 'accepted' });
    });
  });

  it('an exit delay that begins is the panel accepting', () => {
    const site = ready();
    site.arm();
    site.signal(says('arming'));
    expect(reply(site)).toMatchObject({ outcome: 'done', state: 'arming' });
  });

  it('a person at the keypad who got there first: the command is `already`', () => {
    const site = ready();
    site.arm();
    site.signal(says('armed_away', { user: 'bert' }));
    expect(reply(site)).toMatchObject({ outcome: 'already' });
    expect(site.state.partitions.p1).toMatchObject({ source: 'panel', changedBy: 'bert' });
  });

  it.each([
    ['not_ready', { code: 'NOT_READY', zones: ['2'] }],
    ['wrong_code', { code: 'BAD_CODE' }],
    ['lockout', { code: 'LOCKED' }],
    ['no_command', { code: 'NOT_ALLOWED', field: 'profile' }],
    ['other', { code: 'NOT_ALLOWED', field: 'panel' }],
  ] as const)('a refusal %s of the panel is %j', (reason, error) => {
    const site = ready();
    site.open('2');
    site.arm();
    site.signal({ kind: 'refusal', source: { kind: 'panel', id: 'main' }, reason });
    expect(reply(site)?.outcome).toBe('refused');
    expect(reply(site)?.error).toEqual(error);
    expect(site.word()).toBe('disarmed');
  });

  it('a panel that confirms late has the time its profile gives it', () => {
    const slow = partition('p1', { authority: 'panel', panel: 'main', confirmMs: 60_000 });
    const site = world(panelHouse({ partitions: [slow] }));
    site.signal(says('disarmed'));
    site.arm();
    site.pass(59_000);
    expect(reply(site)).toMatchObject({ outcome: 'accepted' });
    site.pass(1000);
    expect(reply(site)).toMatchObject({ outcome: 'unconfirmed' });
  });

  it('silence of the panel is `unconfirmed`, and what comes later is mirrored', () => {
    const site = ready();
    site.arm();
    site.pass(10_000);
    expect(reply(site)).toMatchObject({ outcome: 'unconfirmed', error: { code: 'UNCONFIRMED' }, state: 'disarmed' });
    site.signal(says('armed_away'));
    expect(site.state.partitions.p1).toMatchObject({ state: 'armed_away', source: 'panel' });
  });

  it('an arm of all names each partition that did not follow, with why, also after a restart in between', () => {
    const panel = { authority: 'panel', panel: 'main' } as const;
    const partitions = ['p1', 'p2', 'p3'].map((id) => partition(id, panel));
    const site = world(panelHouse({ partitions }));
    for (const { id } of partitions) site.signal(says('disarmed', { partition: id }));
    site.arm({ partition: 'all' });
    site.signal(says('armed_away'));
    site.signal({ kind: 'refusal', source: { kind: 'panel', id: 'main' }, partition: 'p2', reason: 'wrong_code' });
    const stored = readState(writeState(site.state));
    expect(stored?.inFlight).toEqual(site.state.inFlight);
    site.pass(10_000);
    expect(reply(site)).toMatchObject({
      outcome: 'failed',
      undone: [
        { partition: 'p2', code: 'BAD_CODE' },
        { partition: 'p3', code: 'UNCONFIRMED' },
      ],
    });
    expect(readState(writeState(site.state))?.commands).toEqual(site.state.commands);
  });

  it('one command at a time: the second is BUSY', () => {
    const site = ready();
    site.arm();
    expect(site.disarm().error?.code).toBe('BUSY');
  });

  it('safety 5: a person with a code takes over from a command without one', () => {
    const site = ready();
    site.signal(says('armed_away'));
    site.arm({ id: 'cloud', source: 'cloud', mode: 'vacation', code: 'none' });
    expect(site.disarm().outcome).toBe('accepted');
    expect(site.last).toContainEqual(
      expect.objectContaining({ result: expect.objectContaining({ commandId: 'cloud', outcome: 'superseded' }) }),
    );
  });

  it('PANEL_OFFLINE: link down freezes the state, marks it stale and invents nothing', () => {
    const site = ready();
    site.signal(says('armed_away'));
    const zones = site.state.zones;
    site.signal(link(false));
    expect(site.kinds()).toEqual(['trouble:panel_offline:active']);
    expect(site.state.partitions.p1).toMatchObject({ state: 'armed_away', stale: true });
    expect(site.state.zones).toBe(zones);
    expect(site.disarm().error?.code).toBe('PANEL_OFFLINE');
  });

  it('retained knowledge counts only once the link is up, and a difference is late', () => {
    const site = ready();
    site.signal(says('armed_away'));
    site.send({ kind: 'started', sameBoot: true, storeLost: false });
    expect(site.state.partitions.p1).toMatchObject({ state: 'armed_away', stale: true });
    site.signal(says('armed_home', { replay: true }));
    expect(site.word()).toBe('armed_away');
    site.signal(link(true));
    expect(site.state.partitions.p1).toMatchObject({ state: 'armed_home', stale: false, source: 'panel' });
    expect(site.events()[0]).toMatchObject({ kind: 'armed_home', late: true });
  });

  it('I1: what the panel says live is newer than what was retained before its link was up', () => {
    const site = ready();
    site.send({ kind: 'started', sameBoot: true, storeLost: false });
    site.signal(says('disarmed', { replay: true }));
    site.open('1', true, { tamper: true, replay: true });
    site.signal(says('armed_away'));
    site.open('1', false);
    site.signal(link(true));
    expect(site.word()).toBe('armed_away');
    expect(site.state.zones['1']).toMatchObject({ open: false, tamper: true });
    expect(site.state.held).toEqual({});
  });

  it('triggered names the zone that is open', () => {
    const site = ready();
    site.signal(says('armed_away'));
    site.open('2');
    expect(site.kinds()).toEqual([]);
    site.signal(says('triggered'));
    expect(site.events()).toMatchObject([{ kind: 'burglary_perimeter', zone: '2', incident: 'p1-1' }]);
  });

  it.each([true, false])('one intrusion is one alarm event, whichever comes first (zone first: %s)', (zoneFirst) => {
    const site = ready();
    site.signal(says('armed_away'));
    site.open('2');
    site.log.length = 0;
    const steps = [() => site.open('2', true, { alarm: true }), () => site.signal(says('triggered'))];
    for (const step of zoneFirst ? steps : steps.reverse()) step();
    expect(site.kinds(site.log)).toEqual(['alarm:burglary_perimeter:active']);
    site.open('3', true, { alarm: true });
    expect(site.events()).toMatchObject([{ kind: 'burglary_interior', incident: 'p1-1' }]);
  });

  it('safety 1: a fire zone of a disarmed panel is an alarm by itself', () => {
    const site = ready();
    site.open('10', true, { alarm: true });
    expect(site.kinds()).toEqual(['alarm:fire:active']);
    site.signal(says('triggered'));
    expect(site.events()).toEqual([]);
    expect(site.word()).toBe('triggered');
  });

  it('safety 8: the panel that begins its entry delay makes the picture leave at once', () => {
    const site = ready();
    site.signal(says('armed_away'));
    site.open('1');
    site.signal(says('pending'));
    expect(site.events()).toMatchObject([{ kind: 'entry_delay_started', zone: '1', signalToStation: false }]);
    expect(site.events()[0]?.media).toHaveLength(1);
  });

  it('a camera zone in an armed partition of a panel is an alarm event and no transition', () => {
    const site = ready();
    site.signal(says('armed_away'));
    site.sees('hall', 'person');
    expect(site.kinds()).toEqual(['alarm:burglary_interior:active']);
    expect(site.word()).toBe('armed_away');
  });

  it('safety 2: a stale "disarmed" does not count: the camera alarm goes up, flagged', () => {
    const site = ready();
    site.signal(link(false));
    site.sees('hall', 'person');
    expect(site.events()[0]?.evidence).toContainEqual({ type: 'arming_not_known', state: 'disarmed', stale: true });
  });
});
