import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Act, CloudKind, Fate } from './arming-model/chaos.ts';
import { chaos } from './arming-model/chaos.ts';
import { second } from './arming-model/day.ts';

const runs = Number(process.env.SITEWARD_SYNC_RUNS ?? 2_500);
const status = fc.constantFrom('armed' as const, 'disarmed' as const);

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 50, max: 7000 }).map((afterMs): Fate => ({ kind: 'answered', afterMs })) },
  {
    weight: 5,
    arbitrary: fc.constantFrom<Fate>(
      { kind: 'lost' },
      { kind: 'done, answer lost' },
      { kind: 'unsent' },
      { kind: 'changed' },
      { kind: 'nonsense' },
      { kind: 'other' },
      { kind: 'gone' },
      { kind: 'refused' },
    ),
  },
  { weight: 3, arbitrary: fc.integer({ min: 1000, max: 100_000 }).map((ms): Fate => ({ kind: 'late', ms })) },
  fc.integer({ min: 0, max: 600_000 }).map((retryAfterMs): Fate => ({ kind: 'throttled', retryAfterMs })),
);

const act = (restarts: readonly boolean[]): fc.Arbitrary<Act> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .oneof(fc.integer({ min: 10, max: 12_000 }), fc.integer({ min: 10, max: 90_000 }), fc.constant(3_600_000))
        .map((ms): Act => ({ do: 'pass', ms })),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('site' as const),
        status: fc.oneof({ weight: 4, arbitrary: status }, fc.constantFrom('arming' as const, 'unknown' as const)),
        source: fc.constantFrom(
          'panel' as const,
          'lan' as const,
          'cli' as const,
          'schedule' as const,
          'engine' as const,
        ),
      }),
    },
    { weight: 5, arbitrary: status.map((value): Act => ({ do: 'press', value })) },
    { weight: 2, arbitrary: fc.boolean().map((up): Act => ({ do: 'line', up })) },
    {
      weight: 3,
      arbitrary: fc.array(fate, { minLength: 1, maxLength: 4 }).map((fates): Act => ({ do: 'fates', fates })),
    },
    fc.constantFrom('done' as const, 'refused' as const, 'nothing' as const).map((says): Act => ({ do: 'gate', says })),
    fc.integer({ min: 0, max: 20 }).map((back): Act => ({ do: 'replay', back })),
    fc.constantFrom(...restarts).map((kept): Act => ({ do: 'restart', kept })),
    fc.boolean().map((external): Act => ({ do: 'authority', external })),
    { weight: 5, arbitrary: fc.integer({ min: 15_000, max: 180_000 }).map((ms): Act => ({ do: 'calm', ms })) },
    fc.integer({ min: -2e12, max: 2e12 }).map((wallMs): Act => ({ do: 'clock', wallMs })),
  );

const acts = (...restarts: readonly boolean[]) => fc.array(act(restarts), { minLength: 4, maxLength: 60 });
const kind: fc.Arbitrary<CloudKind> = fc.record({
  versions: fc.boolean(),
  lagMs: fc.constantFrom(0, 8000),
  ages: fc.boolean(),
});
const check = (property: fc.IProperty<[Act[], CloudKind]>) => fc.assert(property, { numRuns: runs });

it("I3: a disarm is somebody's press in the cloud, newer than the last change on the site and younger than its life", () => {
  let disarms = 0;
  check(
    fc.property(acts(true, false), kind, (all, cloud) => {
      for (const { value, at, pressedAt, siteAt, alive } of chaos(all, cloud).commands) {
        if (value !== 'disarmed' || !alive) continue;
        disarms += 1;
        expect(pressedAt).toBeGreaterThanOrEqual(siteAt);
        expect(at - pressedAt).toBeLessThanOrEqual(120 * second);
      }
    }),
  );
  expect(disarms).toBeGreaterThan(runs / 100);
});

it('I3: a person who disarms and arms again after a press is not undone by it, however old the copy that shows it', () => {
  const ms = (max: number) => fc.integer({ min: 500, max });
  const lagMs = fc.integer({ min: 0, max: 14_000 });
  let seen = 0;
  fc.assert(
    fc.property(ms(40_000), ms(7_000), ms(6_000), lagMs, (before, pressed, between, lag) => {
      const site = (one: 'armed' | 'disarmed'): Act => ({ do: 'site', status: one, source: 'lan' });
      const pass = (passed: number): Act => ({ do: 'pass', ms: passed });
      const press: Act = { do: 'press', value: 'disarmed' };
      const evening = [site('armed'), pass(180_000), pass(before), press, pass(pressed), site('disarmed')];
      const all = [...evening, pass(between), site('armed'), pass(120_000)];
      const { commands } = chaos(all, { versions: true, lagMs: lag, ages: true });
      for (const { value, pressedAt, siteAt } of commands) {
        if (value !== 'disarmed') continue;
        seen += 1;
        expect(pressedAt).toBeGreaterThanOrEqual(siteAt);
      }
    }),
    { numRuns: runs },
  );
  expect(seen).toBeGreaterThan(0);
});

it("I3: an arm is somebody's press in the cloud too, never a write of our own that came back", () => {
  let arms = 0;
  check(
    fc.property(acts(true), kind, (all, cloud) => {
      for (const { value, at, pressedAt } of chaos(all, cloud).commands) {
        if (value !== 'armed') continue;
        arms += 1;
        expect(at - pressedAt).toBeLessThanOrEqual(150 * second);
      }
    }),
  );
  expect(arms).toBeGreaterThan(runs / 100);
});

it('I3: only a good read ever makes a command, and none is made for a site that is not controlled', () => {
  check(
    fc.property(acts(true, false), kind, (all, cloud) => {
      for (const { from, external } of chaos(all, cloud).commands) {
        expect(from).toBe('polled');
        expect(external).toBe(false);
      }
    }),
  );
});

it('I8: no write with a lower sequence follows one with a higher, and each tells what was true last', () => {
  check(
    fc.property(acts(true, false), kind, (all, cloud) => {
      const { puts, broken } = chaos(all, cloud);
      expect(broken).toEqual([]);
      for (const [n, put] of puts.entries()) {
        expect(put.seq).toBeGreaterThanOrEqual(puts[n - 1]?.seq ?? 0);
        if (put.trueStatus === 'armed' || put.trueStatus === 'disarmed') expect(put.status).toBe(put.trueStatus);
        else expect(put.trueStatus).toBe('arming');
      }
    }),
  );
});

it('I8: after the line has healed and all is quiet, both sides agree and the newest sequence is acknowledged', () => {
  check(
    fc.property(acts(true, false), kind, (all, cloud) => {
      const { state, status: local, cloud: held } = chaos(all, cloud);
      expect(held).toBe(local);
      expect(state.acked).toBe(state.local?.seq);
      expect(state).toMatchObject({ owed: false, uncertain: null, command: null, doubt: null });
    }),
  );
});
