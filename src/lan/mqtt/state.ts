import type {
  DeviceRef,
  PartitionPlan,
  PartitionState,
  SitePlan,
  SiteView,
  VerificationDocument,
  ZonePlan,
  ZoneState,
} from '#site/model/index.ts';
import { isoTime, isVisibleZone, openShown, partitionShown, zoneOnline } from '#site/model/index.ts';
import type { Info, PartitionDetail, TroubleItem, ZoneDetail } from './schemas.ts';

/** From the site's view to topics and payloads. Pure; topics are below the root; every payload fits the table. */

/** One retained topic. An empty payload means: nothing is known, the topic is cleared. */
export type TopicState = readonly [topic: string, payload: string];

export interface Facts {
  readonly version: string;
  readonly bootId: string;
  readonly cloudUp: boolean;
  /** Help can be asked for at the service. */
  readonly dispatches?: boolean;
  /** Alarm verifications somebody still has to answer, or whose answer is on its way. */
  readonly verifications?: readonly VerificationDocument[];
}

/** In `info.limits`; the guard of commands enforces the same numbers. */
export const limits = {
  command_bytes: 8192,
  json_depth: 6,
  string_bytes: 1024,
  commands_per_s: 20,
  plays_per_minute: 20,
  reply_bytes: 4096,
} as const;

const word = (up: boolean) => (up ? 'online' : 'offline');
const sameDevice = (a: DeviceRef, b: DeviceRef) => a.kind === b.kind && a.id === b.id;

/** True or false as heard, undefined while nothing was heard. */
function linkOf(view: SiteView, device: DeviceRef): boolean | undefined {
  return view.links.find((link) => sameDevice(link.source, device))?.up ?? undefined;
}

/** Everything retained but `status`, in birth order: links, then what hangs on them, `info` last. */
export function allTopics(view: SiteView, facts: Facts): TopicState[] {
  const states = new Map(view.zones.map((zone) => [zone.number, zone]));
  return [
    ...linkTopics(view, facts),
    ...view.plan.partitions.flatMap((partition) => partitionTopics(view, partition)),
    ...visibleZones(view).flatMap((zone) => zoneTopics(view, zone, states.get(zone.number))),
    ...view.plan.cameras.flatMap((camera) => cameraTopics(view, camera.id)),
    ...troubleTopics(view),
    ...verificationTopics(facts),
    infoTopic(view, facts),
  ];
}

export const hasSpeakers = ({ speakers = [] }: SitePlan): boolean => speakers.length > 0;

export const verificationTopics = ({ verifications = [] }: Facts): TopicState[] =>
  verifications.map((one) => [`verification/${one.verification_id}`, JSON.stringify(one)]);

export const visibleZones = (view: SiteView): readonly ZonePlan[] => view.plan.zones.filter(isVisibleZone);

export function linkTopics(view: SiteView, facts: Facts): TopicState[] {
  const nvrs = view.links.filter((link) => link.source.kind === 'nvr').map((link) => link.source.id);
  return [
    ['link/cloud', word(facts.cloudUp)],
    ...panelsOf(view).map((id): TopicState => [`link/panel/${id}`, word(linkOf(view, { kind: 'panel', id }) === true)]),
    ...nvrs.map((id): TopicState => [`link/nvr/${id}`, word(linkOf(view, { kind: 'nvr', id }) === true)]),
  ];
}

/** Every panel the plan knows, heard or not: one that stays away after a restart must show as offline. */
function panelsOf(view: SiteView): string[] {
  const ids = new Set<string>();
  for (const { panel } of view.plan.partitions) if (panel !== undefined) ids.add(panel);
  for (const { source } of [...view.plan.zones, ...view.links]) if (source.kind === 'panel') ids.add(source.id);
  return [...ids];
}

export function partitionTopics(view: SiteView, plan: PartitionPlan): TopicState[] {
  const detail = detailOf(view, plan);
  return [
    [`partition/${plan.id}/availability`, word(isReachable(view, plan) && !detail.stale)],
    [`partition/${plan.id}/state`, detail.state],
    [`partition/${plan.id}/detail`, JSON.stringify(detail)],
  ];
}

function isReachable(view: SiteView, plan: PartitionPlan): boolean {
  return plan.panel === undefined || linkOf(view, { kind: 'panel', id: plan.panel }) === true;
}

