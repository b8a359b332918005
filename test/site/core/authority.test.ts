import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decide, type Input, initialState, readState, writeState } from '#site/core/index.ts';
import type { Stamp } from '#site/model/index.ts';
import { boot, house, partition } from './world.ts';

const type = fc.constantFrom(1 as const, 2 as const, 3 as const, 4 as const);
type Step =
  | { readonly arm: boolean }
  | { readonly type: 1 | 2 | 3 | 4; readonly by: 'cloud' | 'cli'; readonly whileArmed: boolean };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ arm: fc.boolean() }),
  fc.record({ type, by: fc.constantFrom('cloud' as const, 'cli' as const), whileArmed: fc.constant(false) }),
);

it('I3: whatever type is asked for in whatever order, no partition is disarmed by it, and none changes while armed', () => {
  const plan = house({
    zones: [],
    cameras: [],
    partitions: [partition('p1', { exitDelayMs: 0 }), partition('p2', { exitDelayMs: 0 })],
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.boolean(), (steps, restarts) => {
      const stamp = (n: number): Stamp => ({
        mono: n * 60_000,
        wall: 1_800_000_000_000 + n * 60_000,
        boot,
        clock: 'synced',
      });
      let state = initialState(plan, stamp(0), { storeLost: false });
      for (const [n, one] of steps.entries()) {
        const at = stamp(n + 1);
        const before = state;
        const id = `c${n}`;
        const input: Input =
          'arm' in one
            ? {
                ...{ kind: 'command', at },
                command: {
                  ...{ id, verb: one.arm ? 'arm' : 'disarm', partition: 'all', issuedAt: at.wall, source: 'lan' },
                  ...{ client: 'keypad', actor: 'anna', code: 'ok', bodyHash: id },
                },
              }
            : { kind: 'security_type', at, securityType: one.type, by: one.by, whileArmed: one.whileArmed };
        state = decide(plan, before, input).state;
        const armed = Object.values(before.partitions).filter((each) => each.state.startsWith('armed_'));
        for (const { id: name, state: word, seq } of armed) {
          const now = state.partitions[name];
          expect(now?.seq).toBeGreaterThanOrEqual(seq);
          if (!('arm' in one)) expect(now?.state).toBe(word);
        }
        if (armed.length > 0 && !('arm' in one)) {
          expect(state.authority?.securityType ?? 3).toBe(before.authority?.securityType ?? 3);
        }
        if (!('arm' in one)) {
          for (const each of Object.values(state.partitions)) {
            if (each.state === 'disarmed') expect(before.partitions[each.id]?.state).toBe('disarmed');
          }
        }
        expect(readState(writeState(state))).toEqual(state);
        if (restarts) state = readState(writeState(state)) ?? state;
      }
    }),
    { numRuns: 1000 },
  );
}, 60_000);
