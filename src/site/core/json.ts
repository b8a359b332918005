import { z } from 'zod';
import {
  armingSource,
  armingWord,
  armMode,
  clockQuality,
  commandVerbs,
  detectionClasses,
  deviceKind,
  outcome,
  panelAlarms,
  replyCodes,
  troubleKinds,
} from '#site/model/index.ts';
import { type TimerKind, timerKinds } from './timers.ts';
import type { SiteState, TimerState } from './types.ts';

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
  alarm: optional(
    z.strictObject({ zone: optional(text), camera: optional(text), kind: text, since: optional(number) }),
  ),
  incident: optional(text),
  request: optional(z.strictObject({ commandId: text, target: z.enum(['disarmed', ...armMode.options]), deadline })),
});

const zone = z.strictObject({
  number: text,
  open: flag.nullable(),
  heard: optional(z.literal(true)),
  alarm: flag,
  tamper: flag,
  bypassed: flag,
  lowBattery: flag,
  online: flag,
  at: number,
});

const code = z.enum(replyCodes);
const failed = { code, field: optional(text), zones: optional(list), retryAfterS: optional(number) };

const undone = z.array(z.strictObject({ partition: text, code, field: optional(text), zones: optional(list) }));

const result = z.strictObject({
  commandId: text,
  outcome,
  error: optional(z.strictObject(failed)),
  partition: optional(text),
  undone: optional(undone),
  state: optional(armingWord),
  seq: optional(number),
  leftOut: optional(list),
  postponed: optional(z.strictObject({ due: number, timesLeft: number })),
  tests: optional(
    z.array(z.strictObject({ partition: text, walked: number, walkedZones: list, missed: number, missedZones: list })),
  ),
  at: number,
  final: flag,
});

const seen = { bodyHash: text, at: number, result: optional(result) };
const commands = z.union([
  z.array(z.strictObject({ id: text, ...seen })),
  // Earlier versions kept a record.
  record(z.strictObject(seen)).transform((byId) => Object.entries(byId).map(([id, one]) => ({ id, ...one }))),
]);

const waiting = { zone: text, kind: text, at: deadline, evidence: z.array(record(z.union([text, number, flag]))) };

const call = z.strictObject({ kind: text, zone: optional(text), since: number });
/** Of an earlier version: one alone. */
const calls = z.union([z.array(call), call.transform((one) => [one])]);

const period = z.strictObject({
  bypassed: list,
  armedAt: optional(deadline),
  guard: optional(armMode),
  entered: list,
  unproven: optional(z.literal(true)),
  endDoubted: optional(z.literal(true)),
  burglary: optional(z.strictObject({ kind: text, zone: optional(text) })),
  expected: optional(text),
  inSight: optional(record(z.enum(['end', 'opening']))),
  calledOff: optional(z.strictObject({ at: deadline, zones: list, retold: optional(z.literal(true)) })),
  signalled: record(z.strictObject({ count: number, since: deadline })),
  local: optional(z.strictObject({ mono: number, wall: number, boot: text, clock: clockQuality })),
  localAt: optional(number),
  saidAt: optional(number),
  saidBy: optional(text),
  bypasses: optional(record(z.strictObject({ until: z.enum(['disarm', 'cleared', 'time']), by: optional(text) }))),
  test: optional(
    z.strictObject({ walked: list, zones: optional(list), by: optional(text), since: optional(deadline) }),
  ),
  alarmed: optional(list),
  over: optional(list),
  armedBy: optional(z.strictObject({ source: armingSource, actor: optional(text) })),
  trips: optional(record(z.int().nonnegative())),
  shutTrips: optional(record(z.int().nonnegative())),
  waiting: optional(z.array(z.strictObject(waiting))),
  toldAt: optional(deadline),
  crossing: optional(record(deadline)),
  entry: optional(z.literal(true)),
  first: optional(z.strictObject({ zone: text, at: deadline, confirmed: flag })),
  silenced: optional(z.literal(true)),
  called: optional(calls),
  exit: optional(z.strictObject({ opened: z.int().nonnegative(), restarted: flag })),
});

const oneGiven = z.strictObject({
  verb: z.enum(['arm', 'disarm']),
  source: armingSource.exclude(['panel', 'engine']),
  person: flag,
  actor: optional(text),
  client: optional(text),
  at: deadline,
});
const given = oneGiven.extend({ others: optional(z.array(oneGiven)) });

const inFlight = z.strictObject({
  client: text,
  target: text,
  verb: z.enum(commandVerbs),
  source: armingSource.exclude(['panel', 'engine']),
  actor: optional(text),
  person: flag,
  waiting: list,
  zone: optional(text),
  reason: optional(text),
  changed: flag,
  failure: optional(
    z.strictObject({ outcome: outcome.extract(['refused', 'expired', 'superseded', 'unconfirmed']), ...failed }),
  ),
  undone: optional(undone),
});

const reported = z.strictObject({ code: text, number: optional(text), term: optional(text) });

const heldSince = {
  code: optional(reported),
  report: optional(text),
  sentAt: optional(number),
  ageMs: optional(z.number().nonnegative()),
  waited: optional(z.strictObject({ since: optional(number) })),
  replay: flag,
};

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
    opening: optional(text),
    opensOnly: optional(z.literal(true)),
    openForgotten: optional(z.literal(true)),
    ...heldSince,
  }),
  z.strictObject({
    kind: z.literal('partition'),
    source: device,
    partition: text,
    state: armingWord,
    user: optional(text),
    reminder: optional(z.literal(true)),
    told: optional(z.enum(panelAlarms)),
    past: optional(z.literal(true)),
    ...heldSince,
  }),
]);

