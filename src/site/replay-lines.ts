import { z } from 'zod';
import { type DecisionMark, type Input, readState, type SiteState } from './core/index.ts';
import { clockQuality, type SitePlan, type Stamp } from './model/index.ts';

/** Members of every line: the run of siteward that wrote it, and its place in it, counted without a gap. */
interface Line {
  readonly v: 1;
  readonly run: string;
  readonly i: number;
}

/** The whole state, from which a replay can go on. */
export interface StateLine extends Line {
  readonly kind: 'state';
  /** At a start, under a new plan, or in between, so that a log without its beginning is of use. */
  readonly why: 'start' | 'plan' | 'between';
  readonly version: string;
  readonly at: Stamp;
  readonly plan: SitePlan;
  readonly state: SiteState;
}

/** One input and what was decided about it. */
export interface InputLine extends Line {
  readonly kind: 'input';
  readonly input: Input;
  readonly mark: DecisionMark;
}

const stamp = z.looseObject({ mono: z.number(), wall: z.number(), boot: z.string(), clock: clockQuality });
const place = { v: z.literal(1), run: z.string(), i: z.int().nonnegative() };
const text = z.array(z.string());
const line = z.discriminatedUnion('kind', [
  z.looseObject({
    ...place,
    kind: z.literal('state'),
    why: z.enum(['start', 'plan', 'between']),
    version: z.string(),
    at: stamp,
    plan: z.looseObject({ partitions: z.array(z.unknown()), zones: z.array(z.unknown()) }),
    state: z.looseObject({}),
  }),
  z.looseObject({
    ...place,
    kind: z.literal('input'),
    input: z.looseObject({ kind: z.string(), at: stamp }),
    mark: z.looseObject({
      rules: text,
      partitions: z.record(z.string(), z.string()).optional(),
      replies: text.optional(),
      events: text.optional(),
    }),
  }),
]);

/** Undefined for what is no line of an input log, or one of another version. */
export function readLine(json: string): StateLine | InputLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const read = line.safeParse(value);
  if (!read.success) return undefined;
  if (read.data.kind === 'input') return value as InputLine;
  const state = readState(JSON.stringify({ version: 1, state: read.data.state }));
  return state === undefined ? undefined : { ...(value as StateLine), state };
}
