import type { OutboxHistory } from '#lan/http/index.ts';

export type Step = OutboxHistory['items'][number];

/** What is drawn of a step; null where nothing is known. */
export type Value = (step: Step) => number | null;

export interface Point {
  readonly at: number;
  readonly value: number;
}

/** Runs of steps that follow each other and have a value: where one is missing the line has a gap. Pure. */
export function runsOf(steps: readonly Step[], everyMs: number, value: Value): readonly (readonly Point[])[] {
  const runs: Point[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const step of steps) {
    const [at, shown] = [Date.parse(step.at), value(step)];
    if (shown === null) continue;
    if (at - last > everyMs * 1.5) runs.push([]);
    runs.at(-1)?.push({ at, value: shown });
    last = at;
  }
  return runs;
}

/** The next of 1, 2, 5, 10, 20, 50, ... that is not below; at least 1. Pure. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? power * 10;
}

/** Where lines of the grid are: 0, the top, and the middle; `whole`: where things are counted, no half ones. Pure. */
export const gridOf = (top: number, whole: boolean): readonly number[] =>
  [0, top / 2, top].filter((value) => !whole || Number.isInteger(value));

/** Every sixth full hour of the browser's day between both. Pure. */
export function marksOf(from: number, to: number): readonly number[] {
  const mark = new Date(from);
  mark.setMinutes(0, 0, 0);
  const marks: number[] = [];
  for (; mark.getTime() <= to; mark.setHours(mark.getHours() + 1))
    if (mark.getHours() % 6 === 0 && mark.getTime() >= from) marks.push(mark.getTime());
  return marks;
}

export interface Hour {
  readonly at: number;
  readonly waiting: number | null;
  readonly accepted: number;
  /** The highest of the hour. */
  readonly p95: number | null;
}

const most = (values: readonly (number | null)[]): number | null =>
  values.reduce((high, value) => (value === null ? high : Math.max(high ?? value, value)), null);

/** The same as a table that can be read out: an hour each, newest first. Pure. */
export function hoursOf(steps: readonly Step[]): readonly Hour[] {
  const hours = new Map<number, Step[]>();
  for (const step of steps) {
    const hour = new Date(step.at).setMinutes(0, 0, 0);
    hours.set(hour, [...(hours.get(hour) ?? []), step]);
  }
  return [...hours]
    .map(([at, some]) => ({
      at,
      waiting: most(some.map(({ waiting }) => waiting)),
      accepted: some.reduce((sum, { accepted }) => sum + accepted, 0),
      p95: most(some.map(({ latency_ms: latency }) => latency?.p95 ?? null)),
    }))
    .sort((a, b) => b.at - a.at);
}