const trouble = z.strictObject({
  trouble: z.enum(troubleKinds),
  source: device,
  zone: optional(text),
  since: number,
  condition: optional(text),
  unstable: optional(z.literal(true)),
  reported: optional(reported),
  apart: optional(z.literal(true)),
});
/** Names of timers in states that were stored before the first release. */
const formerKinds: Readonly<Record<string, TimerKind>> = { confirm: 'panel_answer', verify: 'confirmation' };
const timer = z.strictObject({
  id: text,
  kind: z.enum([...timerKinds, ...Object.keys(formerKinds)]),
  partition: optional(text),
  zone: optional(text),
  trouble: optional(text),
  due: deadline,
});

function renamed(timers: Readonly<Record<string, z.output<typeof timer>>>): SiteState['timers'] {
  return Object.fromEntries(
    Object.values(timers).map(({ id, kind, ...rest }) => {
      const now = formerKinds[kind] ?? (kind as TimerKind);
      const timer: TimerState = { ...rest, kind: now, id: now + id.slice(kind.length) };
      return [timer.id, timer];
    }),
  );
}
const link = z.strictObject({
  bridge: flag.nullable(),
  device: flag.nullable(),
  since: number,
  reason: optional(text),
  upAt: optional(deadline),
});

const schedulesState = z.strictObject({
  memory: z.strictObject({
    seen: optional(deadline),
    setAt: optional(number),
    schedules: record(
      z.strictObject({
        says: text,
        done: list,
        setting: optional(record(number)),
        again: optional(number),
        told: optional(list),
        warned: optional(text),
        postponed: optional(
          z.strictObject({ date: text, due: deadline, withinMs: number, times: number, totalMs: number }),
        ),
      }),
    ),
  }),
  startedAt: optional(deadline),
  waiting: optional(
    record(z.strictObject({ schedule: text, slot: text, partition: text, due: number, from: deadline })),
  ),
  unarmed: optional(record(z.strictObject({ schedule: text, at: number, reason: text, zones: optional(list) }))),
});

const stamp = z.strictObject({ mono: number, wall: number, boot: text, clock: clockQuality });
const watch = z.strictObject({
  begins: z.array(deadline),
  waiting: optional(z.strictObject({ at: stamp, detail: optional(text) })),
  unstable: optional(
    z.strictObject({ since: deadline, changes: number, changedAt: stamp, active: flag, detail: optional(text) }),
  ),
});
const levelDoubt = z.strictObject({ ended: optional(z.literal(true)), queue: optional(number) });
const typeWish = { securityType: z.literal([1, 2, 3, 4]), by: z.enum(['config', 'cloud', 'cli']) };

const siteState = z
  .strictObject({
    partitions: record(partition),
    zones: record(zone),
    detectors: optional(record(text)),
    links: record(link),
    troubles: record(trouble),
    timers: record(timer),
    commands,
    forgotten: optional(number),
    wrongCodes: record(z.array(number)),
    incidents: z.int().nonnegative(),
    silentIncidents: optional(z.int().nonnegative()),
    calls: optional(list),
    panics: optional(list),
    periods: record(period),
    inFlight: record(inFlight),
    silent: record(flag),
    silentBefore: optional(z.array(text)),
    zoneDoubts: optional(
      record(z.strictObject({ open: optional(levelDoubt), alarm: optional(levelDoubt), tamper: optional(levelDoubt) })),
    ),
    seeing: record(list),
    seenBefore: optional(record(list)),
    wasClear: optional(z.array(text)),
    sightings: z.array(z.strictObject({ camera: text, detection: z.enum(detectionClasses), at: deadline })),
    held: record(held),
    retired: record(z.strictObject({ seq: number, disarmed: flag })),
    rates: optional(
      record(
        z.strictObject({ recent: z.array(z.strictObject({ target: text, at: number })), lockedAt: optional(number) }),
      ),
    ),
    refusals: optional(z.strictObject({ from: number, told: number, omitted: number })),
    watches: optional(record(watch)),
    given: optional(record(given)),
    authority: optional(z.strictObject({ ...typeWish, asked: optional(z.strictObject(typeWish)) })),
    abandoned: optional(
      z.array(
        z.strictObject({ ...waiting, partition: text, incident: optional(text), entry: optional(z.literal(true)) }),
      ),
    ),
    settleUntil: optional(deadline),
    schedules: optional(schedulesState),
    reports: optional(
      z.array(z.strictObject({ about: text, id: text, at: deadline, by: optional(text), sent: optional(number) })),
    ),
  })
  .refine(({ partitions, zones, timers }) => named(partitions, 'id') && named(zones, 'number') && named(timers, 'id'));

function named<K extends string>(entries: Readonly<Record<string, Readonly<Record<K, string>>>>, member: K): boolean {
  return Object.entries(entries).every(([key, entry]) => entry[member] === key);
}

const stored = z.strictObject({ version: z.literal(1), state: siteState });

/** The members of a type, all the way down. */
type Members<T> = T extends string | number | boolean | null | undefined
  ? 'value'
  : T extends readonly (infer E)[]
    ? Members<E>
    : { readonly [K in keyof T]-?: Members<NonNullable<T[K]>> };

/** A member of `SiteState` that is missing in the schema would make every state that has it a lost store. */
type Whole = Members<z.output<typeof siteState>> extends Members<SiteState> ? SiteState : never;

/** The state as JSON text; `readState` gives an equal one back. */
export function writeState(state: Whole): string {
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
  if (!read.success) return undefined;
  const { state } = read.data;
  return { ...state, timers: renamed(state.timers) } satisfies SiteState;
}
