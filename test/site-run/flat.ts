/** Whether what a process uses stays the same, from samples of it. */

/** One look at the daemon from outside. */
export interface Sample {
  /** Since the run began, seconds. */
  readonly at: number;
  /** A daemon that was started again has another: its life begins anew. */
  readonly pid: number;
  readonly values: Readonly<Partial<Record<string, number>>>;
}

/** How much more a gauge may show at the end: a share of what it showed at the start, and at least so much in its unit. */
export interface Gauge {
  readonly name: string;
  readonly unit: string;
  readonly share: number;
  readonly least: number;
}

export const gauges: readonly Gauge[] = [
  { name: 'RSS', unit: 'MiB', share: 0.08, least: 12 },
  { name: 'RssAnon', unit: 'MiB', share: 0.08, least: 12 },
  { name: 'heap used', unit: 'MiB', share: 0.08, least: 4 },
  { name: 'external memory', unit: 'MiB', share: 0.1, least: 4 },
  { name: 'file descriptors', unit: '', share: 0.1, least: 4 },
  { name: 'threads', unit: '', share: 0, least: 1 },
  { name: 'timers', unit: '', share: 0.1, least: 5 },
  { name: 'handles', unit: '', share: 0.1, least: 4 },
  { name: 'event loop lag, p99', unit: 'ms', share: 0.5, least: 10 },
  { name: 'processor', unit: '% of a core', share: 0.25, least: 5 },
  { name: 'databases', unit: 'MiB', share: 0.1, least: 2 },
  { name: 'WAL', unit: 'MiB', share: 0.1, least: 2 },
  { name: 'alarm.log', unit: 'MiB', share: 0.1, least: 0.5 },
  { name: 'pictures', unit: 'MiB', share: 0.1, least: 0.5 },
  { name: 'state directory', unit: 'MiB', share: 0.1, least: 3 },
  { name: 'events that wait', unit: '', share: 0, least: 20 },
];

export interface Flatness {
  readonly gauge: string;
  readonly unit: string;
  /** Medians of the three thirds watched. */
  readonly start: number;
  readonly middle: number;
  readonly end: number;
  /** The highest value of the time watched; no part of the rule. */
  readonly highest: number;
  readonly perHour: number;
  /** What `end` may be more than `start`. */
  readonly allowance: number;
  /** What it may fill up to, where such a bound is known. */
  readonly bound?: number;
  /** It grows, and is below its bound yet. */
  readonly isFilling: boolean;
  readonly isFlat: boolean;
}

/** What gauges may fill up to, by their names, in their units. */
export type Bounds = Readonly<Partial<Record<string, number>>>;

export interface Watched {
  /** How long, of the life of one process, counts: seconds. */
  readonly seconds: number;
  /** Why nothing can be said. */
  readonly trouble?: string;
  readonly rows: readonly Flatness[];
}

/** A process that has just started is still warming up, and its files fill up to their bounds. */
const warmingUp = 0.25;
const pieces = 30;

/**
 * Looks at the longest life, without its first quarter. It is cut in thirty pieces, of which each counts with its lowest value: a leak
 * raises that, too, and what comes and goes (rubbish of the heap, a log before its checkpoint) does not. A gauge grows where
 * the median of the last third lies above that of the first by more than the allowance, and the slope of the second half (Theil-Sen:
 * the median of the slopes between any two) still makes more than a quarter of it. So a step and a plateau are flat. What is meant to
 * fill up to a bound is judged by that alone: by the median of the last third.
 */
export function flatness(samples: readonly Sample[], of: readonly Gauge[] = gauges, bounds: Bounds = {}): Watched {
  const [first, last] = [samples.at(0)?.at ?? 0, samples.at(-1)?.at ?? 0];
  const life = longestLife(samples);
  const [born, died] = [life.at(0)?.at ?? 0, life.at(-1)?.at ?? 0];
  const from = born + (died - born) * warmingUp;
  const seconds = Math.round(died - from);
  if (died - born < (last - first) / 2 || life.length < pieces)
    return {
      seconds,
      rows: [],
      trouble: 'no life of siteward was long enough to tell: half of the run, and 30 samples',
    };
  const kept = life.filter(({ at }) => at >= from);
  return { seconds, rows: of.flatMap((gauge) => rowOf(gauge, kept, bounds[gauge.name]) ?? []) };
}

