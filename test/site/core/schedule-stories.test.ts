import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adoptPlan, decide, type Effect, type Input, initialState, readState, writeState } from '#site/core/index.ts';
import type { SitePlan, Stamp } from '#site/model/index.ts';
import { clocked, clockedPanel } from './schedule-site.ts';
import { hour, minute } from './schedule-world.ts';
import { anyCommand, anySignal, type Seen, type Step } from './stories.ts';
import { says, stamp } from './world.ts';

/** A random day of a site with schedules: people, devices, restarts, and a wall clock that is set. */
type Event =
  | Exclude<Step, { do: 'pass' }>
  | { readonly do: 'tick'; readonly passMs: number }
  /** A tick at a moment of the story, unless it has passed. */
  | { readonly do: 'until'; readonly ms: number }
  | { readonly do: 'set'; readonly wallMs: number; readonly clock: Stamp['clock'] }
  | { readonly do: 'quiet' };

const anyEvent = (plan: SitePlan): fc.Arbitrary<Event> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(10_000, minute, 8 * minute, 20 * minute).map(tickAfter) },
    { weight: 3, arbitrary: anySignal(plan).map((signal): Event => ({ do: 'signal', signal })) },
    { weight: 3, arbitrary: fc.constant<Event>({ do: 'quiet' }) },
    {
      weight: 2,
      arbitrary: anyCommand().map((command): Event => ({ do: 'command', command, ageMs: 0 })),
    },
    {
      weight: 1,
      arbitrary: anyCommand({
        verb: fc.constant('postpone'),
        partition: fc.constant('all'),
        schedule: fc.constantFrom('night', 'morning'),
        minutes: fc.constantFrom(1, 30),
        source: fc.constantFrom('lan', 'cli'),
      }).map(
        (command): Event => ({ do: 'command', command: { ...command, schedule: 'night', minutes: 30 }, ageMs: 0 }),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('restart' as const),
        sameBoot: fc.boolean(),
        clock: fc.constantFrom('synced' as const, 'doubtful' as const),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('set' as const),
        wallMs: fc.constantFrom(0, 0, hour, -hour, 365 * 24 * hour, -stamp(0).wall + minute),
        clock: fc.constantFrom('synced' as const, 'synced' as const, 'doubtful' as const),
      }),
    },
  );
const tickAfter = (passMs: number): Event => ({ do: 'tick', passMs });

/** Half of the stories begin with the arming of 08:10 done, and half come by the moment of the disarming at 09:00. */
const anyStory = (plan: SitePlan): fc.Arbitrary<readonly Event[]> =>
  fc
    .tuple(fc.boolean(), fc.array(anyEvent(plan), { minLength: 5, maxLength: 30 }), fc.boolean())
    .map(([arms, events, disarms]) => [
      ...(arms ? [0, 9, 10, 11, 12].map(tickAt) : []),
      ...events,
      ...(disarms ? [59.5, 60, 61].map(tickAt) : []),
    ]);
const tickAt = (minutes: number): Event => ({ do: 'until', ms: minutes * minute });

