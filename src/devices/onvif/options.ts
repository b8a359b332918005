import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import type { Secret } from '#lib/secret.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { detectionClasses, deviceId, partitionId, zoneNumber, zoneType } from '#site/model/index.ts';

const cameraUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as http://192.0.2.10/onvif/device_service' })
  .refine(
    (text) => !/^[a-z]+:\/\/[^/]*@/i.test(text),
    'must not hold a user name or password; use username and password',
  );

/** One entry of `cameras:`. */
export const cameraOptions = z
  .strictObject({
    id: deviceId.describe('Name of this camera in topics, events and logs; never changes'),
    url: cameraUrl.describe('Address of the ONVIF device service, http or https'),
    username: z
      .string()
      .min(1)
      .max(64)
      .regex(/^\P{Cc}*$/u, 'must not hold control characters')
      .optional()
      .describe('User of the camera; make one for siteward alone, with the right to read events and pictures'),
    password: secretRef.optional().describe('Where the password of that user lies'),
    tls_fingerprint: z
      .string()
      .regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/i, 'must be a SHA-256 fingerprint: 32 bytes in hex with colons')
      .optional()
      .describe('SHA-256 fingerprint of the certificate, for https cameras that made their own'),
    name: z.string().min(1).max(64).optional().describe('What people call this camera'),
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
    pull: duration({ min: '1s', max: '60s' })
      .prefault('20s')
      .describe('How long the camera may hold a request for events open'),
    addresses: z
      .enum(['repaired', 'as_reported'])
      .default('repaired')
      .describe('Whether host and port that the camera reports are replaced by those of url'),
    snapshot_url: cameraUrl.optional().describe('Address of the still picture, when the camera reports a wrong one'),
  })
  .refine((camera) => camera.password === undefined || camera.username !== undefined, {
    path: ['username'],
    error: 'is needed with a password',
  });

/** As configured, secrets still references. */
export type CameraEntry = z.output<typeof cameraOptions>;
/** As the room takes it, the secret resolved. Keys only the site's plan needs may be absent. */
export type CameraOptions = Pick<CameraEntry, 'id' | 'url'> &
  Partial<Omit<CameraEntry, 'id' | 'url' | 'password'>> & { readonly password?: Secret };
