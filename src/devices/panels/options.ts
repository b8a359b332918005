import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { deviceId, partitionId, zoneNumber, zoneType } from '#site/model/index.ts';
import { dc09PanelOptions } from './dc09-options.ts';

export { dc09Options, dc09Profile } from './dc09-options.ts';

/** What the bridge calls a zone or partition in its topics. */
const bridgeKey = z.string().regex(/^[^/+#\0]{1,64}$/, 'must be 1 to 64 characters without / + #');

/** One word, or several where the bridge uses more than one for the same thing. */
const bridgeKeys = z.union([bridgeKey, z.array(bridgeKey).min(1).max(8)]);

const profileId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be the name of a profile, such as pai');

const panelZoneOptions = z.strictObject({
  type: zoneType.describe('What the zone is: entry_exit_1, perimeter, interior_follower, fire, ...'),
  name: z.string().min(1).max(64).optional().describe('Name of the zone for people.'),
  key: bridgeKeys
    .optional()
    .describe("The bridge's own word for the zone in its topics, or a list of them; the zone's number when left out."),
  partition: partitionId
    .optional()
    .describe('The partition the zone belongs to; may be left out only where the site has one.'),
  partitions: z.array(partitionId).min(1).max(16).optional().describe('Several partitions, instead of partition.'),
  cameras: z
    .array(deviceId)
    .max(16)
    .optional()
    .describe('Cameras that show the zone; their pictures go with its alarms.'),
  supervised: duration({ min: '10m', max: '72h' })
    .optional()
    .describe('The detector counts as lost when nothing was heard of it for so long, such as 4h or 24h.'),
  chime: z.boolean().default(false).describe('Whether its opening sounds a chime while disarmed.'),
  confirms: z
    .boolean()
    .default(true)
    .describe('Whether it counts for sequential confirmation; false for detectors outside the building.'),
});

export const panelOptions = z.strictObject({
  id: deviceId.describe('Short id of the panel, unique on this bridge.'),
  profile: profileId.describe('The profile that reads it: one of docs/panels.md, such as pai, or one of your own.'),
  vars: z
    .record(z.string().max(32), z.string().max(128))
    .optional()
    .describe('Variables of the profile, such as { b: paradox } for the base topic.'),
  partitions: z
    .record(partitionId, bridgeKeys)
    .optional()
    .describe(
      "siteward's partition to the bridge's word for it, such as { p1: Area_1 }, or to a list of them; commands use the first.",
    ),
  zones: z
    .record(zoneNumber, panelZoneOptions)
    .optional()
    .describe('Zones by number; a zone that is not listed is never used.'),
  overrides: z
    .record(z.string().max(32), z.record(z.string().max(64), z.union([z.string().max(64), z.boolean(), z.null()])))
    .optional()
    .describe('Values this site reads otherwise, by field, such as { state: { part_armed_1: armed_night } }.'),
  stale_after: duration({ min: '10s', max: '24h' })
    .optional()
    .describe('How long a panel may be silent before its link counts as lost; what its profile says when left out.'),
  code: secretRef.optional().describe("Where siteward's own panel code lies, for bridges that want it in the command."),
  dc09: dc09PanelOptions
    .optional()
    .describe('For profile sia-dc09, a panel that reports to siteward itself: how it calls. See docs/panels.md.'),
});

export type PanelOptions = z.infer<typeof panelOptions>;

/** All the words of a bridge for one thing, the one for commands first. */
export const keyList = (keys: string | readonly string[]): readonly string[] =>
  typeof keys === 'string' ? [keys] : keys;