export function detailOf(view: SiteView, plan: PartitionPlan): PartitionDetail {
  const state = view.partitions.find((partition) => partition.id === plan.id);
  const members = new Map(
    visibleZones(view)
      .filter((zone) => zone.partitions.includes(plan.id))
      .map((zone) => [zone.number, zone]),
  );
  const zones = view.zones.filter((zone) => members.has(zone.number));
  const out = view.leftOut?.[plan.id];
  const isOut = ({ number, bypassed }: ZoneState) => out?.includes(number) ?? bypassed;
  const isOpen = (zone: ZoneState) => {
    const type = members.get(zone.number)?.type;
    return type !== undefined && openShown(type, zone) === true;
  };
  const open = zones.filter((zone) => isOpen(zone) && !isOut(zone)).map((zone) => zone.number);
  const known = state !== undefined && state.state !== 'unknown' && !state.stale;
  return {
    partition: plan.id,
    name: plan.name,
    state: state?.state ?? 'unknown',
    mode: state?.mode ?? null,
    seq: state?.seq ?? 0,
    epoch: view.epoch,
    at: isoTime(state?.at ?? view.at),
    authority: plan.authority,
    stale: state?.stale ?? true,
    // The engine says what it would do; of a panel only its open zones are known.
    ready: known && (plan.authority === 'engine' ? view.ready[plan.id] === true : open.length === 0),
    open_zones: open,
    bypassed: zones.filter(isOut).map((zone) => zone.number),
    ...(state === undefined ? {} : { ...partitionShown(view, plan.id), ...causeOf(state) }),
  };
}

const causeOf = ({ changedBy, source, request }: PartitionState) => ({
  ...(changedBy === undefined ? {} : { changed_by: changedBy }),
  source,
  request: request === undefined ? null : { id: request.commandId, target: request.target },
});

/** The bare word of a zone; empty while its state is not known. */
export const zoneWord = (open: boolean | null) => (open === true ? 'ON' : open === false ? 'OFF' : '');

export function zoneTopics(view: SiteView, plan: ZonePlan, state: ZoneState | undefined): TopicState[] {
  const detail = zoneDetailOf(view, plan, state);
  return [
    [`zone/${plan.number}/availability`, word(detail.online === true)],
    [`zone/${plan.number}/state`, zoneWord(detail.open)],
    [`zone/${plan.number}/detail`, JSON.stringify(detail)],
  ];
}

export function zoneDetailOf(view: SiteView, plan: ZonePlan, state: ZoneState | undefined): ZoneDetail {
  return {
    zone: plan.number,
    name: plan.name,
    type: plan.type,
    partitions: [...plan.partitions],
    open: openShown(plan.type, state),
    alarm: state?.alarm ?? false,
    tamper: state?.tamper ?? false,
    bypassed: state?.bypassed ?? false,
    low_battery: state?.lowBattery ?? false,
    online: zoneOnline(view, plan.source, state),
    at: isoTime(state?.at ?? view.at),
  };
}

export function cameraTopics(view: SiteView, id: string): TopicState[] {
  const plan = view.plan.cameras.find((camera) => camera.id === id);
  if (plan === undefined) return [];
  const meta = {
    name: plan.name,
    ...(plan.zone === undefined ? {} : { zone: plan.zone }),
    partitions: [...plan.partitions],
    pictures: plan.pictures,
  };
  return [
    [`camera/${id}/availability`, word(linkOf(view, { kind: 'camera', id }) === true)],
    [`camera/${id}/meta`, JSON.stringify(meta)],
  ];
}

export function troubleTopics(view: SiteView): TopicState[] {
  return [
    ['problem', view.troubles.length > 0 ? 'ON' : 'OFF'],
    ['trouble', JSON.stringify({ items: troubleItems(view) })],
  ];
}

export function troubleItems(view: SiteView): TroubleItem[] {
  return view.troubles.map((trouble) => ({
    kind: trouble.kind,
    device: `${trouble.source.kind}:${trouble.source.id}`,
    since: isoTime(trouble.since),
    ...(trouble.partition === undefined ? {} : { partition: trouble.partition }),
    ...(trouble.zone === undefined ? {} : { zone: trouble.zone }),
    ...(trouble.losses === undefined ? {} : { losses: trouble.losses }),
    ...(trouble.reported === undefined ? {} : { reported: { ...trouble.reported } }),
  }));
}

export function infoTopic(view: SiteView, facts: Facts, at = view.at): TopicState {
  return ['info', JSON.stringify({ ...infoOf(view, facts), links: linksOf(at, facts) })];
}

const linksOf = (at: number, { cloudUp }: Facts): NonNullable<Info['links']> => ({
  at: isoTime(at),
  cloud: word(cloudUp),
});

/** `links.at` is the heartbeat: consumers treat an info older than 15 minutes as stale. */
export function infoOf(view: SiteView, facts: Facts): Info {
  const verbs = ['silence', 'snapshot', 'bypass', 'clear_memory', 'test', 'postpone', 'panic', 'ping', 'query'];
  const arms = ['arm_away', 'arm_home', 'arm_night', 'arm_vacation', 'arm_custom', 'disarm'];
  const dispatch = facts.dispatches === true ? ['dispatch'] : [];
  const sound = hasSpeakers(view.plan) ? ['play', 'cancel'] : [];
  return {
    api: 1,
    version: facts.version,
    boot_id: facts.bootId,
    epoch: view.epoch,
    clock: view.clock,
    security_type: view.plan.securityType,
    caps: [...(view.plan.securityType === 4 ? ['panic', 'ping', 'query'] : [...arms, ...verbs, ...dispatch]), ...sound],
    limits: { ...limits },
    links: linksOf(view.at, facts),
  };
}
