import type {
  EngineEffect,
  EngineInput,
  EngineLimits,
  EngineState,
  EngineStep,
  Playback,
  TimerKind,
} from '../../../../../src/devices/audio/engine/index.ts';
import { type Core, core } from './world.ts';

/** Planted defects: an engine that breaks one rule. */

const hears = (change: (input: EngineInput, state: EngineState) => EngineInput): Core => ({
  ...core,
  step: (plan, state, input) => core.step(plan, state, change(input, state)),
});
const does = (change: (done: EngineStep, input: EngineInput, before: EngineState) => EngineStep): Core => ({
  ...core,
  step: (plan, state, input) => change(core.step(plan, state, input), input, state),
});
const tells = (change: (effect: EngineEffect) => readonly EngineEffect[]): Core =>
  does((done) => ({ ...done, effects: done.effects.flatMap(change) }));
const limited = (limits: Partial<EngineLimits>): Core => ({
  ...core,
  plan: (plan) => ({ ...plan, limits: { ...plan.limits, ...limits } }),
});
const finds = (change: (row: Playback) => Playback): Core => ({ ...core, recovered: (rows) => rows.map(change) });
const forgetsTimer = (kind: TimerKind): Core =>
  tells((effect) => (effect.kind === 'timer.set' && effect.timer.kind === kind ? [] : [effect]));
const asks = (change: (request: Extract<EngineInput, { kind: 'play' }>['request']) => typeof request): Core =>
  hears((input) => (input.kind === 'play' ? { ...input, request: change(input.request) } : input));

export const sharesNoLane: Core = {
  ...core,
  plan: (plan) => ({ ...plan, speakers: plan.speakers.map((one) => ({ ...one, lane: one.id })) }),
};

/** Whatever ends is told anew when it is cancelled. */
export const cancelsWhatHasEnded = does((done, input) => {
  if (input.kind !== 'cancel' || typeof input.target === 'string' || !('playback' in input.target)) return done;
  const known = done.state.playbacks.get(input.target.playback);
  if (known === undefined) return done;
  const parts = known.parts.map((part) =>
    part.status === 'completed' ? ({ ...part, status: 'cancelled', reason: 'user' } as const) : part,
  );
  const row = { ...known, parts };
  const state = {
    ...done.state,
    playbacks: new Map(done.state.playbacks).set(row.id, row),
    writes: done.state.writes + 1,
  };
  return { ...done, state, effects: [...done.effects, { kind: 'journal', write: state.writes, row }] };
});
export const countsAnew = finds((row) => ({ ...row, seq: -1_000 }));
export const forgetsExpiry = forgetsTimer('expire');
export const forgetsStuckSounds = forgetsTimer('playing');
export const forgetsHangingPrepares = forgetsTimer('prepare');
export const forgetsHangingStarts = forgetsTimer('start');

export const takesAnnouncementsForTests = asks((request) =>
  request.category === 'announcement' ? { ...request, category: 'test' } : request,
);
export const takesAlarmsForAnnouncements = asks(({ alarm: _, ...request }) => ({
  ...request,
  category: 'announcement',
}));
export const takesFireForBurglary = asks((request) =>
  request.alarm?.cause === 'fire'
    ? { ...request, alarm: { cause: 'burglary', id: request.alarm.id, partition: 'p1' } }
    : request,
);
export const takesBurglaryForNoCause = asks(({ alarm, ...request }) =>
  alarm?.cause === 'burglary'
    ? { ...request, category: 'alarm' }
    : { ...request, ...(alarm !== undefined && { alarm }) },
);
/** A queue full of alarms takes nothing, whatever it is. */
export const evictsNoAlarm = does((done, _, before) => {
  const isEvicted = (effect: EngineEffect) =>
    effect.kind === 'journal' &&
    effect.row.category === 'alarm' &&
    effect.row.parts.some(({ reason }) => reason === 'evicted');
  const answer = { outcome: 'refused', reason: 'queue_full' } as const;
  return done.effects.some(isEvicted) ? { state: before, effects: [], answer } : done;
});
export const letsStopsTakeTheirTime = forgetsTimer('stop');
export const overclaims = tells((effect) =>
  effect.kind === 'changed' && effect.playback.status === 'failed' && effect.playback.summary.completed > 0
    ? [{ ...effect, playback: { ...effect.playback, status: 'completed' } }]
    : [effect],
);
export const forgetsCancels = hears((input) =>
  input.kind === 'cancel' ? { ...input, target: { speaker: 'nowhere' } } : input,
);
/** Whoever wants quiet ends alarms, too. */
export const cancelsAlarms = hears((input) => (input.kind === 'cancel' ? { ...input, alarms: true } : input));
export const hushesSlowly = limited({ silenceMs: 5_000 });
export const hushesEverything = hears((input) =>
  input.kind === 'hush' ? { kind: 'cancel', target: 'all', alarms: true, at: input.at } : input,
);
export const believesTheDevice = hears((input, state) => {
  if (input.kind !== 'ended') return input;
  for (const { sound } of state.lanes.values())
    if (sound?.run === input.run && sound.soundedAt !== undefined)
      return { ...input, at: { ...input.at, mono: Math.max(input.at.mono, sound.soundedAt + sound.lengthMs) } };
  return input;
});
export const goesOnAfterACrash = finds((row) => ({
  ...row,
  parts: row.parts.map(({ begun: _, ...part }) => (part.status === 'playing' ? { ...part, status: 'queued' } : part)),
}));
/** One after another cut, it begins anew for ever. */
export const forgetsCuts: Core = {
  ...core,
  step(plan, state, input) {
    const playbacks = new Map(
      [...state.playbacks].map(([id, row]) => [id, { ...row, parts: row.parts.map((part) => ({ ...part, cuts: 0 })) }]),
    );
    return core.step(plan, { ...state, playbacks }, input);
  },
};
export const waitsForNoDisk = does((done) => {
  const lanes = [...done.state.lanes].map(([id, { next, ...lane }]) => {
    if (next === undefined) return [id, lane] as const;
    const { write: _, ...rest } = next;
    return [id, { ...lane, next: rest }] as const;
  });
  return { ...done, state: { ...done.state, lanes: new Map(lanes) } };
});
export const waitsForEverybody = limited({ togetherMs: 60_000 });
export const dropsNothing = tells((effect) => (effect.kind === 'drop' ? [] : [effect]));
export const queuesWithoutEnd = limited({ queue: 10_000 });
export const keepsEverything = limited({ kept: 10_000 });
export const soundsForEver = forgetsTimer('longest');
export const restsNever = limited({ restMs: 0 });
