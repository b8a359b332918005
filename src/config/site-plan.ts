import type { CameraPlan, CrossZones, PartitionId, PartitionPlan, SitePlan, ZonePlan } from '#site/model/index.ts';
import { inputZones, type View, views } from './cameras.ts';
import { schedulesPlan } from './schedule-plan.ts';
import type { Settings } from './schema.ts';
import { supervisionPlan } from './supervision.ts';

/** The site as the core decides with it. Pure. Expects checked settings: every partition and camera named exists. */
export function sitePlan(settings: Settings): SitePlan {
  const securityType = settings.site.security_type ?? (settings.panels.some(ownsPartition) ? 1 : 3);
  return {
    siteId: settings.site.id,
    securityType,
    ...(settings.site.security_type !== undefined && { securityTypeFixed: true }),
    partitions: settings.partitions.map((partition) => partitionPlan(settings, partition, securityType)),
    zones: [...panelZones(settings), ...cameraZones(settings), ...wiredZones(settings)],
    cameras: views(settings).map((view) => cameraPlan(settings, view)),
    media: {
      snapshots: settings.media.snapshots,
      intervalMs: settings.media.interval,
      maxPerEvent: settings.media.max_per_event,
    },
    disarmNeedsCode: settings.arming.disarm_code === 'required',
    confirmMs: settings.arming.confirm_timeout,
    signalRestores: settings.arming.restores_to_station,
    swingerTrips: settings.arming.swinger_trips,
    crossZones: settings.cross_zones.map(crossZones),
    ...(settings.schedules.length > 0 && { schedules: schedulesPlan(settings) }),
    panels: settings.panels.map(({ id }) => id),
    nvrs: settings.nvrs.map(({ id }) => id),
    ...(settings.speakers.length > 0 && {
      speakers: settings.speakers.filter(({ enabled }) => enabled).map(({ id }) => id),
    }),
    supervision: supervisionPlan(settings.supervision),
  };
}

const crossZones = ({ zones: [one, other], window }: Settings['cross_zones'][number]): CrossZones => ({
  zones: [one ?? '', other ?? ''],
  windowMs: window,
});

type Panel = Settings['panels'][number];

const ownsPartition = (panel: Panel): boolean => Object.keys(panel.partitions ?? {}).length > 0;

/** A panel that maps a partition decides it, siteward's own engine the others; of a watched system nothing is ours. */
function partitionPlan(
  settings: Settings,
  partition: Settings['partitions'][number],
  securityType: SitePlan['securityType'],
): PartitionPlan {
  const panel = settings.panels.find((one) => Object.hasOwn(one.partitions ?? {}, partition.id));
  return {
    id: partition.id,
    name: partition.name,
    authority: securityType === 4 ? 'external' : panel === undefined ? 'engine' : 'panel',
    ...(panel !== undefined && { panel: panel.id }),
    exitDelayMs: partition.exit_delay,
    entryDelayMs: partition.entry_delay,
    abortDelayMs: partition.abort_delay,
    cancelWindowMs: partition.cancel_window,
    ...(partition.confirmation !== undefined && { confirmationMs: partition.confirmation.window }),
    exitRestart: partition.exit_restart,
    autoStay: partition.auto_stay,
  };
}

function panelZones(settings: Settings): ZonePlan[] {
  return settings.panels.flatMap((panel) =>
    Object.entries(panel.zones ?? {}).map(([number, zone]) => ({
      number,
      name: zone.name ?? `Zone ${number}`,
      type: zone.type,
      partitions: zone.partitions ?? own(settings, zone.partition),
      source: { kind: 'panel' as const, id: panel.id },
      ...(zone.key !== undefined && { key: [zone.key].flat().join(' ') }),
      cameras: zone.cameras ?? [],
      detections: [],
      ...(zone.chime && { chime: true }),
      ...(zone.confirms === false && { confirms: false }),
    })),
  );
}

/** The zone a camera's detections open; its own pictures go with its alarms. */
function cameraZones(settings: Settings): ZonePlan[] {
  return views(settings).flatMap((view) => {
    if (view.zone === undefined) return [];
    return {
      number: view.zone,
      name: view.name ?? view.id,
      type: view.zone_type ?? 'video_person_perimeter',
      partitions: own(settings, view.partition),
      source: { kind: 'camera' as const, id: view.id },
      cameras: [view.id],
      detections: view.detections ?? [],
      ...(view.chime && { chime: true }),
      ...(view.confirms === false && { confirms: false }),
    };
  });
}

/** Contacts wired to cameras and recorders. The pictures are those of the camera it is wired to, else of the partition. */
function wiredZones(settings: Settings): ZonePlan[] {
  return inputZones(settings).map(({ zone, name, zone_type, partition, token, source }) => ({
    number: zone,
    name: name ?? `Input ${token} of ${source.id}`,
    type: zone_type,
    partitions: own(settings, partition),
    source,
    input: token,
    cameras: source.kind === 'camera' ? [source.id] : [],
    detections: [],
  }));
}

function cameraPlan(settings: Settings, view: View): CameraPlan {
  return {
    id: view.id,
    name: view.name ?? view.id,
    ...(view.nvr !== undefined && { nvr: view.nvr }),
    ...(view.zone !== undefined && { zone: view.zone }),
    partitions: own(settings, view.partition),
    pictures: view.pictures,
    ...(view.clips.length > 0 && { clips: view.clips }),
    ...(view.pre_roll > 0 && { preRollMs: view.pre_roll }),
  };
}

/** The partition named. Without a name the only one; a camera that opens no zone then belongs to all. */
function own(settings: Settings, partition: PartitionId | undefined): PartitionId[] {
  return partition === undefined ? settings.partitions.map(({ id }) => id) : [partition];
}
