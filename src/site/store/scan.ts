/** Rows of one read; small, so that a slice of work can end after any of them. */
const perRead = 64;

export interface ScanStep<R> {
  readonly rows: readonly R[];
  /** Everything below this number has been looked at. */
  readonly next: number;
  /** A range in which nothing could be read, with both ends. */
  readonly bad?: readonly [from: number, to: number];
}

/**
 * Reads the rows numbered `from` to `to` of a damaged table, in order. A range that fails is halved until only the
 * numbers of the bad page are left, so one bad page costs its own rows only. The effort is bounded: after many
 * failures the halving stops at larger and larger ranges, at last at any.
 */
export function* scan<R>(options: {
  from: number;
  to: number;
  /** Rows within both numbers, in order, at most `limit`; may throw at any of them. */
  read: (from: number, to: number, limit: number) => Iterable<R>;
  numberOf: (row: R) => number;
}): Generator<ScanStep<R>> {
  const { read, numberOf } = options;
  const ranges: [number, number][] = [[options.from, options.to]];
  let failures = 0;
  for (let range = ranges.pop(); range !== undefined; range = ranges.pop()) {
    const [low, high] = range;
    if (low > high) continue;
    const { rows, failed } = readable(() => read(low, high, perRead));
    const last = rows.at(-1);
    const rest = last === undefined ? low : numberOf(last) + 1;
    let bad: ScanStep<R>['bad'];
    if (failed && rest <= high) {
      failures += 1;
      if (high - rest < smallest(failures)) bad = [rest, high];
      else {
        const middle = rest + Math.floor((high - rest) / 2);
        ranges.push([middle + 1, high], [rest, middle]);
      }
    } else if (rows.length >= perRead) ranges.push([rest, high]);
    const next = ranges.at(-1)?.[0] ?? options.to + 1;
    yield { rows, next, ...(bad !== undefined && { bad }) };
  }
}

/** Ranges of up to so many numbers are given up whole. */
function smallest(failures: number): number {
  if (failures < 4000) return 1;
  if (failures < 6000) return 64;
  if (failures < 8000) return 4096;
  return failures < 10_000 ? 2 ** 18 : Number.POSITIVE_INFINITY;
}

/** The rows up to the first that cannot be read. */
export function readable<R>(read: () => Iterable<R>): { rows: R[]; failed: boolean } {
  const rows: R[] = [];
  try {
    for (const row of read()) rows.push(row);
    return { rows, failed: false };
  } catch {
    return { rows, failed: true };
  }
}