/** Plays a story with every state written to disk and read back at a restart. */
function play(plan: SitePlan, story: readonly Event[]): Seen[] {
  let state = initialState(plan, stamp(0), { storeLost: false });
  let ms = 0;
  let wallMs = 0;
  let boots = 1;
  let clock: Stamp['clock'] = 'synced';
  const seen: Seen[] = [];
  const at = () => stamp(ms, { boot: `boot-${boots}`, clock, wall: Math.max(0, stamp(ms).wall + wallMs) });
  const send = (input: Record<string, unknown>) => {
    const whole = { at: at(), ...input } as Input;
    const decision = decide(plan, state, whole);
    seen.push({ before: state, after: decision.state, input: whole, effects: decision.effects });
    state = decision.state;
  };
  const quiet = () => {
    const source = { kind: 'panel', id: 'main' };
    send({ kind: 'signal', signal: { kind: 'link', source, layer: 'bridge', up: true } });
    for (const { id } of plan.cameras)
      send({ kind: 'signal', signal: { kind: 'link', source: { kind: 'camera', id }, layer: 'device', up: true } });
    for (const { number: zone } of plan.zones)
      send({ kind: 'signal', signal: { kind: 'zone', source, zone, open: false, replay: false } });
  };
  /** A panel that does what it is asked. */
  const obey = (effects: readonly Effect[]) => {
    for (const effect of effects) {
      if (effect.kind === 'panel')
        send({ kind: 'signal', signal: says(effect.action === 'disarm' ? 'disarmed' : 'armed_away') });
    }
  };
  send({ kind: 'started', sameBoot: false, storeLost: false });
  quiet();
  for (const event of story) {
    if (event.do === 'quiet') quiet();
    if (event.do === 'signal') send({ kind: 'signal', signal: event.signal });
    if (event.do === 'command') send({ kind: 'command', command: { ...event.command, issuedAt: at().wall } });
    if (event.do === 'set') ({ wallMs, clock } = event);
    if (event.do === 'restart') {
      state = adoptPlan(plan, readState(writeState(state)) ?? initialState(plan, at(), { storeLost: true }), at());
      if (!event.sameBoot) boots += 1;
      clock = event.clock;
      send({ kind: 'started', sameBoot: event.sameBoot, storeLost: false });
    }
    if (event.do === 'tick' || (event.do === 'until' && event.ms >= ms)) {
      ms = event.do === 'tick' ? ms + event.passMs : event.ms;
      for (const { id, due } of Object.values(state.timers))
        if (due.mono <= at().mono) send({ kind: 'timer.fired', timer: id });
      send({ kind: 'tick' });
      obey(seen.at(-1)?.effects ?? []);
    }
  }
  return seen;
}

describe.each([
  ['engine', clocked()],
  ['panel', clockedPanel()],
])('any day of a site with schedules, authority %s', (_, plan) => {
  const check = (property: (seen: readonly Seen[]) => void) =>
    fc.assert(
      fc.property(anyStory(plan), (story) => property(play(plan, story))),
      { numRuns: 300 },
    );
  const transitions = ({ effects }: Seen) =>
    effects.flatMap((effect) => (effect.kind === 'transition' ? [effect.record] : []));

  it('C12: a schedule disarms only what the schedule it names has armed, under a clock that is known', () => {
    let disarmed = 0;
    check((seen) => {
      for (const entry of seen) {
        for (const record of transitions(entry)) {
          if (record.source !== 'schedule' || record.state !== 'disarmed') continue;
          // What anybody may send under the name of a schedule is another test's matter.
          if (!record.commandId?.startsWith('morning/')) continue;
          disarmed += 1;
          expect(entry.before.periods[record.partition]?.armedBy).toEqual({ source: 'schedule', actor: 'night' });
          expect(entry.input.at.clock).toBe('synced');
          expect(entry.before.partitions[record.partition]?.state).not.toMatch(/pending|triggered/);
        }
      }
    });
    expect(disarmed).toBeGreaterThan(10);
  });

  it('each date is armed once and disarmed once, whatever the clocks do and however often it starts', () => {
    let armed = 0;
    check((seen) => {
      const done = new Set<string>();
      for (const entry of seen) {
        for (const { commandId, source, partition } of transitions(entry)) {
          if (source !== 'schedule' || commandId === undefined || !commandId.includes('/')) continue;
          const key = `${commandId} ${partition}`;
          expect(done.has(key)).toBe(false);
          done.add(key);
          armed += 1;
        }
      }
    });
    expect(armed).toBeGreaterThan(50);
  });

  it('safety 7: an arming whose time came is armed, waits, was overtaken, or is told', () => {
    check((seen) => {
      for (const { before, after, effects, input } of seen) {
        if (input.kind !== 'tick') continue;
        const waiting = Object.values(before.schedules?.waiting ?? {});
        for (const { partition, slot } of waiting) {
          const waits = Object.values(after.schedules?.waiting ?? {}).some((arm) => arm.slot === slot);
          const flies = after.partitions[partition]?.request !== undefined;
          const told = effects.some(
            (effect) => effect.kind === 'event' && ['fail_to_arm', 'schedule_not_run'].includes(effect.event.kind),
          );
          const isSet = !['disarmed', 'unknown'].includes(after.partitions[partition]?.state ?? '');
          expect(waits || flies || told || isSet).toBe(true);
        }
      }
    });
  });

  it('every state comes back equal from its JSON', () => {
    check((seen) => {
      const last = seen.at(-1)?.after;
      if (last !== undefined) expect(readState(writeState(last))).toEqual(last);
    });
  });
});