/** The most memory any process had, as the kernel noted it: MiB. */
export const highestRss = (samples: readonly Sample[]): number =>
  samples.reduce((most, { values }) => Math.max(most, values['highest RSS'] ?? 0), 0);

function longestLife(samples: readonly Sample[]): readonly Sample[] {
  const lives = Map.groupBy(samples, ({ pid }) => pid);
  return [...lives.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}

interface Point {
  readonly at: number;
  readonly value: number;
}

function rowOf(gauge: Gauge, samples: readonly Sample[], bound: number | undefined): Flatness | undefined {
  const all = samples.flatMap(({ at, values }): Point[] => {
    const value = values[gauge.name];
    return value === undefined ? [] : [{ at, value }];
  });
  const [first, last] = [all.at(0), all.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const time = last.at - first.at;
  const lows = lowest(all, { from: first.at, time });
  const third = (number: number) =>
    median(lows.filter(({ at }) => Math.min(2, Math.floor(((at - first.at) / time) * 3)) === number).map(numberOf));
  const [start, middle, end] = [third(0), third(1), third(2)];
  const later = lows.filter(({ at }) => at - first.at >= time / 2);
  const allowance = Math.max(gauge.least, gauge.share * start);
  const grows = end - start > allowance && theilSen(later) * (time / 2) > allowance / 4;
  return {
    ...{ gauge: gauge.name, unit: gauge.unit, start, middle, end, allowance },
    ...(bound !== undefined && { bound }),
    highest: all.reduce((most, { value }) => Math.max(most, value), Number.NEGATIVE_INFINITY),
    perHour: theilSen(lows) * 3600,
    isFilling: grows && bound !== undefined && end <= bound,
    isFlat: bound === undefined ? !grows : end <= bound,
  };
}

const numberOf = ({ value }: Point): number => value;

function lowest(points: readonly Point[], { from, time }: { from: number; time: number }): readonly Point[] {
  const found = Map.groupBy(points, ({ at }) => Math.min(pieces - 1, Math.floor(((at - from) / time) * pieces)));
  return [...found.values()].map((piece) => piece.reduce((low, one) => (one.value < low.value ? one : low)));
}

function theilSen(points: readonly Point[]): number {
  const slopes = points.flatMap((a, index) =>
    points.slice(index + 1).flatMap((b) => (b.at > a.at ? [(b.value - a.value) / (b.at - a.at)] : [])),
  );
  return median(slopes);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[half] ?? 0) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
}

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1));

function verdictOf({ isFlat, isFilling, bound }: Flatness): string {
  if (isFilling) return `fills up to ${shown(bound ?? 0)}`;
  if (isFlat) return 'flat';
  return bound === undefined ? 'GROWS' : `ABOVE ${shown(bound)}`;
}

/** The same for people. */
export function tableOf({ seconds, rows, trouble }: Watched): string {
  const head = ['', 'start', 'middle', 'end', 'highest', 'per hour', 'may grow', ''];
  const lines = rows.map((row) => [
    row.unit === '' ? row.gauge : `${row.gauge}, ${row.unit}`,
    ...[row.start, row.middle, row.end, row.highest, row.perHour, row.allowance].map(shown),
    verdictOf(row),
  ]);
  const widths = head.map((_, at) => Math.max(...[head, ...lines].map((line) => line[at]?.length ?? 0)));
  const set = (line: readonly string[]) =>
    line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ');
  const title = `  watched   ${(seconds / 60).toFixed(0)} minutes of one life of siteward${trouble === undefined ? '' : `: ${trouble}`}`;
  return [title, ...(rows.length === 0 ? [] : [head, ...lines].map((line) => `  ${set(line)}`.trimEnd()))].join('\n');
}
