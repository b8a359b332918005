import { z } from 'zod';
import { isoTime } from './basics.ts';
import { type DeviceId, type PartitionId, type ZoneNumber, zoneNumber } from './ids.ts';
import { scheduleId } from './schedule.ts';
import type { SiteView } from './view.ts';
import type { SitePlan, ZonePlan } from './zone.ts';

/**
 * What stands beside the arming of a partition: one picture for MQTT, the status document and the answers to commands.
 * Nothing silent is in it (safety 4).
 */

const time = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$/, 'must be an ISO 8601 time in UTC');
const seconds = z.number().refine((value) => Number.isInteger(value) && value >= 0, 'must be whole seconds');
const leftS = seconds.meta({ type: 'integer', minimum: 0 });

/** The alarm that runs or began the entry delay. */
export const alarmShown = z.strictObject({
  kind: z.string(),
  zone: zoneNumber.exactOptional(),
  camera: z.string().exactOptional(),
  /** Of a fire and the like, which show without a change of the arming. */
  since: time.exactOptional(),
});
export type AlarmShown = z.infer<typeof alarmShown>;

/** The walk test that runs. */
export const testShown = z.strictObject({
  left_s: leftS,
  walked: z.array(zoneNumber),
  missing: z.array(zoneNumber),
});

/** A schedule could not arm it, and nobody has armed or disarmed it since. */
export const notArmedShown = z.strictObject({
  schedule: scheduleId,
  at: time,
  /** As in `data.schedule.reason` of the event `fail_to_arm`. */
  reason: z.string(),
  zones: z.array(zoneNumber).exactOptional(),
});

/** A schedule arms it as soon as nothing is in the way, and gives up after `left_s`. */
export const armWaitShown = z.strictObject({ schedule: scheduleId, left_s: leftS });

export interface PartitionShown {
  /** Zones in alarm since the last arming. */
  readonly memory: ZoneNumber[];
  readonly alarm: AlarmShown | null;
  readonly exit_left_s?: number;
  readonly entry_left_s?: number;
  /** An alarm sounds and is signalled only then. */
  readonly abort_left_s?: number;
  /** Shut for this arming period (swinger shutdown). */
  readonly shut_zones?: ZoneNumber[];
  readonly test?: z.infer<typeof testShown>;
  readonly not_armed?: z.infer<typeof notArmedShown>;
  readonly arm_wait?: z.infer<typeof armWaitShown>;
}

/** Nobody on the site may see what a button of silent hold-up does. */
export const isVisibleZone = ({ type }: ZonePlan): boolean => type !== 'panic_silent';

/** Zones of silent hold-up. */
export const silentZones = ({ plan }: Pick<SiteView, 'plan'>): ReadonlySet<ZoneNumber> =>
  new Set(plan.zones.filter((zone) => !isVisibleZone(zone)).map((zone) => zone.number));

/** Whether a silent hold-up may come from this device: then nothing is shown that moves with its messages (safety 4). */
export function hasSilentZone({ plan }: Pick<SiteView, 'plan'>, id: DeviceId): boolean {
  const channels = plan.cameras.filter(({ nvr }) => nvr === id).map((one) => one.id);
  const mine = [id, ...channels];
  return plan.zones.some(
    (zone) => !isVisibleZone(zone) && zone.source.kind !== 'panel' && mine.includes(zone.source.id),
  );
}

export function partitionShown(view: SiteView, id: PartitionId): PartitionShown {
  const state = view.partitions.find((partition) => partition.id === id);
  const silent = silentZones(view);
  const { exitLeftS, entryLeftS, abortLeftS } = view.delays[id] ?? {};
  const shut = view.shut?.[id] ?? [];
  return {
    memory: (state?.memory ?? []).filter((zone) => !silent.has(zone)),
    alarm: alarmOf(state?.alarm, silent),
    ...(exitLeftS !== undefined && { exit_left_s: whole(exitLeftS) }),
    ...(entryLeftS !== undefined && { entry_left_s: whole(entryLeftS) }),
    ...(abortLeftS !== undefined && { abort_left_s: whole(abortLeftS) }),
    ...(shut.length > 0 && { shut_zones: [...shut] }),
    ...asidesOf(view, id),
  };
}

function asidesOf(view: SiteView, id: PartitionId): Pick<PartitionShown, 'test' | 'not_armed' | 'arm_wait'> {
  const test = view.tests?.[id];
  const unarmed = view.unarmed?.[id];
  const wait = view.armWaits?.[id];
  return {
    ...(test !== undefined && {
      test: { left_s: whole(test.leftS), walked: [...test.walked], missing: [...test.missing] },
    }),
    ...(unarmed !== undefined && { not_armed: notArmedOf(unarmed) }),
    ...(wait !== undefined && { arm_wait: { schedule: wait.schedule, left_s: whole(wait.leftS) } }),
  };
}

function alarmOf(
  alarm: SiteView['partitions'][number]['alarm'],
  silent: ReadonlySet<ZoneNumber>,
): PartitionShown['alarm'] {
  if (alarm === undefined || (alarm.zone !== undefined && silent.has(alarm.zone))) return null;
  const { since, ...rest } = alarm;
  return { ...rest, ...(since !== undefined && { since: isoTime(since) }) };
}

function notArmedOf({
  schedule,
  at,
  reason,
  zones,
}: NonNullable<SiteView['unarmed']>[string]): z.infer<typeof notArmedShown> {
  return { schedule, at: isoTime(at), reason, ...(zones !== undefined && { zones: [...zones] }) };
}

const whole = (value: number): number => Math.max(0, Math.ceil(value));

/** Every zone a partition's picture names. */
export const zonesNamed = ({ alarm, memory, shut_zones: shut = [], test, not_armed: unarmed }: PartitionShown) => [
  ...(alarm?.zone === undefined ? [] : [alarm.zone]),
  ...memory,
  ...shut,
  ...(test === undefined ? [] : [...test.walked, ...test.missing]),
  ...(unarmed?.zones ?? []),
];

/** What people call these zones. */
export function zoneNames(
  { zones }: Pick<SitePlan, 'zones'>,
  numbers: Iterable<ZoneNumber>,
): Record<ZoneNumber, string> {
  const wanted = new Set(numbers);
  return Object.fromEntries(zones.flatMap(({ number, name }) => (wanted.has(number) ? [[number, name]] : [])));
}
