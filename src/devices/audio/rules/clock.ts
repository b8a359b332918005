import type { Logger } from 'pino';
import { wakeup } from '#lib/wait.ts';
import type { Stamp } from '#site/model/index.ts';
import { type ClockPlan, type ClockRun, look, type NextRuns } from './by-clock.ts';

/** The clock may be set while something is waited for: it is looked at this often. */
const lookMs = 10_000;

export interface RuleClock {
  follow(plan: ClockPlan): void;
  start(): void;
  stop(): Promise<void>;
}

/** Tells what is due, within a moment of its second. */
export function createRuleClock(options: {
  readonly nextRuns: NextRuns;
  readonly onDue: (run: ClockRun) => void;
  readonly stamp: () => Stamp;
  readonly log: Logger;
}): RuleClock {
  const { nextRuns, onDue, stamp, log } = options;
  const wake = wakeup();
  const stop = new AbortController();
  let plan: ClockPlan | undefined;
  let running: Promise<void> | undefined;

  async function run({ signal }: AbortController): Promise<void> {
    let followed: ClockPlan | undefined;
    let next: readonly ClockRun[] = [];
    let before = stamp();
    /** The last one of each; a clock that is set back brings no moment twice. */
    const done = new Map<string, number>();
    while (!signal.aborted) {
      const now = stamp();
      const { due, wasSet } = look(before, now, next);
      before = now;
      for (const one of due) {
        if (done.get(one.id) === one.at) continue;
        done.set(one.id, one.at);
        onDue(one);
      }
      const first = next[0];
      if (plan !== followed || wasSet || first === undefined || first.at <= now.wall) {
        if (plan !== followed) done.clear();
        followed = plan;
        next = plan === undefined || plan.slots.length === 0 ? [] : nextRuns(plan, now.wall);
      }
      const inMs = next[0] === undefined ? Number.POSITIVE_INFINITY : next[0].at - now.wall;
      const isIdle = followed === undefined || followed.slots.length === 0;
      await wake.wait(isIdle ? inMs : Math.min(inMs, lookMs), signal).catch(() => undefined);
    }
  }

  return {
    follow(next) {
      plan = next;
      wake.wake();
    },
    start() {
      running ??= run(stop).catch((error: unknown) =>
        log.error({ err: error }, 'messages by the clock are not played any more; please report this'),
      );
    },
    async stop() {
      stop.abort(new Error('the speakers are stopping'));
      await running;
    },
  };
}
