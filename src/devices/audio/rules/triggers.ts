import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { daysOf, type PlaybackShown, type Stamp } from '#site/model/index.ts';
import type { PlayAnswer, PlayRequest } from '../engine/index.ts';
import type { Library } from '../library/index.ts';
import type { AudioPlan } from '../speakers.ts';
import { type ClockPlan, type ClockRun, isFirstWorkingDay, type NextRuns } from './by-clock.ts';
import { createRuleClock } from './clock.ts';
import { ruleMetrics } from './metrics.ts';
import { createRules, type Rules } from './rules.ts';
import { createSelfTest, type SelfTest, type SelfTestResult } from './self-test.ts';

/** All that plays by itself: rules with events and by the clock, and the test of the speakers each month. */
export interface Triggers extends Pick<Rules, 'decided' | 'hushed' | 'messages'>, Pick<SelfTest, 'run' | 'heed'> {
  start(): void;
  /** The plan is another one. */
  replanned(): void;
  stop(): Promise<void>;
  /** For people. */
  problems(): readonly string[];
}

const selfTestId = 'self_test';
const selfTestBy = `schedule:${selfTestId}`;

export function createTriggers(options: {
  readonly plan: () => AudioPlan;
  /** Undefined before it is read. */
  readonly library: () => Library | undefined;
  readonly play: (request: PlayRequest) => PlayAnswer;
  readonly ended: (playback: string, ms: number, signal: AbortSignal) => Promise<PlaybackShown | undefined>;
  readonly alarmActive: () => boolean;
  readonly nextRuns: NextRuns;
  readonly onTested: (results: readonly SelfTestResult[], by: string) => void;
  readonly stamp: () => Stamp;
  readonly stop: AbortSignal;
  readonly log: Logger;
  readonly metrics: Registry;
}): Triggers {
  const { plan, library, play, ended, alarmActive, nextRuns, onTested, stamp, log } = options;
  const used = () =>
    plan()
      .speakers.filter(({ enabled }) => enabled)
      .map(({ id }) => id);
  const selfTest = createSelfTest({
    ...{ library, play, ended, alarmActive, onTested, speakers: used },
    volume: () => volumeOf(plan().audio.self_test),
  });
  const metrics = ruleMetrics(options.metrics, selfTest.results);
  const rules = createRules({ plan, library, play, stamp, metrics, log });
  const clock = createRuleClock({ nextRuns, onDue: due, stamp, log });

  function due({ id, date }: ClockRun): void {
    if (id !== selfTestId) {
      rules.due(id.slice('rule '.length));
      return;
    }
    const { self_test } = plan().audio;
    if (self_test === 'off' || !isFirstWorkingDay(date, self_test.day)) return;
    selfTest.run(selfTestBy, options.stop).catch((error: unknown) => {
      if (!options.stop.aborted) log.warn({ err: error }, 'the test of the speakers was left out');
    });
  }

  return {
    start() {
      clock.follow(clockPlan(plan()));
      clock.start();
    },
    replanned: () => clock.follow(clockPlan(plan())),
    stop: clock.stop,
    decided: rules.decided,
    hushed: rules.hushed,
    messages: rules.messages,
    run: selfTest.run,
    heed: selfTest.heed,
    problems: () => [
      ...rules.problems(),
      ...selfTest
        .results()
        .filter(({ ok, device_id }) => ok === false && used().includes(device_id))
        .map(({ device_id, reason }) => `speaker ${device_id} did not play its test tone: ${reason}`),
    ],
  };
}

/** By hand it is tested also where the clock tests nothing. */
const volumeOf = (test: AudioPlan['audio']['self_test']): number => (test === 'off' ? 20 : test.volume);

function clockPlan({ rules = [], holidays = [], timezone, audio, speakers }: AudioPlan): ClockPlan {
  const slots = rules.flatMap(({ id, at, days = [], holidays: rule = 'skip' }) =>
    at === undefined ? [] : [{ id: `rule ${id}`, at, days: daysOf(days), holidays: rule }],
  );
  const { self_test } = audio;
  const isTested = self_test !== 'off' && speakers.some(({ enabled }) => enabled);
  const test = isTested
    ? [{ id: selfTestId, at: self_test.at, days: daysOf(['mon-fri']), holidays: 'ignore' as const }]
    : [];
  return { timezone, holidays, slots: [...slots, ...test] };
}
