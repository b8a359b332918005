import { z } from 'zod';
import {
  alarmShown,
  armingWord,
  armMode,
  armWaitShown,
  authority,
  clockQuality,
  deviceKind,
  eventClass,
  notArmedShown,
  siteEvent,
  testShown,
} from '#site/model/index.ts';

/** Times are ISO 8601 in UTC, members are snake_case, readers ignore members they do not know. */
const time = z.iso.datetime({ precision: null });
const facts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

const partStatus = z.object({
  name: z.string(),
  state: z.enum(['ok', 'degraded', 'down']),
  reason: z.string().optional(),
  facts: facts.optional(),
});

const linkStatus = z.object({
  kind: z.enum([...deviceKind.options, 'cloud', 'broker']),
  id: z.string(),
  /** Null while nothing was heard yet. */
  up: z.boolean().nullable(),
  reason: z.string().optional(),
});

export const partitionStatus = z.object({
  id: z.string(),
  name: z.string(),
  authority,
  state: armingWord,
  mode: armMode.nullable(),
  /** Those its panel can be told to arm in; absent where it can be told all, or nothing is known of it. */
  modes: z.array(armMode).optional(),
  /** The panel cannot be heard: the state is the last one known. */
  stale: z.boolean(),
  since: time,
  seq: z.int(),
  exit_left_s: z.number().optional(),
  entry_left_s: z.number().optional(),
  /** An alarm sounds and is signalled only then. */
  abort_left_s: z.number().optional(),
  /** The alarm that runs, or began the entry delay. */
  alarm: z.object(alarmShown.shape).nullable(),
  /** Every alarm that runs, life safety first. */
  alarms: z.array(z.object(alarmShown.shape)).optional(),
  /** Zones in alarm since the last arming. */
  memory: z.array(z.string()),
  /** Shut for this arming period (swinger shutdown). */
  shut_zones: z.array(z.string()).optional(),
  /** The walk test that runs. */
  test: z.object(testShown.shape).optional(),
  /** A schedule could not arm it, and nobody has armed or disarmed it since. */
  not_armed: z.object(notArmedShown.shape).optional(),
  /** A schedule arms it as soon as nothing is in the way. */
  arm_wait: z.object(armWaitShown.shape).optional(),
});

export type PartitionStatus = z.output<typeof partitionStatus>;

const troubleStatus = z.object({
  kind: z.string(),
  device: z.string(),
  partition: z.string().optional(),
  zone: z.string().optional(),
  since: time,
  /** It comes and goes, so often so far; its end is told after a quiet time. */
  losses: z.int().optional(),
  /** What the panel has reported: of one kind there may be several. */
  reported: z.object({ code: z.string(), number: z.string().optional(), term: z.string().optional() }).optional(),
});

/** Something a technician should look at: a value, key or topic that siteward heard and does not understand. */
const hintStatus = z.object({
  device: z.string(),
  about: z.string(),
  text: z.string(),
  values: z.array(z.string()),
  count: z.int(),
  last: time,
});

/** Numbers of the zones that are not as they should be. */
const zonesStatus = z.object({
  total: z.int(),
  alarm: z.array(z.string()),
  open: z.array(z.string()),
  bypassed: z.array(z.string()),
  tamper: z.array(z.string()),
  low_battery: z.array(z.string()),
  offline: z.array(z.string()),
  /** Contacts and detectors nothing was heard of yet, which is not "closed". */
  unknown: z.array(z.string()),
  /** Zones of panels that call by SIA DC-09: whether they are open is never known. Absent where there are none. */
  reports_only: z.array(z.string()).optional(),
});

const outboxStatus = z.object({
  waiting: z.object({ alarm: z.int(), arming: z.int(), trouble: z.int(), activity: z.int() }),
  oldest: time.nullable(),
  parked: z.int(),
  media_waiting: z.int(),
});

/** The arming of the site and the cloud's, and which security system handles the site. */
const armingSyncStatus = z.object({
  /** `off`: the configuration names no way to the cloud's arming status; `mirror`: it is only read. */
  mode: z.enum(['two-way', 'mirror', 'off']),
  cloud: z.enum(['armed', 'disarmed', 'unknown']),
  site: z.enum(['armed', 'disarmed', 'arming', 'unknown']),
  /** The cloud is known to hold what is true. */
  agreed: z.boolean(),
  /** Why not, or what of the cloud's settings is not in force. */
  reasons: z.array(z.string()),
  security_type: z.int(),
  /** Another type that waits for every partition to be disarmed. */
  security_type_asked: z.int().optional(),
  security_type_cloud: z.int().optional(),
  /** Whether the cloud has the site activated. */
  activated: z.boolean().optional(),
  /** The path to the site in the cloud, where the configuration names it. */
  dealer_id: z.string().optional(),
  site_id: z.string().optional(),
});

