import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { absoluteMs, createSessions, idleMs, sessionsInAll, sessionsOfOne } from '#lan/access/sessions.ts';
import { manualClock } from '#lib/clock.fake.ts';

describe('a session', () => {
  it('has a token of 256 bits that is kept nowhere, and another one each time', () => {
    const sessions = createSessions({ clock: manualClock() });
    const [one, other] = [sessions.open('anna', '192.0.2.1'), sessions.open('anna', '192.0.2.1')];
    expect(Buffer.from(one.token, 'base64url')).toHaveLength(32);
    expect(new Set([one.token, other.token, one.session.id, other.session.id]).size).toBe(4);
    expect(JSON.stringify([sessions.list(), one.session])).not.toContain(one.token);
    for (const wrong of ['', one.session.id, one.token.slice(1), `${one.token}a`])
      expect(sessions.use(wrong)).toBeUndefined();
  });

  it('ends after half an hour without use, and after twelve hours with it', () => {
    const clock = manualClock();
    const sessions = createSessions({ clock });
    const { token } = sessions.open('anna', '192.0.2.1');
    for (let used = idleMs - 1; used < absoluteMs; used += idleMs - 1) {
      clock.advance(idleMs - 1);
      expect(sessions.use(token)?.person).toBe('anna');
    }
    clock.advance(idleMs - 1);
    expect(sessions.use(token)).toBeUndefined();
    const idle = sessions.open('anna', '192.0.2.1');
    clock.advance(idleMs);
    expect(sessions.list()).toEqual([]);
    expect(sessions.use(idle.token)).toBeUndefined();
  });

  it('is not made longer by a wall clock that is set back', () => {
    const clock = manualClock();
    const sessions = createSessions({ clock });
    const { token } = sessions.open('anna', '192.0.2.1');
    clock.step(-1e11);
    clock.advance(idleMs);
    expect(sessions.use(token)).toBeUndefined();
  });
});

it('at the cap of all accounts together the oldest gives way, whosever it is', () => {
  let given = 0;
  const sessions = createSessions({
    clock: manualClock(),
    onGivenWay: () => {
      given += 1;
    },
  });
  const first = sessions.open('first', '192.0.2.1');
  for (let n = 1; n < sessionsInAll; n += 1) sessions.open(`p${n}`, '192.0.2.1');
  expect([sessions.size, given, sessions.use(first.token)?.person]).toEqual([sessionsInAll, 0, 'first']);
  sessions.open('last', '192.0.2.1');
  expect([sessions.size, given, sessions.use(first.token)]).toEqual([sessionsInAll, 1, undefined]);
});

/** The rules again, as a plain list; a session is known by the order it was opened in. */
interface Model {
  readonly n: number;
  readonly person: string;
  readonly opened: number;
  used: number;
}

it('sessions do what a plain list does, within their caps', () => {
  const who = fc.integer({ min: 0, max: 11 });
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('open' as const), who }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('use' as const), n: fc.nat(120) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('end' as const), n: fc.nat(120), who }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('endAll' as const), who, n: fc.nat(120) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('advance' as const), ms: fc.integer({ min: 1, max: 1_500_000 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('set' as const), ms: fc.integer({ min: -1e12, max: 1e12 }) }),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 250 }), (steps) => {
      const clock = manualClock();
      let given = 0;
      const sessions = createSessions({ clock, onGivenWay: () => (given += 1) });
      const opened: { token: string; id: string }[] = [];
      let model: Model[] = [];
      let gaveWay = 0;
      const now = () => clock.monotonic();
      const live = () => model.filter((one) => now() - one.opened < absoluteMs && now() - one.used < idleMs);
      for (const one of steps) {
        model = live();
        if (one.kind === 'advance') clock.advance(one.ms);
        else if (one.kind === 'set') clock.step(one.ms);
        else if (one.kind === 'open') {
          const person = `p${one.who}`;
          const own = model.filter((other) => other.person === person);
          const out = own.length >= sessionsOfOne ? own[0] : model.length >= sessionsInAll ? model[0] : undefined;
          if (out !== undefined) gaveWay += 1;
          model = [...model.filter((other) => other !== out), { n: opened.length, person, opened: now(), used: now() }];
          const { token, session } = sessions.open(person, '192.0.2.1');
          opened.push({ token, id: session.id });
        } else if (one.kind === 'use') {
          const found = model.find(({ n }) => n === one.n);
          if (found !== undefined) found.used = now();
          expect(sessions.use(opened[one.n]?.token ?? 'none')?.person).toBe(found?.person);
        } else if (one.kind === 'end') {
          const person = `p${one.who}`;
          const found = model.find((other) => other.n === one.n && other.person === person);
          expect(sessions.end(opened[one.n]?.id ?? 'none', person)).toBe(found !== undefined);
          model = model.filter((other) => other !== found);
        } else {
          const out = model.filter((other) => other.person === `p${one.who}` && other.n !== one.n);
          expect(sessions.endAll(`p${one.who}`, opened[one.n]?.id)).toBe(out.length);
          model = model.filter((other) => !out.includes(other));
        }
        model = live();
        expect(sessions.list().map(({ id }) => id)).toEqual(model.map(({ n }) => opened[n]?.id));
        expect(sessions.size).toBeLessThanOrEqual(sessionsInAll);
        expect(given).toBe(gaveWay);
      }
    }),
    { numRuns: 60 },
  );
});
