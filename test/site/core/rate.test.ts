import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Effect, readState, writeState } from '#site/core/index.ts';
import { armed, house, partition, stamp, world } from './world.ts';

const entries = (effects: readonly Effect[]) =>
  effects.flatMap((effect) => (effect.kind === 'audit' ? [effect.entry] : []));

/** An arm command without a code. */
const plain = (site: ReturnType<typeof world>, more: Parameters<ReturnType<typeof world>['arm']>[0] = {}) =>
  site.arm({ code: 'none', ...more });

describe('C8: too many commands', () => {
  it('the sixth command to a partition within 60 s locks its client for 90 s, and no other', () => {
    const site = armed();
    for (let count = 0; count < 5; count += 1) plain(site);
    expect(plain(site).error).toEqual({ code: 'RATE_LIMITED', retryAfterS: 90 });
    site.ms += 30_000;
    expect(plain(site, { partition: 'all' }).error).toEqual({ code: 'RATE_LIMITED', retryAfterS: 60 });
    expect(plain(site, { client: 'app' }).error).toBeUndefined();
    site.ms += 60_000;
    expect(plain(site).error).toBeUndefined();
  });

  it('commands to other partitions, or spread over more than 60 s, do not lock', () => {
    const site = world(house({ partitions: ['p1', 'p2', 'p3'].map((id) => partition(id)) }));
    for (const id of ['p1', 'p2', 'p3']) {
      for (let count = 0; count < 5; count += 1) expect(plain(site, { partition: id }).error).toBeUndefined();
    }
    for (let count = 0; count < 20; count += 1) {
      site.ms += 12_000;
      expect(plain(site, { client: 'slow' }).error).toBeUndefined();
    }
  });

  it('"all" counts for each partition', () => {
    const site = world(house({ partitions: [partition('p1'), partition('p2')] }));
    for (let count = 0; count < 3; count += 1) plain(site, { partition: 'all' });
    for (let count = 0; count < 2; count += 1) plain(site, { partition: 'p2' });
    expect(plain(site, { partition: 'p1' }).error).toBeUndefined();
    expect(plain(site, { partition: 'p2' }).error?.code).toBe('RATE_LIMITED');
  });

  it('a person with a good code disarms however locked the client is (I14)', () => {
    const site = armed();
    for (let count = 0; count < 10; count += 1) plain(site);
    expect(plain(site).error?.code).toBe('RATE_LIMITED');
    expect(site.disarm().outcome).toBe('done');
  });

  it('expired commands, delivered late by a line, lock nobody out (I1)', () => {
    const site = armed();
    for (let count = 0; count < 100; count += 1) {
      expect(plain(site, { issuedAt: stamp(site.ms - 700_000).wall }).outcome).toBe('expired');
    }
    expect(plain(site).error).toBeUndefined();
  });

  it('a lock outlives a restart and a start of the machine', () => {
    const site = armed();
    for (let count = 0; count < 6; count += 1) plain(site);
    site.send({ kind: 'started', sameBoot: true, storeLost: false });
    expect(plain(site).error?.code).toBe('RATE_LIMITED');
    site.send({ kind: 'started', sameBoot: false, storeLost: false });
    expect(plain(site).error?.code).toBe('RATE_LIMITED');
  });

  it('10,000 commands change nothing, push no answer out, stay bounded, and a fire is still an alarm', () => {
    const site = armed();
    const first = site.disarm({ client: 'app', id: 'mine', bodyHash: 'mine', expected: { seq: 99 } });
    for (let count = 0; count < 6; count += 1) plain(site, { skipExitDelay: true });
    const before = site.state;
    for (let count = 0; count < 10_000; count += 1) {
      plain(site);
      expect(site.last.map(({ kind }) => kind)).toEqual(['reply']);
    }
    expect(site.state).toBe(before);
    expect(site.disarm({ client: 'app', id: 'mine', bodyHash: 'mine', expected: { seq: 99 } })).toEqual(first);
    site.open('10');
    expect(site.kinds()).toContain('alarm:fire:active');
  });

  it('clients with ever new names stay bounded', () => {
    const site = world();
    for (let count = 0; count < 1000; count += 1) plain(site, { client: `c${count}` });
    expect(Object.keys(site.state.rates ?? {})).toHaveLength(64);
    expect(readState(writeState(site.state))).toEqual(site.state);
  });

  it('a repeated call for help from a locked client is one call', () => {
    const site = armed();
    for (let count = 0; count < 6; count += 1) plain(site);
    site.disarm({ id: 'help', bodyHash: 'h', code: 'duress' });
    expect(site.kinds().filter((kind) => kind.startsWith('alarm'))).toEqual(['alarm:duress:active']);
    site.disarm({ id: 'help', bodyHash: 'h', code: 'duress' });
    expect(site.kinds()).toEqual([]);
  });

  it('however commands come, none but the first five of a client within a minute act on a partition', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat({ max: 20_000 })), { minLength: 5, maxLength: 60 }),
        (steps) => {
          const site = world();
          const acted: { client: string; ms: number }[] = [];
          for (const [client, ms] of steps) {
            site.ms += ms;
            if (plain(site, { client }).error?.code !== 'RATE_LIMITED') acted.push({ client, ms: site.ms });
          }
          for (const { client, ms } of acted) {
            const within = acted.filter((one) => one.client === client && one.ms >= ms && one.ms - ms < 60_000);
            expect(within.length).toBeLessThanOrEqual(5);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('what the audit log is told', () => {
  it('an arming: the command and its transition, each once, with who did it', () => {
    const site = world();
    site.arm({ id: 'a', skipExitDelay: true });
    expect(entries(site.last)).toEqual([
      {
        ...{ kind: 'transition', source: 'lan', actor_ref: 'anna', command_id: 'a', target: 'p1' },
        ...{ action: 'armed_away', before: 'disarmed', after: 'armed_away away', seq: 1 },
      },
      {
        ...{ kind: 'command', source: 'lan', actor_ref: 'anna', client_id: 'keypad', command_id: 'a', target: 'p1' },
        ...{ action: 'arm', outcome: 'done', after: 'armed_away', seq: 1 },
      },
    ]);
  });

  it('a refusal and a conflict, with their reason; a repeat of a command is not told again', () => {
    const site = armed();
    site.disarm({ code: 'bad' });
    expect(entries(site.last)).toMatchObject([{ kind: 'refusal', action: 'disarm', reason: 'BAD_CODE' }]);
    site.disarm({ id: 'x', bodyHash: 'x', expected: { seq: 99 } });
    expect(entries(site.last)).toMatchObject([{ kind: 'conflict', reason: 'CONFLICT' }]);
    site.disarm({ id: 'x', bodyHash: 'x', expected: { seq: 99 } });
    expect(entries(site.last)).toEqual([]);
  });

  it('of a flood of refusals sixty a minute, and then how many were not told', () => {
    const site = armed();
    const issuedAt = stamp(-600_000).wall;
    site.log.length = 0;
    for (let count = 0; count < 1000; count += 1) site.disarm({ issuedAt });
    expect(entries(site.log)).toHaveLength(60);
    site.ms += 60_000;
    site.disarm({ issuedAt });
    expect(entries(site.last)).toMatchObject([{ kind: 'refusal', reason: 'EXPIRED', omitted: 940 }]);
  });
});