/** What the cloud knows of the site, beside its arming (docs/cloud-devices.md). */
const cloudStatus = z.object({
  /** The devices and recorders of the site in the cloud; left out without a way to them in the configuration. */
  devices: z
    .object({
      /** `manual`: told only by "siteward device sync". */
      mode: z.enum(['automatic', 'manual']),
      /** `gone`: the site is deleted in the cloud, or access to it was withdrawn. */
      state: z.enum(['in_step', 'behind', 'away', 'gone']),
      reason: z.string().optional(),
      /** When the cloud was last seen to know all of it; null: never. */
      in_step_at: time.nullable(),
      /** Devices and recorders the cloud should know, those whose id there is known, and those held until somebody decides or the time is there. */
      wanted: z.int(),
      known: z.int(),
      held: z.int(),
    })
    .optional(),
});

/** What `siteward status` shows. It is readable by every local client, so silent alarms leave no trace in it (safety 4). */
export const statusDocument = z.object({
  version: z.string(),
  uptime_s: z.number(),
  ready: z.boolean(),
  parts: z.array(partStatus),
  partitions: z.array(partitionStatus),
  zones: zonesStatus,
  /** Of the zones that stand among the partitions. */
  zone_names: z.record(z.string(), z.string()),
  troubles: z.array(troubleStatus),
  hints: z.array(hintStatus),
  cameras: z.array(linkStatus),
  /** Left out by a siteward without any. */
  speakers: z.array(linkStatus).optional(),
  panels: z.array(linkStatus),
  /** Everything else that is connected: the cloud, the broker. */
  links: z.array(linkStatus),
  /** Null while it cannot be counted: the disk does not answer. */
  outbox: outboxStatus.nullable(),
  arming_sync: armingSyncStatus.optional(),
  cloud: cloudStatus.optional(),
  /** `timezone`: of the site, as IANA names it. */
  clock: z.object({ quality: clockQuality, now: time, timezone: z.string().optional() }),
  config: z.object({
    path: z.string(),
    /** The file has errors: the daemon runs on the copy of the last good one. */
    last_good: z.boolean(),
    error: z.string().optional(),
  }),
});
export type StatusDocument = z.output<typeof statusDocument>;

/** An event with its delivery trail. */
export const eventEntry = z.object({
  seq: z.int(),
  event: siteEvent,
  delivery: z.enum(['waiting', 'delivered', 'parked', 'local']),
  delivered_at: time.optional(),
  tries: z.int().optional(),
  reason: z.string().optional(),
  media: z.array(
    z.object({
      index: z.int(),
      kind: z.string(),
      camera: z.string(),
      state: z.string(),
      reason: z.string().optional(),
    }),
  ),
});
export type EventEntry = z.output<typeof eventEntry>;

export const eventsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('How many, newest first.'),
  before: z.coerce.number().int().min(1).optional().describe('Only events with a lower seq: the next page.'),
  class: eventClass.optional().describe('Only this class.'),
});
export type EventsQuery = z.output<typeof eventsQuery>;

export const eventList = z.object({
  items: z.array(eventEntry),
  /** The `before` of the next page; null when this one is empty. A page may be short without being the last. */
  next_before: z.int().nullable(),
});

export const readiness = z.object({ ready: z.boolean(), reasons: z.array(z.string()) });
export type Readiness = z.output<typeof readiness>;

/** RFC 9457. `code` is stable; `errors` names the members that are wrong. */
export const problem = z.object({
  type: z
    .string()
    .describe(
      'Names the kind of problem, as /docs/errors#CODE: the entry CODE of the page docs/errors.md. An identifier (RFC 9457, 3.1.1), and no path that the bridge serves.',
    ),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  code: z.string(),
  errors: z.array(z.object({ field: z.string(), detail: z.string() })).optional(),
  /** As in the head `x-request-id`; the log names it where siteward made a mistake. */
  request_id: z.string().optional(),
});
export type ProblemDocument = z.output<typeof problem>;
