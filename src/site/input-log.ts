import { randomBytes } from 'node:crypto';
import { Counter, type Registry } from 'prom-client';
import { type Input, markOf, type Seen, type SiteState, visibleState } from './core/index.ts';
import type { SitePlan, Stamp } from './model/index.ts';
import type { InputLine, StateLine } from './replay-lines.ts';

/** Lines that wait for a commit at most; above it the older half gives way. */
const cap = 1000;
/** Inputs between two states: a log that lost its beginning can be replayed from the next one. */
const statesApart = 1000;

/**
 * What entered the core and what came of it, for `siteward replay`: each line rides with the next commit. Nothing silent
 * enters it, and nothing shows that something was left out (safety 4).
 */
export interface InputLog {
  /** The site as it is from now on: at the start, and under a new plan. */
  begin(why: StateLine['why'], plan: SitePlan, state: SiteState, at: Stamp): void;
  add(plan: SitePlan, before: SiteState, seen: Pick<Seen, 'input' | 'decision'>): void;
  readonly isEmpty: boolean;
  take(): readonly string[];
}

export function inputLog({ metrics, version }: { metrics: Registry; version: string }): InputLog {
  const run = randomBytes(6).toString('hex');
  let lines: string[] = [];
  let next = 0;
  let sinceState = 0;
  const dropped = new Counter({
    name: 'siteward_input_log_dropped_total',
    help: 'Input log lines given up because no commit took them',
    registers: [metrics],
  });

  function put(line: StateLine | InputLine): void {
    lines.push(JSON.stringify(line));
    next += 1;
    if (lines.length <= cap) return;
    dropped.inc(lines.length - cap / 2);
    lines = lines.slice(-cap / 2);
    // What follows does not go on from the last state any more.
    sinceState = statesApart;
  }

  function begin(why: StateLine['why'], plan: SitePlan, state: SiteState, at: Stamp): void {
    sinceState = 0;
    put({ v: 1, run, i: next, kind: 'state', why, version, at, plan, state: visibleState(plan, state) });
  }

  return {
    begin,
    add(plan, before, seen) {
      if (sinceState >= statesApart) begin('between', plan, before, seen.input.at);
      sinceState += 1;
      put({
        v: 1,
        run,
        i: next,
        kind: 'input',
        input: shownInput(plan, seen.input),
        mark: markOf(before, seen.decision),
      });
    },
    get isEmpty() {
      return lines.length === 0;
    },
    take() {
      const taken = lines;
      lines = [];
      return taken;
    },
  };
}

/** What no plan has is not kept: somebody may have typed a code in its place (I10). It is refused alike in a replay. */
function shownInput({ zones, schedules }: SitePlan, input: Input): Input {
  if (input.kind !== 'command') return input;
  const { zone, zones: walked, bypass, schedule } = input.command;
  const zoneNamed = (name: string) => (zones.some(({ number }) => number === name) ? name : '?');
  const isScheduled = schedules?.schedules.some(({ id }) => id === schedule) === true;
  return {
    ...input,
    command: {
      ...input.command,
      ...(zone !== undefined && { zone: zoneNamed(zone) }),
      ...(walked !== undefined && { zones: walked.map(zoneNamed) }),
      ...(bypass !== undefined && { bypass: bypass.map(zoneNamed) }),
      ...(schedule !== undefined && { schedule: isScheduled ? schedule : '?' }),
    },
  };
}
