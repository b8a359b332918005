import { z } from 'zod';
import { fingerprint } from '#lib/fingerprint.ts';
import { deviceId } from '#site/model/index.ts';

const time = z.iso.datetime({ precision: null });

/** One camera, or one recorder, with what is known of it. Nothing in it moves with a silent alarm (safety 4). */
export const cameraEntry = z.object({
  id: deviceId,
  kind: z.enum(['camera', 'channel', 'nvr']),
  /** The recorder of a channel. */
  nvr: deviceId.optional(),
  name: z.string(),
  /** Address of its device service; a channel has that of its recorder. */
  url: z.string(),
  zone: z.string().optional(),
  partitions: z.array(z.string()),
  /** When pictures may be taken (safety 11). */
  pictures: z.enum(['alarm', 'armed', 'always']).optional(),
  /** What its session does; absent where it has none. */
  state: z.string().optional(),
  since: time.optional(),
  /** Why events do not arrive. */
  reason: z.string().optional(),
  /** Null: not known yet. */
  reachable: z.boolean().nullable(),
  /** Null: not known yet, or it wants no password. */
  authenticated: z.boolean().nullable(),
  /** For so many seconds no password is tried: it was refused, and more tries may lock the account. */
  login_held_s: z.int().optional(),
  /** It shows another certificate than the one that counts, and is sent nothing. */
  certificate_refused: z.literal(true).optional(),
  /** Whether events can arrive now; null: not known yet. */
  events: z.boolean().nullable(),
  last_event: time.optional(),
  last_picture: time.optional(),
  /** How far its clock is ahead of this box. */
  clock_offset_s: z.number().optional(),
  reboot_seen: time.optional(),
  manufacturer: z.string().optional(),
  model: z.string().optional(),
  firmware: z.string().optional(),
  serial: z.string().optional(),
  /** The device that belongs here, by which it is recognised under another address. */
  identity: z.object({ model: z.string(), serial: z.string(), mac: z.string().optional() }).optional(),
  profiles: z.int().optional(),
  /** RTSP address, without credentials. */
  stream: z.string().optional(),
  /** Of a channel: the token of its picture, and whether its events are known or guessed to be its own. */
  source: z.string().optional(),
  mapping: z.enum(['exact', 'guessed']).optional(),
  /** Topics that siteward does not know; `siteward status` lists them. */
  unknown_topics: z.int(),
  /** What is wrong with it. */
  troubles: z.array(z.object({ kind: z.string(), since: time })),
  /** What a technician should see to, in words. */
  hints: z.array(z.string()).optional(),
});
export type CameraEntry = z.output<typeof cameraEntry>;

export const cameraList = z.object({ items: z.array(cameraEntry) });

export const cameraParams = z.strictObject({ id: deviceId });

export const cameraEventsQuery = z.strictObject({
  after: z.coerce.number().int().min(0).default(0).describe('Only messages with a higher number: what came since.'),
});

/** One message of a camera and what siteward made of it. */
const cameraMessage = z.object({
  /** Rises by one with each message, and begins anew with each start of its session. */
  number: z.int(),
  at: time,
  /** The camera's own time, as it wrote it. */
  device_time: z.string().optional(),
  topic: z.string(),
  operation: z.string().optional(),
  /** `name=value` of what stood in it. */
  items: z.string(),
  /** `signal`: something changed; `same`: nothing did; `ignored`, `unknown`, `empty`, `unreadable`, `flood`. */
  outcome: z.string(),
  signals: z.array(
    z.object({
      device: z.string(),
      detection: z.string(),
      state: z.enum(['on', 'off', 'pulse']),
      /** The present state, told when it was asked for; no edge. */
      replay: z.boolean(),
    }),
  ),
});
export type CameraMessage = z.output<typeof cameraMessage>;

export const cameraMessages = z.object({
  items: z.array(cameraMessage),
  /** The `after` of the next question. */
  last: z.int(),
});
export type CameraMessages = z.output<typeof cameraMessages>;

export const certificateAnswer = z.object({
  /** The fingerprint that counts; absent while there is none. */
  trusted: z.string().optional(),
  /** Of another certificate, which the camera shows and which is refused. */
  shown: z.string().optional(),
  /** The configuration names the one that counts, by `tls_fingerprint`: another is accepted by changing that. */
  configured: z.boolean(),
  /** Another device than before answers, or one that takes no password any more. */
  device: z.object({ was: z.string(), is: z.string() }).optional(),
  /** At its stream, or for pictures at another port, it shows another certificate, which is refused there alone. */
  stream: z.object({ trusted: z.string().optional(), shown: z.string() }).optional(),
});
export type CertificateAnswer = z.output<typeof certificateAnswer>;

export const trustBody = z
  .strictObject({
    fingerprint: fingerprint.describe('The one that was compared with what the page of the camera says').optional(),
    device: z
      .string()
      .min(1)
      .max(300)
      .optional()
      .describe('The name of the device that answers in place of another, as it was shown'),
  })
  .refine(
    ({ fingerprint, device }) => (fingerprint === undefined) !== (device === undefined),
    'one of "fingerprint" and "device"',
  );
export type TrustBody = z.output<typeof trustBody>;
export const trustedAnswer = z.object({
  trusted: deviceId,
  fingerprint: z.string().optional(),
  device: z.string().optional(),
});
export type TrustedAnswer = z.output<typeof trustedAnswer>;
