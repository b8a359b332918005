import { z } from 'zod';
import {
  activityLog,
  armingStates,
  audioMessage,
  contact,
  dealer,
  device,
  monitoringStation,
  nvr,
  playback,
  site,
  verificationActions,
} from '#cloud/contract/index.ts';

/**
 * What the sandbox stores: the records of the interface with what they belong to and what no answer shows. The same
 * schemas check a state file. Times are ISO 8601 with milliseconds and Z.
 */
const id = () => z.int().min(1);

/**
 * `bound_by`: the client whose tokens reach it since `connect`; `*` for every client, null for those told so.
 * `released_by`: the client that disconnected it last, so that its repeat is no stranger's (S-054).
 */
export const dealerRow = dealer.extend({ bound_by: z.string().nullable(), released_by: z.string().nullable() });
export type DealerRow = z.output<typeof dealerRow>;

export const siteRow = site.omit({ external_monitoring_station_id: true }).extend({
  dealer_id: id(),
  linked: z.boolean(),
  security_type: z.int().min(1).max(4),
  arming_updated_at: z.string(),
  /** Null: the messages every site has. */
  audio_messages: z.array(audioMessage).max(200).nullable(),
});
export type SiteRow = z.output<typeof siteRow>;

export const stationRow = monitoringStation.extend({ dealer_id: id() });
export type StationRow = z.output<typeof stationRow>;

export const contactRow = contact.extend({ site_id: id() });
export type ContactRow = z.output<typeof contactRow>;

export const deviceRow = device.extend({ site_id: id() });
export type DeviceRow = z.output<typeof deviceRow>;

export const nvrRow = nvr.extend({ site_id: id(), device_ids: z.array(id()) });
export type NvrRow = z.output<typeof nvrRow>;

export const partitionRow = z.object({
  partition_id: z.string().min(1).max(255),
  site_id: id(),
  status: z.enum(armingStates),
  bypassed_zones: z.array(z.string()).max(500),
});
export type PartitionRow = z.output<typeof partitionRow>;

export const activityRow = activityLog.extend({ site_id: id() });
export type ActivityRow = z.output<typeof activityRow>;

export const verificationRow = z.object({
  verification_id: z.string(),
  site_id: id(),
  contact_id: id(),
  expires_at: z.string(),
  answer: z.object({ contact_id: id(), action: z.enum(verificationActions), responded_at: z.string() }).nullable(),
});
export type VerificationRow = z.output<typeof verificationRow>;

/** A playback and its place on the clock: queued before `started_at`, playing until `ends_at`. */
export const playbackRow = playback
  .omit({ status: true, devices: true })
  .extend({ site_id: id(), ends_at: z.string(), device_ids: z.array(z.string()) });
export type PlaybackRow = z.output<typeof playbackRow>;
