import { type Asked, ask } from './ask.ts';
import { cancel, hush } from './cancel.ts';
import { clockJumped, close, recover, replanned } from './life.ts';
import { ended, failed, firstSample, journalled, prepared, silent, unprepared } from './reports.ts';
import { shown } from './shown.ts';
import { noteIll, noteWell } from './sound.ts';
import type { EngineInput, EnginePlan, EngineState, EngineStep, PlayAnswer } from './types.ts';
import { timerFired } from './watch.ts';
import { begin, finish, playbackOf, speakerPlan, type Work } from './work.ts';

export const emptyEngine: EngineState = {
  playbacks: new Map(),
  lanes: new Map(),
  failures: new Map(),
  alarms: new Map(),
  timers: new Map(),
  runs: 0,
  writes: 0,
};

/**
 * What playing messages on the speakers of a site amounts to: pure, without a clock, an id or a wait of its own. Whoever
 * runs it carries out the effects in their order and brings back what comes of them.
 */
export function step(plan: EnginePlan, state: EngineState, input: EngineInput): EngineStep {
  const work = begin(plan, state, input);
  if (input.kind === 'play') {
    const asked = ask(work, input.request);
    const done = finish(work);
    return { ...done, answer: answerOf(done.state, asked) };
  }
  if (input.kind === 'cancel') {
    const cancelled = cancel(work, input.target, input.alarms);
    return { ...finish(work), cancelled };
  }
  take(work, input.kind, input);
  return finish(work);
}

type Of<K extends EngineInput['kind']> = Extract<EngineInput, { kind: K }>;
type Quiet = Exclude<EngineInput['kind'], 'play' | 'cancel'>;

const takes: { readonly [K in Quiet]: (work: Work, input: Of<K>) => void } = {
  recover: (work, { rows }) => recover(work, rows),
  hush: (work, { partition }) => hush(work, partition),
  journalled: (work, input) => journalled(work, input.write),
  prepared,
  unprepared: (work, { run, reason }) => unprepared(work, run, reason),
  first_sample: (work, { run }) => firstSample(work, run),
  ended,
  failed,
  silent,
  timer: (work, { timer }) => timerFired(work, timer),
  probed(work, { speaker, ok }) {
    if (speakerPlan(work, speaker) === undefined) return;
    if (ok) noteWell(work, speaker);
    else noteIll(work, speaker);
  },
  clock_jumped: (work, { byMs }) => clockJumped(work, byMs),
  replanned,
  shutdown: close,
};

function take<K extends Quiet>(work: Work, kind: K, input: Of<K>): void {
  takes[kind](work, input);
}

function answerOf(state: EngineState, asked: Asked): PlayAnswer {
  if (asked.outcome === 'refused') return asked;
  return { outcome: asked.outcome, playback: shown(playbackOf(state, asked.id)) };
}
