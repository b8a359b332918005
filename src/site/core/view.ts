import type { Changes, LinkView, PartitionState, SitePlan, SiteView, Stamp, TroubleView } from '#site/model/index.ts';
import { alarming } from './alarm.ts';
import { linkUp } from './link.ts';
import { isReady } from './ready.ts';
import { left } from './timers.ts';
import type { SiteState } from './types.ts';
import { begin, own } from './work.ts';
import { lifeKinds } from './zones.ts';

/** What the LAN may see, in the order of the plan. Nothing silent is in it (safety 4). */
export function siteView(
  plan: SitePlan,
  state: SiteState,
  at: Stamp,
  meta: { readonly epoch: number; readonly seq: number },
): SiteView {
  const work = begin(plan, state, at);
  const engine = plan.partitions.filter(({ authority }) => authority === 'engine');
  const partitions = plan.partitions.flatMap(({ id }) => own(state.partitions, id) ?? []);
  return {
    plan,
    partitions: partitions.map(shown),
    zones: plan.zones.flatMap(({ number }) => own(state.zones, number) ?? []),
    troubles: Object.values(state.troubles).map(troubleView),
    links: Object.entries(state.links).map(([key, link]) => linkView(key, link)),
    epoch: meta.epoch,
    seq: meta.seq,
    clock: at.clock,
    at: at.wall,
    ready: Object.fromEntries(engine.map(({ id }) => [id, isReady(work, id, 'away')])),
    delays: delaysOf(partitions, at),
  };
}

/** A fire shows as triggered as long as it lasts; the arming beneath it is untouched (alarm-domain 3). */
function shown(partition: PartitionState): PartitionState {
  const { alarm, state } = partition;
  const overlaid = alarm !== undefined && lifeKinds.has(alarm.kind) && !alarming(state);
  return overlaid ? { ...partition, state: 'triggered' } : partition;
}

const troubleView = ({ trouble, source, zone, since }: SiteState['troubles'][string]): TroubleView => ({
  kind: trouble,
  source,
  ...(zone === undefined ? {} : { zone }),
  since,
});

function linkView(key: string, link: SiteState['links'][string]): LinkView {
  const colon = key.indexOf(':');
  const kind = key.slice(0, colon) as LinkView['source']['kind'];
  return {
    source: { kind, id: key.slice(colon + 1) },
    up: linkUp(link),
    ...(link.reason === undefined ? {} : { reason: link.reason }),
  };
}

function delaysOf(partitions: readonly PartitionState[], at: Stamp): SiteView['delays'] {
  const delays: Record<string, { exitLeftS?: number; entryLeftS?: number }> = {};
  for (const { id, exitEnds, entryEnds } of partitions) {
    if (exitEnds !== undefined) delays[id] = { exitLeftS: seconds(left(at, exitEnds)) };
    if (entryEnds !== undefined) delays[id] = { ...delays[id], entryLeftS: seconds(left(at, entryEnds)) };
  }
  return delays;
}

const seconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1000));

/** What a client can see changed between two states; states of one run share what did not change. */
export function changesBetween(before: SiteState, after: SiteState): Changes {
  return {
    partitions: changedKeys(before.partitions, after.partitions),
    zones: changedKeys(before.zones, after.zones),
    troubles: before.troubles !== after.troubles,
    links: before.links !== after.links,
  };
}

function changedKeys(
  before: Readonly<Record<string, object>>,
  after: Readonly<Record<string, object>>,
): readonly string[] {
  if (before === after) return [];
  const keys = Object.keys(after).filter((key) => own(before, key) !== after[key]);
  for (const key of Object.keys(before)) if (own(after, key) === undefined) keys.push(key);
  return keys;
}
