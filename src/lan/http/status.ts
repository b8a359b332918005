import type { Health } from '#lib/health.ts';
import { isoTime, type LinkView, type SiteView, type ZoneState, type ZoneType } from '#site/model/index.ts';
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
  readonly hints: StatusDocument['hints'];
  readonly config: StatusDocument['config'];
}

/** The status document from what the rooms know. Pure. */
export function statusOf(input: StatusInput): StatusDocument {
  const { view } = input;
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
    partitions: partitionsOf(view),
    zones: zonesOf(view),
    troubles: view.troubles.map(({ kind, source, zone, since }) => ({
      kind,
      device: `${source.kind} ${source.id}`,
      ...(zone !== undefined && { zone }),
      since: isoTime(since),
    })),
    hints: [...input.hints],
    cameras: view.plan.cameras.map(({ id }) => linkOf(view, 'camera', id)),
    panels: panelIds(view).map((id) => linkOf(view, 'panel', id)),
    links: [...input.links],
    outbox: input.outbox,
    clock: { quality: view.clock, now: isoTime(view.at) },
    config: input.config,
  };
}

function partitionsOf(view: SiteView): StatusDocument['partitions'] {
  return view.plan.partitions.map((plan) => {
    const state = view.partitions.find(({ id }) => id === plan.id);
    const delay = view.delays[plan.id];
    return {
      id: plan.id,
      name: plan.name,
      authority: plan.authority,
      state: state?.state ?? 'unknown',
      mode: state?.mode ?? null,
      stale: state?.stale ?? true,
      since: isoTime(state?.at ?? view.at),
      seq: state?.seq ?? 0,
      ...(delay?.exitLeftS !== undefined && { exit_left_s: delay.exitLeftS }),
      ...(delay?.entryLeftS !== undefined && { entry_left_s: delay.entryLeftS }),
    };
  });
}

/** Detectors that tell an alarm and its end, and are otherwise silent. */
const alarmOnly: ReadonlySet<ZoneType> = new Set([
  'fire',
  'co',
  'gas',
  'water',
  'medical',
  'panic_audible',
  'panic_silent',
]);

function zonesOf(view: SiteView): StatusDocument['zones'] {
  const states = new Map(view.zones.map((zone) => [zone.number, zone]));
  const numbers = (test: (zone: ZoneState | undefined) => boolean) =>
    view.plan.zones.map(({ number }) => number).filter((number) => test(states.get(number)));
  return {
    total: view.plan.zones.length,
    open: numbers((zone) => zone?.open === true),
    bypassed: numbers((zone) => zone?.bypassed === true),
    tamper: numbers((zone) => zone?.tamper === true),
    low_battery: numbers((zone) => zone?.lowBattery === true),
    offline: numbers((zone) => zone?.online === false),
    unknown: view.plan.zones
      .filter(({ number, type }) => !alarmOnly.has(type) && (states.get(number)?.open ?? null) === null)
      .map(({ number }) => number),
  };
}

/** Panels that own a partition or a zone, each once, in the order of the configuration. */
function panelIds(view: SiteView): string[] {
  const owners = view.plan.partitions.flatMap(({ panel }) => (panel === undefined ? [] : [panel]));
  const sources = view.plan.zones.flatMap(({ source }) => (source.kind === 'panel' ? [source.id] : []));
  return [...new Set([...owners, ...sources])];
}

function linkOf(view: SiteView, kind: 'camera' | 'panel', id: string): StatusDocument['links'][number] {
  const link: LinkView | undefined = view.links.find(({ source }) => source.kind === kind && source.id === id);
  return { kind, id, up: link?.up ?? null, ...(link?.reason !== undefined && { reason: link.reason }) };
}
