import { z } from 'zod';
import {
  armingSource,
  armingWord,
  armMode,
  armWaitShown,
  audioMessageShown,
  authority,
  clockQuality,
  contactNumber,
  dispatchKinds,
  eventClass,
  eventStatus,
  notArmedShown,
  outcome,
  panicKinds,
  testShown,
  verificationActions,
  verificationDocument,
  verificationId,
  verificationRequest,
  zonedTimePattern,
  zoneNumber,
} from '#site/model/index.ts';

/** Payload schemas of `siteward/1`. Clients outside this repository are written against them: only add, never narrow. */

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$/;

/** JSON Schema counts characters where zod's `max` counts UTF-16 units. `meta` tells JSON Schema what `refine` cannot. */
const text = (max: number) =>
  z
    .string()
    .refine((value) => [...value].length <= max, `must be at most ${max} characters`)
    .meta({ maxLength: max });
/** JSON Schema's integer: any size, unlike `z.int()`. */
const integer = z.number().refine(Number.isInteger, 'must be a whole number').meta({ type: 'integer' });
const notNegative = integer.refine((value) => value >= 0, 'must not be negative').meta({ type: 'integer', minimum: 0 });
export const time = z.string().regex(zonedTimePattern, 'must be an ISO 8601 time with a zone');
const partition = z.string().regex(/^(all|p[1-9][0-9]{0,2})$/, 'must be all, p1, p2, ... p999');
const commandId = z.string().regex(uuid, 'must be a UUID');
const object = z.record(z.string(), z.unknown());

