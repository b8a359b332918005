import type { Health } from '#lib/health.ts';
import {
  isoTime,
  type LinkView,
  openShown,
  partitionShown,
  type SiteView,
  silentZones,
  type ZonePlan,
  type ZoneState,
  zoneNames,
  zoneOnline,
  zonesNamed,
} from '#site/model/index.ts';
import type { StatusDocument } from './schemas.ts';

export interface StatusInput {
  readonly version: string;
  readonly uptimeMs: number;
  readonly ready: boolean;
  readonly parts: readonly { readonly name: string; readonly health: Health }[];
  readonly view: SiteView;
  /** The cloud and the broker; links to panels and cameras are taken from the view. */
  readonly links: StatusDocument['links'];
  readonly outbox: StatusDocument['outbox'];
  readonly armingSync?: StatusDocument['arming_sync'];
  readonly cloud?: StatusDocument['cloud'];
  /** Panels that call by SIA DC-09: whether their zones are open is never known. */
  readonly reporting?: ReadonlySet<string>;
  /** Why panels are not read at all, by their id; it stands in place of "not heard yet". */
  readonly brokenPanels?: ReadonlyMap<string, string>;
  readonly hints: StatusDocument['hints'];
  readonly config: StatusDocument['config'];
  /** Of the site, as IANA names it. */
  readonly timezone?: string;
}

/** The status document from what the rooms know. Pure. */
export function statusOf(input: StatusInput): StatusDocument {
  const { view } = input;
  const partitions = partitionsShown(view);
  return {
    version: input.version,
    uptime_s: Math.floor(input.uptimeMs / 1000),
    ready: input.ready,
    parts: input.parts.map(({ name, health }) => ({
      name,
      state: health.state,
      ...(health.reason !== undefined && { reason: health.reason }),
      ...(health.facts !== undefined && { facts: { ...health.facts } }),
    })),
    partitions,
    zones: zonesOf(view, input.reporting ?? new Set()),
    zone_names: zoneNames(
      view.plan,
      partitions.flatMap((one) => [...zonesNamed(one), ...(one.alarms ?? []).flatMap(({ zone }) => zone ?? [])]),
    ),
    troubles: view.troubles.map(({ kind, source, partition, zone, since, losses, reported }) => ({
      kind,
      device: `${source.kind} ${source.id}`,
      ...(partition !== undefined && { partition }),
      ...(zone !== undefined && { zone }),
      since: isoTime(since),
      ...(losses !== undefined && { losses }),
      ...(reported !== undefined && { reported: { ...reported } }),
    })),
    hints: [...input.hints],
    cameras: [
      ...(view.plan.nvrs ?? []).map((id) => linkOf(view, 'nvr', id)),
      ...view.plan.cameras.map(({ id }) => linkOf(view, 'camera', id)),
    ],
    ...(view.plan.speakers !== undefined && {
      speakers: view.plan.speakers.map((id) => linkOf(view, 'speaker', id)),
    }),
    panels: panelIds(view).map((id) => panelLink(view, id, input.brokenPanels?.get(id))),
    links: [...input.links],
    outbox: input.outbox,
    ...(input.armingSync !== undefined && { arming_sync: input.armingSync }),
    ...(input.cloud !== undefined && { cloud: input.cloud }),
    clock: {
      ...{ quality: view.clock, now: isoTime(view.at) },
      ...(input.timezone !== undefined && { timezone: input.timezone }),
    },
    config: input.config,
  };
}

/** The partitions in the order of the configuration. Pure. */
export function partitionsShown(view: SiteView) {
  return view.plan.partitions.map((plan) => {
    const state = view.partitions.find(({ id }) => id === plan.id);
    return {
      id: plan.id,
      name: plan.name,
      authority: plan.authority,
      state: state?.state ?? 'unknown',
      mode: state?.mode ?? null,
      ...(plan.modes !== undefined && { modes: [...plan.modes] }),
      stale: state?.stale ?? true,
      since: isoTime(state?.at ?? view.at),
      seq: state?.seq ?? 0,
      ...partitionShown(view, plan.id),
      ...alarmsOf(view, plan.id),
    };
  });
}

function alarmsOf({ alarms = {} }: SiteView, id: string) {
  const running = (alarms[id] ?? []).map(({ since, ...rest }) => ({
    ...rest,
    ...(since !== undefined && { since: isoTime(since) }),
  }));
  return running.length === 0 ? {} : { alarms: running };
}

function zonesOf(view: SiteView, reporting: ReadonlySet<string>): StatusDocument['zones'] {
  const states = new Map(view.zones.map((zone) => [zone.number, zone]));
  const silent = silentZones(view);
  const visible = view.plan.zones.filter(({ number }) => !silent.has(number));
  const opened = (is: boolean | null) =>
    visible.filter(({ number, type }) => openShown(type, states.get(number)) === is);
  const isReporting = ({ source }: ZonePlan) => source.kind === 'panel' && reporting.has(source.id);
  const reports = opened(null).filter(isReporting);
  const numbers = (test: (zone: ZoneState | undefined) => boolean) =>
    view.plan.zones.map(({ number }) => number).filter((number) => test(states.get(number)));
  return {
    total: visible.length,
    alarm: numbers((zone) => zone?.alarm === true && !silent.has(zone.number)),
    open: opened(true).map(({ number }) => number),
    bypassed: numbers((zone) => zone?.bypassed === true),
    tamper: numbers((zone) => zone?.tamper === true),
    low_battery: numbers((zone) => zone?.lowBattery === true),
    offline: view.plan.zones
      .filter(({ number, source }) => !zoneOnline(view, source, states.get(number)))
      .map(({ number }) => number),
    unknown: opened(null)
      .filter((zone) => !isReporting(zone))
      .map(({ number }) => number),
    ...(reports.length > 0 && { reports_only: reports.map(({ number }) => number) }),
  };
}

/** Panels that own a partition or a zone, each once, in the order of the configuration. */
export function panelIds(view: SiteView): string[] {
  const owners = view.plan.partitions.flatMap(({ panel }) => (panel === undefined ? [] : [panel]));
  const sources = view.plan.zones.flatMap(({ source }) => (source.kind === 'panel' ? [source.id] : []));
  return [...new Set([...owners, ...sources])];
}

/** A panel that is not read is down, whatever was heard of it before. */
export function panelLink(view: SiteView, id: string, broken: string | undefined): StatusDocument['links'][number] {
  return broken === undefined ? linkOf(view, 'panel', id) : { kind: 'panel', id, up: false, reason: broken };
}

export function linkOf(
  view: SiteView,
  kind: 'camera' | 'nvr' | 'panel' | 'speaker',
  id: string,
): StatusDocument['links'][number] {
  const link: LinkView | undefined = view.links.find(({ source }) => source.kind === kind && source.id === id);
  return { kind, id, up: link?.up ?? null, ...(link?.reason !== undefined && { reason: link.reason }) };
}
