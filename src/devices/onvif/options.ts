import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import { fingerprint } from '#lib/fingerprint.ts';
import type { Secret } from '#lib/secret.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { detectionClasses, deviceId, partitionId, zoneNumber, zoneType } from '#site/model/index.ts';
import { topicMappings } from './topic-options.ts';

const hasNoUser = (text: string) => !/^[a-z]+:\/\/[^/]*@/i.test(text);
const noUser = 'must not hold a user name or password; use username and password';

const cameraUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as http://192.0.2.10/onvif/device_service' })
  .refine(hasNoUser, noUser);

const streamUrl = z
  .url({ protocol: /^rtsps?$/, error: 'must be an address such as rtsp://192.0.2.10:554/stream2' })
  .refine(hasNoUser, noUser);

/** How a device is reached and asked for its events. */
const device = {
  url: cameraUrl.describe('Address of the ONVIF device service, http or https'),
  username: z
    .string()
    .min(1)
    .max(64)
    .regex(/^\P{Cc}*$/u, 'must not hold control characters')
    .optional()
    .describe('User of the device; make one for siteward alone, with the right to read events and pictures'),
  password: secretRef.optional().describe('Where the password of that user lies'),
  tls_fingerprint: fingerprint
    .optional()
    .describe(
      'SHA-256 fingerprint of the certificate, for https devices that made their own; without it the first one seen is remembered',
    ),
  pull: duration({ min: '1s', max: '60s' })
    .prefault('20s')
    .describe('How long the device may hold a request for events open'),
  addresses: z
    .enum(['repaired', 'as_reported'])
    .default('repaired')
    .describe('Whether host and port that the device reports are replaced by those of url'),
  basic_login: z
    .boolean()
    .default(false)
    .describe(
      'Whether the device may have the password in clear (HTTP Basic) for pictures and streams, though it takes a better proof for events',
    ),
  topics: topicMappings,
};

const name = z.string().min(1).max(64);

/** A picture that is watched: a camera, or one channel of a recorder. */
const view = {
  id: deviceId.describe('Name of this camera in topics, events and logs; never changes'),
  name: name.optional().describe('What people call this camera'),
  cloud_device_id: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe('Id of the device at the service, by which the paths of the service on the LAN know it, too'),
  zone: zoneNumber.optional().describe('Zone number the detections of this camera open'),
  zone_type: zoneType.optional().describe('What that zone does; see the list of zone types'),
  partition: partitionId.optional().describe('Partition the zone belongs to'),
  detections: z
    .array(z.enum(detectionClasses))
    .min(1)
    .optional()
    .describe('Detections that open the zone; without it every person, vehicle and intrusion class'),
  chime: z.boolean().default(false).describe('Whether the zone sounds a chime while its partition is disarmed'),
  confirms: z
    .boolean()
    .default(true)
    .describe('Whether the zone counts for sequential confirmation; false for cameras outside the building'),
  pictures: z
    .enum(['alarm', 'armed', 'always'])
    .default('alarm')
    .describe('When pictures may be taken: with an alarm, while armed, or always'),
  clips: z
    .array(z.enum(['short', 'event']))
    .max(2)
    .refine((kinds) => new Set(kinds).size === kinds.length, 'must not name one twice')
    .default([])
    .describe(
      'Clips that go with an alarm of this camera; an alarm takes each kind from the first of its cameras that has it',
    ),
  pre_roll: duration({ max: '30s' })
    .prefault('0s')
    .describe(
      'How much of the time before an alarm its pictures and clips show; more than 0s keeps a stream of the camera open',
    ),
  snapshot_url: cameraUrl.optional().describe('Address of the still picture, when the device reports a wrong one'),
  stream_url: streamUrl
    .optional()
    .describe(
      'Address of the video stream for clips and pre-roll, when the device reports a wrong one or none; rtsp or rtsps',
    ),
};

/** A contact wired to an alarm input of a camera or recorder. */
const inputOptions = z.strictObject({
  zone: zoneNumber.describe('Zone number this input opens'),
  name: name.optional().describe('What people call this zone'),
  zone_type: zoneType.describe('What that zone does; see the list of zone types'),
  partition: partitionId.optional().describe('Partition the zone belongs to'),
  normally: z
    .enum(['open', 'closed'])
    .default('open')
    .describe('open: the zone is open while the device reports the input active; closed: while it does not'),
});

const inputs = z
  .record(z.string().min(1).max(64), inputOptions)
  .refine((map) => Object.keys(map).length <= 64, 'must be at most 64 inputs')
  .optional()
  .describe('Alarm inputs of the device that are zones, by the token the device gives them');

const passwordNeedsUser = {
  path: ['username'],
  error: 'is needed with a password',
};

const hasUser = (one: { readonly username?: unknown; readonly password?: unknown }) =>
  one.password === undefined || one.username !== undefined;

/** One entry of `cameras:`. */
export const cameraOptions = z.strictObject({ ...view, ...device, inputs }).refine(hasUser, passwordNeedsUser);

/** One of `channels:` of a recorder. */
const channelOptions = z
  .strictObject({
    ...view,
    source: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('Token of the video source as the recorder names it; "siteward camera test URL" lists them'),
    position: z
      .int()
      .min(1)
      .max(256)
      .optional()
      .describe('Place of the channel among the video sources, from 1, for recorders that give out their tokens anew'),
  })
  .refine(({ source, position }) => (source === undefined) !== (position === undefined), {
    path: ['source'],
    error: 'or position is needed, and only one of them',
  });

/** One entry of `nvrs:`. */
export const nvrOptions = z
  .strictObject({
    id: deviceId.describe('Name of this recorder in topics, events and logs; never changes'),
    name: name.optional().describe('What people call this recorder'),
    cloud_nvr_id: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .describe(
        'Id of the recorder at the service, where it is there and siteward does not know it; it is not registered then',
      ),
    ...device,
    channels: z.array(channelOptions).min(1).max(64).describe('The channels that are watched; each is a camera'),
    inputs,
  })
  .refine(hasUser, passwordNeedsUser);

type Partly<T, Needed extends keyof T> = Pick<T, Needed> & Partial<Omit<T, Needed>>;

/** As configured, secrets still references. */
type CameraEntry = z.output<typeof cameraOptions>;
type NvrEntry = z.output<typeof nvrOptions>;
export type InputOptions = Partly<z.output<typeof inputOptions>, 'zone'>;
/** What only the site's plan needs may be absent. */
export type ChannelOptions = Partly<z.output<typeof channelOptions>, 'id'>;

/** As the room takes them, the secret resolved. */
interface Resolved {
  readonly password?: Secret;
  readonly inputs?: Readonly<Record<string, InputOptions>>;
}
export type CameraOptions = Partly<Omit<CameraEntry, 'password' | 'inputs'>, 'id' | 'url'> & Resolved;
export type NvrOptions = Partly<Omit<NvrEntry, 'password' | 'inputs' | 'channels'>, 'id' | 'url'> &
  Resolved & { readonly channels: readonly ChannelOptions[] };
