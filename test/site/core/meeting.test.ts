import { describe, expect, it } from 'vitest';
import { readState, writeState } from '#site/core/index.ts';
import type { Command } from '#site/model/index.ts';
import { armed, house, panelHouse, partition, says, stamp, type World, world } from './world.ts';

const anna = { actor: 'anna', code: 'ok' } as const;
const bert = { actor: 'bert', code: 'ok', client: 'hall' } as const;
const plain = { code: 'none', client: 'app' } as const;
const cloud = { source: 'cloud', code: 'none', client: 'cloud', actor: 'operator' } as const;
const night = { source: 'schedule', code: 'none', client: 'schedule', actor: 'night' } as const;
const overtaken = { outcome: 'superseded', error: { code: 'NEWER_LOCAL_CHANGE' } } as const;
const free = house({ disarmNeedsCode: false });

/** Two commands so many milliseconds apart. */
function meet(site: World, first: Partial<Command>, second: Partial<Command>, ms = 1_999) {
  site.command({ mode: 'away', skipExitDelay: true, ...first });
  site.ms += ms;
  return site.command({ mode: 'away', skipExitDelay: true, issuedAt: stamp(site.ms).wall, ...second });
}
const arm = { verb: 'arm' } as const;
const disarm = { verb: 'disarm' } as const;

describe('safety 5: commands that meet within two seconds', () => {
  it.each([
    ['cloud', cloud],
    ['schedule', night],
    ['whoever has no code', plain],
  ])('the disarm of a person with a code prevails over an arm from %s, whichever comes first', (_, other) => {
    const first = armed(free);
    expect(meet(first, { ...disarm, ...anna }, { ...arm, ...other })).toMatchObject({
      ...overtaken,
      state: 'disarmed',
    });
    const second = world(free);
    expect(meet(second, { ...arm, ...other }, { ...disarm, ...anna })).toMatchObject({ state: 'disarmed' });
  });

  it.each([
    ['cloud', cloud, plain],
    ['whoever has no code', plain, cloud],
    ['a schedule', plain, night],
  ])('without a person the arm prevails over a disarm from %s', (_, one, other) => {
    const site = world(free);
    expect(meet(site, { ...arm, ...other }, { ...disarm, ...one })).toMatchObject({
      ...overtaken,
      state: 'armed_away',
    });
    const later = armed(free);
    expect(meet(later, { ...disarm, ...one }, { ...arm, ...other }).outcome).toBe('done');
    expect(later.word()).toBe('armed_away');
  });

  it('of two people the one who arms prevails, and the other may disarm after two seconds (I14)', () => {
    const site = world();
    expect(meet(site, { ...arm, ...anna }, { ...disarm, ...bert })).toMatchObject(overtaken);
    site.ms += 1;
    expect(site.disarm(bert).outcome).toBe('done');
    expect(meet(world(), { ...arm, ...bert }, { ...disarm, ...anna }, 2_000).outcome).toBe('done');
  });

  it('whoever thinks again is obeyed: a person, a schedule, the cloud', () => {
    for (const who of [anna, night, cloud]) {
      const site = world();
      expect(meet(site, { ...arm, ...who }, { ...disarm, ...who })).toMatchObject({
        outcome: 'done',
        state: 'disarmed',
      });
    }
  });

  it('so is one account or API key without a code, and nobody else who has none, nor another one', () => {
    const key = { code: 'none', client: 'key:a1', isProven: true } as const;
    const site = world(free);
    expect(meet(site, { ...arm, ...key }, { ...disarm, ...key }, 0)).toMatchObject({ outcome: 'done' });
    for (const other of [plain, { ...key, client: 'key:b2' }, { code: 'none', client: 'key:a1' } as const]) {
      expect(meet(world(free), { ...arm, ...key }, { ...disarm, ...other }, 0)).toMatchObject(overtaken);
      expect(meet(world(free), { ...arm, ...other }, { ...disarm, ...key }, 0)).toMatchObject(overtaken);
    }
    // What it did with the code of a person is the person's.
    expect(meet(world(free), { ...arm, ...key, ...anna }, { ...disarm, ...key }, 0)).toMatchObject(overtaken);
    const stored = world(free);
    stored.arm(key);
    stored.state = readState(writeState(stored.state)) ?? stored.state;
    expect(stored.disarm(key)).toMatchObject({ outcome: 'done' });
  });

  it('who gives the same as another one does not take back what that one gave', () => {
    const one = { code: 'none', client: 'key:a1', isProven: true } as const;
    const other = { ...one, client: 'key:b2' } as const;
    for (const first of [one, anna, night, plain]) {
      const site = world(free);
      site.command({ ...arm, mode: 'away', skipExitDelay: true, ...first });
      site.ms += 500;
      site.command({ ...arm, mode: 'away', skipExitDelay: true, ...other });
      site.ms += 1_499;
      expect(site.disarm(other)).toMatchObject({ ...overtaken, state: 'armed_away' });
      site.state = readState(writeState(site.state)) ?? site.state;
      expect(site.disarm(other)).toMatchObject(overtaken);
      site.ms += 1;
      expect(site.disarm(other)).toMatchObject({ outcome: 'done' });
    }
    const site = world(free);
    site.command({ ...arm, mode: 'away', skipExitDelay: true, ...anna });
    site.command({ ...arm, mode: 'away', skipExitDelay: true, ...other });
    expect(site.disarm(anna)).toMatchObject({ outcome: 'done', state: 'disarmed' });
  });

  it('a disarm with a code stays one when it is asked for without, too', () => {
    const site = armed(free);
    expect(site.disarm(anna).outcome).toBe('done');
    site.ms += 500;
    expect(site.disarm(plain).outcome).toBe('already');
    site.ms += 500;
    expect(site.arm({ ...plain, issuedAt: stamp(site.ms).wall })).toMatchObject(overtaken);
    expect(site.word()).toBe('disarmed');
  });

  it('a refused command has met nobody, and another partition is another matter', () => {
    const site = world(house({ partitions: [partition('p1'), partition('p2')] }));
    expect(site.arm({ ...plain, expected: { seq: 9 } }).outcome).toBe('refused');
    expect(site.disarm(bert).outcome).toBe('already');
    expect(meet(site, { ...arm, ...anna }, { ...disarm, ...bert, partition: 'p2' }).outcome).toBe('already');
  });

  it('what was overtaken changes nothing, and the memory of it outlives a restart', () => {
    const site = world();
    site.arm(anna);
    site.state = readState(writeState(site.state)) ?? site.state;
    const before = site.state.partitions;
    expect(site.disarm(bert)).toMatchObject(overtaken);
    expect(site.state.partitions).toBe(before);
    expect(site.rules).toContain('safety 5');
  });

  it('with a panel that has not answered: the arm of another person takes the place of a disarm, never the reverse', () => {
    const site = world(panelHouse());
    site.signal(says('armed_home'));
    expect(site.disarm({ ...anna, id: 'first' }).outcome).toBe('accepted');
    expect(site.arm({ ...bert, mode: 'away' }).outcome).toBe('accepted');
    expect(site.last).toContainEqual(
      expect.objectContaining({ result: expect.objectContaining({ commandId: 'first', outcome: 'superseded' }) }),
    );
    expect(site.disarm(anna)).toMatchObject(overtaken);
    site.ms += 2_000;
    expect(site.disarm(anna).error?.code).toBe('BUSY');
  });
});

