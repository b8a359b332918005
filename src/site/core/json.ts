import { z } from 'zod';
import {
  armingSource,
  armingWord,
  armMode,
  detectionClasses,
  deviceKind,
  outcome,
  replyCodes,
  troubleKinds,
} from '#site/model/index.ts';
import type { SiteState } from './types.ts';

const number = z.number();
const flag = z.boolean();
const text = z.string();
const list = z.array(text);
const optional = z.exactOptional;
const record = <T extends z.ZodType>(value: T) => z.record(text, value);

const device = z.strictObject({ kind: deviceKind, id: text });
const deadline = z.strictObject({ mono: number, wall: number, boot: text });

const partition = z.strictObject({
  id: text,
  owner: optional(text),
  state: armingWord,
  mode: armMode.nullable(),
  seq: z.int().nonnegative(),
  at: number,
  source: armingSource,
  changedBy: optional(text),
  stale: flag,
  exitEnds: optional(deadline),
  entryEnds: optional(deadline),
  memory: list,
  alarm: optional(z.strictObject({ zone: optional(text), camera: optional(text), kind: text })),
  incident: optional(text),
  request: optional(z.strictObject({ commandId: text, target: z.enum(['disarmed', ...armMode.options]), deadline })),
});

const zone = z.strictObject({
  number: text,
  open: flag.nullable(),
  alarm: flag,
  tamper: flag,
  bypassed: flag,
  lowBattery: flag,
  online: flag,
  at: number,
});

const code = z.enum(replyCodes);
const failed = { code, field: optional(text), zones: optional(list), retryAfterS: optional(number) };

const result = z.strictObject({
  commandId: text,
  outcome,
  error: optional(z.strictObject(failed)),
  partition: optional(text),
  state: optional(armingWord),
  seq: optional(number),
  at: number,
  final: flag,
});

const period = z.strictObject({
  bypassed: list,
  armedAt: optional(deadline),
  guard: optional(armMode),
  entered: list,
  expected: optional(text),
  signalled: record(z.strictObject({ count: number, since: deadline })),
  localAt: optional(number),
  armedBy: optional(z.strictObject({ source: armingSource, actor: optional(text) })),
});

const inFlight = z.strictObject({
  client: text,
  target: text,
  verb: z.enum(['arm', 'disarm']),
  source: armingSource.exclude(['panel', 'engine']),
  actor: optional(text),
  person: flag,
  waiting: list,
  changed: flag,
  failure: optional(
    z.strictObject({ outcome: outcome.extract(['refused', 'expired', 'superseded', 'unconfirmed']), ...failed }),
  ),
});

const held = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('zone'),
    source: device,
    zone: text,
    open: optional(flag),
    alarm: optional(flag),
    tamper: optional(flag),
    bypassed: optional(flag),
    lowBattery: optional(flag),
    online: optional(flag),
    replay: flag,
  }),
  z.strictObject({
    kind: z.literal('partition'),
    source: device,
    partition: text,
    state: armingWord,
    user: optional(text),
    replay: flag,
  }),
]);

const trouble = z.strictObject({
  trouble: z.enum(troubleKinds),
  source: device,
  zone: optional(text),
  since: number,
  condition: optional(text),
});
const timer = z.strictObject({ id: text, kind: z.enum(['exit', 'entry', 'confirm']), partition: text, due: deadline });
const link = z.strictObject({
  bridge: flag.nullable(),
  device: flag.nullable(),
  since: number,
  reason: optional(text),
});

const siteState = z
  .strictObject({
    partitions: record(partition),
    zones: record(zone),
    links: record(link),
    troubles: record(trouble),
    timers: record(timer),
    commands: record(z.strictObject({ bodyHash: text, at: number, result: optional(result) })),
    wrongCodes: record(z.array(number)),
    incidents: z.int().nonnegative(),
    periods: record(period),
    inFlight: record(inFlight),
    silent: record(flag),
    seeing: record(list),
    sightings: z.array(z.strictObject({ camera: text, detection: z.enum(detectionClasses), at: deadline })),
    held: record(held),
    retired: record(z.strictObject({ seq: number, disarmed: flag })),
    settleUntil: optional(deadline),
  })
  .refine(({ partitions, zones, timers }) => named(partitions, 'id') && named(zones, 'number') && named(timers, 'id'));

function named<K extends string>(entries: Readonly<Record<string, Readonly<Record<K, string>>>>, member: K): boolean {
  return Object.entries(entries).every(([key, entry]) => entry[member] === key);
}

const stored = z.strictObject({ version: z.literal(1), state: siteState });

/** The state as JSON text; `readState` gives an equal one back. */
export function writeState(state: SiteState): string {
  return JSON.stringify({ version: 1, state });
}

/** Undefined for anything that is not a whole, consistent state: that is a lost store, never a disarmed one (I3). */
export function readState(json: string): SiteState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const read = stored.safeParse(value);
  return read.success ? (read.data.state satisfies SiteState) : undefined;
}
