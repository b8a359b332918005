import { z } from 'zod';
import { armingWord } from './arming.ts';
import { eventClasses, type Lane, zonedTimePattern } from './basics.ts';
import type { DeviceId, PartitionId, Stamp, ZoneNumber } from './ids.ts';
import { clockQuality, partitionId, zoneNumber } from './ids.ts';
import type { ScheduleId } from './schedule.ts';
import type { ReportedCode } from './signal.ts';

export const eventClass = z.enum(eventClasses);
export type EventClass = z.infer<typeof eventClass>;

export const eventStatus = z.enum(['active', 'restored', 'cancelled']);
export type EventStatus = z.infer<typeof eventStatus>;

const time = z.string().regex(zonedTimePattern);

/**
 * The public event: one and the same object on MQTT (`event/<class>`) and as `payload` of the cloud's event.
 * `event_type` repeats `kind`, as Home Assistant's event platform wants it.
 */
export const siteEvent = z.strictObject({
  event_id: z.string(),
  event_type: z.string(),
  kind: z.string(),
  class: eventClass,
  status: eventStatus,
  partition: partitionId.optional(),
  zone: zoneNumber.optional(),
  camera: z.string().optional(),
  /** Contact ID event code, three digits. */
  contact_id: z.string().optional(),
  /** SIA DC-03 two-letter code. */
  sia: z.string().optional(),
  /** The next number of the epoch; a silent event shares that of the event before it (safety 4). */
  seq: z.int(),
  source: z.string(),
  actor: z.string().optional(),
  at: time,
  late: z.boolean().optional(),
  data: z.strictObject({
    version: z.literal(1),
    epoch: z.int(),
    clock: clockQuality,
    /**
     * Where the time of receipt is not that of the event: a panel's message that waited in the broker; and, only as sent to
     * the cloud, where the recorded time was corrected: `event_time` then differs from `at`.
     */
    time: z
      .strictObject({
        /** `exact` by a moment of the same run of the machine whose true time is known; otherwise `estimated`. */
        quality: z.enum(['exact', 'estimated']),
        recorded: time,
        earliest: time.optional(),
        latest: time.optional(),
      })
      .optional(),
    /** The partition's state after the decision, and its arming sequence. */
    arming: z.strictObject({ state: armingWord, seq: z.int() }).optional(),
    incident_id: z.string().optional(),
    zone_name: z.string().optional(),
    zone_type: z.string().optional(),
    /** Further zones of the one alarm, separated by commas as the service writes them. */
    additional_zone_numbers: z.string().max(512).optional(),
    /** What was seen, for the person who scores the alarm; names and numbers only. */
    evidence: z
      .array(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])))
      .max(16)
      .optional(),
    /** False when the event left before it was on disk. */
    durable: z.boolean().optional(),
    /** The schedule that did it, or will. */
    schedule: z
      .strictObject({
        id: z.string(),
        /** When it is due. */
        at: time.optional(),
        /** Why it did nothing. */
        reason: z.string().optional(),
        /** What is to be announced. */
        message: z.string().max(500).optional(),
      })
      .optional(),
    detail: z.string().max(512).optional(),
    /**
     * What the panel has reported: its Contact ID or SIA code, which `contact_id` or `sia` then repeats, the number it names (a zone, a
     * module or a user, as the panel numbers them) and what the code says.
     */
    reported: z
      .strictObject({
        code: z.string().max(3),
        number: z.string().max(8).optional(),
        term: z.string().max(40).optional(),
      })
      .optional(),
    /** The camera's own time of what it reported, as it wrote it; `at` is when it was received. Cameras' clocks lie. */
    device_time: z.string().max(40).optional(),
  }),
});
export type SiteEvent = z.infer<typeof siteEvent>;

/** One picture or clip an event announces. It is committed with the event and never changes. */
export interface MediaItem {
  readonly index: number;
  readonly kind: 'snapshot' | 'short_mp4' | 'event_mp4';
  readonly camera: DeviceId;
  /** Milliseconds from the event; negative is before it. */
  readonly offsetMs: number;
}

/** An event as the core decides it, before the controller gives it a number. */
export interface EventDraft {
  readonly class: EventClass;
  readonly kind: string;
  readonly status: EventStatus;
  readonly lane: Lane;
  readonly partition?: PartitionId;
  readonly zone?: ZoneNumber;
  readonly camera?: DeviceId;
  readonly contactId?: string;
  readonly sia?: string;
  readonly source: string;
  readonly actor?: string;
  readonly late?: boolean;
  /** When it happened, where that was before the decision; the row and `event_time` carry it. */
  readonly at?: Stamp;
  /** It happened between `since`, wall clock milliseconds, and the moment of the event. */
  readonly waited?: { readonly since?: number };
  /** `should_signal_to_monitoring_center`; the rule is `signalToStation` of the core. */
  readonly signalToStation: boolean;
  /** False for what stays on the site: it is kept and shown, never sent. */
  readonly toCloud: boolean;
  /** Hold-up and duress (safety 4): nothing on the site may show it; only the cloud and the auditor role see it. */
  readonly silent?: true;
  readonly media: readonly MediaItem[];
  readonly incident?: string;
  readonly zoneName?: string;
  readonly zoneType?: string;
  /** Further zones of the one alarm; at most 24. */
  readonly additionalZones?: readonly ZoneNumber[];
  readonly evidence?: readonly Readonly<Record<string, string | number | boolean>>[];
  readonly arming?: { readonly state: z.infer<typeof armingWord>; readonly seq: number };
  readonly detail?: string;
  /** What the panel has reported, where that is what the event tells. */
  readonly reported?: ReportedCode;
  /** The device's own time, as it wrote it. */
  readonly deviceTime?: string;
  readonly schedule?: ScheduleNote;
}

/** What an event says of its schedule. */
export interface ScheduleNote {
  readonly id: ScheduleId;
  /** When it is due, wall clock milliseconds. */
  readonly at?: number;
  readonly reason?: string;
  readonly message?: string;
}