describe('C3 with a clock that was set', () => {
  /** Milliseconds the wall clock of the next inputs is off. */
  const shifted = (site: World, byMs: number, clock: World['clock'], more: Record<string, unknown> = {}) => {
    const at = stamp(site.ms, { clock, ...more });
    return { ...at, wall: at.wall + byMs };
  };
  const send = (site: World, at: ReturnType<typeof stamp>, command: Partial<Command>) => {
    const effects = site.send({
      kind: 'command',
      at,
      command: {
        ...{ id: `c-${at.mono}`, partition: 'p1', mode: 'away', skipExitDelay: true, bodyHash: 'x', issuedAt: at.wall },
        ...command,
      },
    });
    return effects.flatMap((effect) => (effect.kind === 'reply' ? [effect.result] : [])).at(-1);
  };
  const to1970 = -1_800_000_000_000;
  const year = 365 * 86_400_000;

  it.each(['doubtful', 'holdover'] as const)('a fall to 1970 (%s) refuses no arm of a schedule', (clock) => {
    const site = armed();
    site.disarm();
    site.ms += 60_000;
    const at = shifted(site, to1970, clock);
    expect(send(site, at, { ...arm, ...night })).toMatchObject({ outcome: 'done', state: 'armed_away' });
  });

  it('a fall to 1970 that is known refuses no arm of the cloud, and lets the cloud disarm nothing', () => {
    const site = armed();
    site.disarm();
    site.ms += 60_000;
    const issuedAt = stamp(site.ms).wall;
    expect(send(site, shifted(site, to1970, 'doubtful'), { ...arm, ...cloud, issuedAt })?.outcome).toBe('done');
    site.arm({ mode: 'away' });
    site.ms += 60_000;
    const disarmed = send(site, shifted(site, to1970, 'doubtful'), { ...disarm, ...cloud, issuedAt });
    expect(disarmed).toMatchObject({ outcome: 'refused', error: { code: 'CLOCK_DOUBTFUL' }, state: 'armed_away' });
  });

  it('a disarm given before somebody armed is overtaken, however the clock was set between', () => {
    for (const byMs of [to1970, -3_600_000, 3_600_000, year]) {
      const site = world();
      site.ms += 40_000;
      site.arm({ skipExitDelay: true });
      site.ms += 10_000;
      const at = shifted(site, byMs, 'synced');
      const given = send(site, at, { ...disarm, ...cloud, issuedAt: at.wall - 30_000 });
      expect(given).toMatchObject({ ...overtaken, state: 'armed_away' });
    }
  });

  it('one given after it is obeyed, however the clock was set between', () => {
    const site = world();
    site.arm({ skipExitDelay: true });
    site.ms += 30_000;
    const at = shifted(site, -year, 'synced');
    expect(send(site, at, { ...disarm, ...cloud, issuedAt: at.wall - 10_000 })?.outcome).toBe('done');
  });

  it('after a start of the machine: newer than the start is newer than the change; else the clocks tell, or nobody', () => {
    const restarted = (clockThen: World['clock']) => {
      const site = world();
      site.clock = clockThen;
      site.arm({ skipExitDelay: true });
      return site;
    };
    const later = { boot: 'boot-2', mono: 20_000 };
    const fresh = restarted('doubtful');
    const at = shifted(fresh, 60_000, 'synced', later);
    expect(send(fresh, at, { ...disarm, ...cloud, issuedAt: at.wall - 10_000 })?.outcome).toBe('done');
    for (const clockThen of ['synced', 'doubtful'] as const) {
      const site = restarted(clockThen);
      const older = { ...disarm, ...cloud, issuedAt: at.wall - 70_000, expiresAt: at.wall + 30_000 };
      expect(send(site, at, older)).toMatchObject(overtaken);
    }
    const told = restarted('synced');
    expect(send(told, at, { ...disarm, ...cloud, issuedAt: at.wall - 40_000 })?.outcome).toBe('done');
    const untold = restarted('doubtful');
    expect(send(untold, at, { ...disarm, ...cloud, issuedAt: at.wall - 40_000 })).toMatchObject(overtaken);
  });

  it('a state of an earlier version is judged by the wall clock it has', () => {
    const site = armed();
    const { local: _, ...period } = site.state.periods.p1 ?? { bypassed: [], entered: [], signalled: {} };
    site.state = { ...site.state, periods: { p1: { ...period, localAt: stamp(site.ms).wall } } };
    site.ms += 30_000;
    const older = stamp(site.ms - 40_000).wall;
    expect(site.disarm({ ...cloud, issuedAt: older })).toMatchObject(overtaken);
    expect(site.disarm({ ...cloud, issuedAt: stamp(site.ms - 20_000).wall }).outcome).toBe('done');
  });
});

describe('C2: the memory of answers', () => {
  it('a flood of expired and refused commands pushes out nothing that had an effect', () => {
    const site = world();
    const first = site.arm({ id: 'mine', bodyHash: 'mine', skipExitDelay: true });
    for (let count = 0; count < 3_000; count += 1) {
      const client = `c${count}`;
      site.disarm({ client, ...(count % 2 === 0 ? { issuedAt: 0 } : { expected: { seq: 99 } }) });
    }
    expect(site.state.commands).toHaveLength(1_000);
    expect(site.arm({ id: 'mine', bodyHash: 'mine', skipExitDelay: true })).toEqual(first);
  });

  it('a refusal is not kept where everything else had an effect', () => {
    const site = world();
    for (let count = 0; count < 1_000; count += 1) site.disarm({ id: `d-${count}` });
    site.disarm({ id: 'late', issuedAt: 0 });
    expect(site.kept('late')).toBeUndefined();
    expect(site.kept('d-0')).toBeDefined();
  });
});
