import { z } from 'zod';
import { secretRef } from '#lib/secret-ref.ts';
import { deviceId, partitionId, zoneNumber, zoneType } from '#site/model/index.ts';

/** What the bridge calls a zone or partition in its topics. */
const bridgeKey = z.string().regex(/^[^/+#\0]{1,64}$/, 'must be 1 to 64 characters without / + #');

const profileId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be the name of a profile, such as pai');

const panelZoneOptions = z.strictObject({
  type: zoneType.describe('What the zone is: entry_exit_1, perimeter, interior_follower, fire, ...'),
  name: z.string().min(1).max(64).optional().describe('Name of the zone for people.'),
  key: bridgeKey
    .optional()
    .describe("The bridge's own word for the zone in its topics; the zone's number when left out."),
  partition: partitionId.optional().describe('The partition the zone belongs to; p1 when left out.'),
  partitions: z.array(partitionId).min(1).max(16).optional().describe('Several partitions, instead of partition.'),
  cameras: z
    .array(deviceId)
    .max(16)
    .optional()
    .describe('Cameras that show the zone; their pictures go with its alarms.'),
});

export const panelOptions = z.strictObject({
  id: deviceId.describe('Short id of the panel, unique on this bridge.'),
  profile: profileId.describe('The profile that reads it: pai, dsc-keybus, zigbee2mqtt, or one of your own.'),
  vars: z
    .record(z.string().max(32), z.string().max(128))
    .optional()
    .describe('Variables of the profile, such as { b: paradox } for the base topic.'),
  partitions: z
    .record(partitionId, bridgeKey)
    .optional()
    .describe("siteward's partition to the bridge's word for it, such as { p1: Area_1 }."),
  zones: z
    .record(zoneNumber, panelZoneOptions)
    .optional()
    .describe('Zones by number; a zone that is not listed is never used.'),
  overrides: z
    .record(z.string().max(32), z.record(z.string().max(64), z.union([z.string().max(64), z.boolean(), z.null()])))
    .optional()
    .describe('Values this site reads otherwise, by field, such as { state: { part_armed_1: armed_night } }.'),
  code: secretRef.optional().describe("Where siteward's own panel code lies, for bridges that want it in the command."),
});

export type PanelOptions = z.infer<typeof panelOptions>;
