/** One measured number. `ratio` and `goal` where something else was measured beside it in the same run. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly ratio?: number;
  readonly goal?: string;
  readonly met?: boolean;
}

export interface Measurement {
  readonly name: string;
  readonly title: string;
  /** What was measured and how, for a reader who has only the table. */
  readonly about: string;
  /** What a profile says about the figures, and why a goal is missed. */
  readonly remark?: string;
  run(tell: (progress: string) => void): Promise<Figure[]>;
}

/** The value below which the share `p` of the values lies; NaN for none. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Three significant digits. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