const commandBase = {
  id: commandId,
  issued_at: time,
  expires_at: time.exactOptional(),
  reply_to: text(200)
    .regex(/^[^#+\0]+$/, 'must be a topic without wildcards')
    .exactOptional(),
  correlation: text(128).exactOptional(),
  actor: text(64).exactOptional(),
  /** A string always: a number has lost its leading zeros. */
  code: z
    .string()
    .regex(/^[0-9A-Za-z]{4,12}$/, 'must be 4 to 12 letters or digits')
    .exactOptional(),
  expected: z
    .strictObject({
      seq: notNegative.exactOptional(),
      state: z.array(armingWord).exactOptional(),
    })
    .exactOptional(),
};

export const armBody = z.strictObject({
  ...commandBase,
  partition,
  mode: armMode,
  force: z.boolean().exactOptional(),
  bypass: z
    .array(zoneNumber)
    .max(64)
    .refine((zones) => new Set(zones).size === zones.length, 'must not name a zone twice')
    .meta({ uniqueItems: true })
    .exactOptional(),
  skip_exit_delay: z.boolean().exactOptional(),
});
export type ArmBody = z.infer<typeof armBody>;

export const disarmBody = z.strictObject({ ...commandBase, partition });
export type DisarmBody = z.infer<typeof disarmBody>;

const minutes = (most: number) =>
  integer
    .refine((value) => value >= 1 && value <= most, `must be 1 to ${most}`)
    .meta({ type: 'integer', minimum: 1, maximum: most });

export const bypassBody = z.strictObject({
  ...commandBase,
  zone: zoneNumber,
  on: z.boolean(),
  until: z.enum(['disarm', 'cleared']).exactOptional(),
  minutes: minutes(1440).exactOptional(),
  reason: text(120).exactOptional(),
});
export type BypassBody = z.infer<typeof bypassBody>;

export const clearMemoryBody = z.strictObject({ ...commandBase, partition });
export type ClearMemoryBody = z.infer<typeof clearMemoryBody>;

export const testBody = z.strictObject({
  ...commandBase,
  partition,
  on: z.boolean(),
  minutes: minutes(240).exactOptional(),
  zones: z
    .array(zoneNumber)
    .min(1)
    .max(64)
    .refine((zones) => new Set(zones).size === zones.length, 'must not name a zone twice')
    .meta({ uniqueItems: true })
    .exactOptional(),
});
export type TestBody = z.infer<typeof testBody>;

export const silenceBody = z.strictObject({ ...commandBase, partition });
export type SilenceBody = z.infer<typeof silenceBody>;

const whole = (least: number, most: number) =>
  integer
    .refine((value) => value >= least && value <= most, `must be ${least} to ${most}`)
    .meta({ type: 'integer', minimum: least, maximum: most });

export const snapshotBody = z.strictObject({
  ...commandBase,
  camera: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the id of a camera'),
  /** A wish: the picture comes as the camera gives it. */
  width: whole(64, 3840).exactOptional(),
  deliver: z.enum(['image_topic', 'reply', 'cloud']).exactOptional(),
});
export type SnapshotBody = z.infer<typeof snapshotBody>;

const name = text(128)
  .refine((value) => value.length > 0, 'must not be empty')
  .meta({ minLength: 1 });
export const playBody = z.strictObject({
  ...commandBase,
  audio_message_id: name,
  volume: whole(0, 100).exactOptional(),
  repeat: whole(1, 5).exactOptional(),
  target_devices: z.array(z.string()).min(1).max(64).exactOptional(),
  priority: z.enum(['normal', 'alarm']).exactOptional(),
});
export type PlayBody = z.infer<typeof playBody>;

/** Of a cancel: everything its sender may end. No playback has an id of less than eight characters. */
export const everyPlayback = 'all';
export const cancelBody = z.strictObject({ ...commandBase, playback_id: name });
export type CancelBody = z.infer<typeof cancelBody>;

/** Asks the service to send somebody; never kept for later. */
export const dispatchBody = z.strictObject({
  ...commandBase,
  kind: z.enum(dispatchKinds),
  partition: partition.exactOptional(),
  event_id: text(64).exactOptional(),
  note: text(280).exactOptional(),
});
export type DispatchBody = z.infer<typeof dispatchBody>;

/** Says whether siteward is there, and to whom. */
export const pingBody = z.strictObject({ ...commandBase });
export type PingBody = z.infer<typeof pingBody>;

/** Calls for help. Beside `id` and `kind` nothing that is wrong in it keeps it from being taken. */
export const panicBody = z.strictObject({
  ...commandBase,
  kind: z.enum(panicKinds),
  partition: partition.exactOptional(),
});
export type PanicBody = z.infer<typeof panicBody>;

/** Puts the next arming of a schedule off; it always takes a code. */
export const postponeBody = z.strictObject({
  ...commandBase,
  schedule: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be the id of a schedule'),
  minutes: minutes(1440),
});
export type PostponeBody = z.infer<typeof postponeBody>;

/** What the bridge of a panel says, masked, for so long; 0 ends it. */
export const watchBody = z.strictObject({
  ...commandBase,
  panel: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the id of a panel'),
  minutes: whole(0, 10),
});
export type WatchBody = z.infer<typeof watchBody>;

export const panelRaw = z.strictObject({ at: time, topic: z.string(), raw: z.string(), retain: z.boolean() });
export type PanelRaw = z.infer<typeof panelRaw>;

export const queryBody = z.strictObject({
  ...commandBase,
  what: z.enum(['partitions', 'zones', 'troubles', 'info', 'audio', 'verifications', 'history']),
  limit: integer
    .refine((value) => value >= 1 && value <= 200, 'must be 1 to 200')
    .meta({ type: 'integer', minimum: 1, maximum: 200 })
    .exactOptional(),
});
export type QueryBody = z.infer<typeof queryBody>;

/** The contact is that of who answers, by code or account (safety 6); one that is named must be theirs. */
export const verifyBody = z.strictObject({
  ...commandBase,
  verification_id: verificationId,
  action: z.enum(verificationActions),
  contact_id: contactNumber.exactOptional(),
  responded_at: time.exactOptional(),
});
export type VerifyBody = z.infer<typeof verifyBody>;

/** A request to verify an alarm, from the partner platform. Answered like a command where it has an address. */
export const verificationIn = z.strictObject({
  ...verificationRequest.shape,
  id: commandId.exactOptional(),
  reply_to: commandBase.reply_to,
  correlation: commandBase.correlation,
});
export type VerificationIn = z.infer<typeof verificationIn>;

export const verification = verificationDocument;

const replyError = {
  code: z.string().regex(/^[A-Z_]+$/),
  field: z.string().exactOptional(),
  zones: z.array(zoneNumber).exactOptional(),
};

const outcomesWithError: readonly string[] = ['refused', 'expired', 'superseded', 'failed'];

export const reply = z
  .strictObject({
    id: z.string().nullable(),
    correlation: z.string().exactOptional(),
    outcome,
    error: z.strictObject({ ...replyError, retry_after_s: integer.exactOptional() }).exactOptional(),
    partition: partition.exactOptional(),
    state: armingWord.exactOptional(),
    seq: integer.exactOptional(),
    data: object.exactOptional(),
    at: time,
    final: z.boolean().exactOptional(),
  })
  .refine((value) => value.error !== undefined || !outcomesWithError.includes(value.outcome), {
    message: 'must name the error',
    path: ['error'],
  });
export type Reply = z.infer<typeof reply>;
/** What the last reply to a request says. */
export type Final = Pick<Reply, 'outcome' | 'error' | 'data'>;

export const partitionDetail = z.strictObject({
  partition,
  name: z.string().exactOptional(),
  state: armingWord,
  mode: armMode.nullable().exactOptional(),
  seq: integer,
  epoch: integer,
  at: time,
  authority,
  stale: z.boolean(),
  ready: z.boolean(),
  open_zones: z.array(zoneNumber).exactOptional(),
  bypassed: z.array(zoneNumber).exactOptional(),
  memory: z.array(zoneNumber).exactOptional(),
  alarm: object.nullable().exactOptional(),
  exit_left_s: notNegative.exactOptional(),
  entry_left_s: notNegative.exactOptional(),
  /** An alarm sounds and is signalled only then. */
  abort_left_s: notNegative.exactOptional(),
  /** Shut for this arming period (swinger shutdown). */
  shut_zones: z.array(zoneNumber).exactOptional(),
  /** The walk test that runs. */
  test: testShown.exactOptional(),
  /** A schedule could not arm it, and nobody has armed or disarmed it since. */
  not_armed: notArmedShown.exactOptional(),
  /** A schedule arms it as soon as nothing is in the way. */
  arm_wait: armWaitShown.exactOptional(),
  changed_by: z.string().exactOptional(),
  source: armingSource.exactOptional(),
  request: object.nullable().exactOptional(),
});
export type PartitionDetail = z.infer<typeof partitionDetail>;

export const zoneDetail = z.strictObject({
  zone: zoneNumber,
  name: z.string().exactOptional(),
  type: z.string().exactOptional(),
  partitions: z.array(partition).exactOptional(),
  open: z.boolean().nullable(),
  alarm: z.boolean().exactOptional(),
  tamper: z.boolean().exactOptional(),
  bypassed: z.boolean().exactOptional(),
  low_battery: z.boolean().exactOptional(),
  supervised: z.boolean().exactOptional(),
  online: z.boolean().exactOptional(),
  device_id: z.union([integer, z.string(), z.null()]).exactOptional(),
  at: time,
});
export type ZoneDetail = z.infer<typeof zoneDetail>;

/** The outer form of an event; the model's `siteEvent` is the same object in full. */
export const eventPayload = z.strictObject({
  event_id: z.string(),
  event_type: z.string(),
  kind: z.string(),
  class: eventClass.exactOptional(),
  status: eventStatus.exactOptional(),
  partition: partition.exactOptional(),
  zone: zoneNumber.exactOptional(),
  camera: z.string().exactOptional(),
  contact_id: z.string().exactOptional(),
  sia: z.string().exactOptional(),
  seq: integer.exactOptional(),
  source: z.string().exactOptional(),
  actor: z.string().exactOptional(),
  at: time,
  late: z.boolean().exactOptional(),
  data: object.exactOptional(),
});

export const info = z.strictObject({
  api: z.literal(1),
  version: z.string(),
  boot_id: z.string().regex(uuid),
  epoch: integer,
  clock: clockQuality,
  security_type: z.union([z.literal([1, 2, 3, 4]), z.null()]).exactOptional(),
  caps: z.array(z.string()).exactOptional(),
  limits: object.exactOptional(),
  links: object.exactOptional(),
  activated: z.boolean().exactOptional(),
});
export type Info = z.infer<typeof info>;

export const trouble = z.strictObject({
  items: z.array(
    z.strictObject({
      kind: z.string(),
      device: z.string().exactOptional(),
      since: time,
      partition: partition.exactOptional(),
      zone: zoneNumber.exactOptional(),
      losses: integer.exactOptional(),
      /** What the panel has reported: of one kind there may be several. */
      reported: z
        .strictObject({ code: z.string(), number: z.string().exactOptional(), term: z.string().exactOptional() })
        .exactOptional(),
    }),
  ),
});
export type TroubleItem = z.infer<typeof trouble>['items'][number];

export const outbox = z.strictObject({ depth: integer, oldest_s: integer.nullable(), dropped: integer });
export type Outbox = z.infer<typeof outbox>;

/** Never an address with credentials. */
export const cameraMeta = z.strictObject({
  name: z.string(),
  zone: zoneNumber.exactOptional(),
  partitions: z.array(partition),
  pictures: z.enum(['alarm', 'armed', 'always']),
});

/** What `cmd/play` may name. */
export const audioMessages = z.array(audioMessageShown);
export const audioWords = ['idle', 'playing'] as const;
