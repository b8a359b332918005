import type { DeviceRef, SignalOf, SitePlan, ZonePlan, ZoneState } from '#site/model/index.ts';
import { calmSoon } from './calm.ts';
import { faultsAmong, sightsAmong } from './camera-levels.ts';
import { deviceName } from './events.ts';
import { conditionChanged } from './supervision.ts';
import { clearTimer, isRunning, now, since } from './timers.ts';
import type { Holdable, LinkState } from './types.ts';
import { change, own, setPartition, setZones, type Work, without } from './work.ts';
import { behaviour } from './zones.ts';

type LinkSignal = SignalOf<'link'>;
type ZoneSignal = SignalOf<'zone'>;

/** True when every layer that was heard is up, false when one is down, null while nothing was heard. */
export function linkUp(link: LinkState | undefined): boolean | null {
  if (link === undefined || (link.bridge === null && link.device === null)) return null;
  return link.bridge !== false && link.device !== false;
}

/** The device whose link a source hangs on: a channel is heard while its recorder is. */
export function carrierOf(plan: SitePlan, source: DeviceRef): DeviceRef {
  const nvr = source.kind === 'camera' ? plan.cameras.find(({ id }) => id === source.id)?.nvr : undefined;
  return nvr === undefined ? source : { kind: 'nvr', id: nvr };
}

const linkOf = (work: Work, source: DeviceRef): LinkState | undefined =>
  own(work.state.links, deviceName(carrierOf(work.plan, source)));

export const deviceUp = (work: Work, source: DeviceRef): boolean | null => linkUp(linkOf(work, source));

/** What waited in a broker for a client that was away comes within so long after the link. */
const queueMs = 10_000;

/** Heard for a while: what a device tells now happens now, and did not wait somewhere while nobody listened. */
export function isSteady(work: Work, source: DeviceRef): boolean {
  const link = linkOf(work, source);
  return linkUp(link) === true && link?.upAt !== undefined && since(work.at, link.upAt) >= queueMs;
}

/**
 * What a camera tells as new a while after its return begins then, whatever was known before it went: many never tell how
 * things stand, so the end of the one before may have gone unheard.
 */
export const isAfterReturn = (work: Work, { source, replay }: { source: DeviceRef; replay: boolean }): boolean =>
  source.kind !== 'panel' && !replay && isSteady(work, source);

/**
 * The link to a panel or camera. Going down freezes what is known: a panel's partitions become stale, a camera's
 * zones become unknown; no open or close is invented. Going up lets retained knowledge count.
 */
export function linkSignal(work: Work, signal: LinkSignal): void {
  const { source, layer, up, anew, reason } = signal;
  const key = deviceName(source);
  const before = own(work.state.links, key);
  if (before?.[layer] === up) {
    // After a reload: what went on between the two sessions was told by neither.
    if (anew === true && linkUp(before) === true) {
      work.state = { ...work.state, links: { ...work.state.links, [key]: { ...before, upAt: now(work.at) } } };
      resetCamera(work, source, true);
    }
    return;
  }
  const base: LinkState = before ?? { bridge: null, device: null, since: work.at.wall };
  const link: LinkState = {
    bridge: layer === 'bridge' ? up : base.bridge,
    device: layer === 'device' ? up : base.device,
    since: work.at.wall,
    ...(reason === undefined ? {} : { reason }),
  };
  const was = linkUp(before);
  const is = linkUp(link);
  const upAt = is !== true ? undefined : was === true ? before?.upAt : now(work.at);
  const noted = upAt === undefined ? link : { ...link, upAt };
  work.state = { ...work.state, links: { ...work.state.links, [key]: noted } };
  if (was === is) return;
  const kind = source.kind === 'panel' ? 'panel_offline' : 'device_offline';
  conditionChanged(work, { kind, source, active: is === false, detail: reason });
  if (source.kind === 'panel' && is === false) {
    markStale(work, source.id);
    forgetKeySwitches(work, source);
  }
  if (source.kind === 'camera' || source.kind === 'nvr') resetCamera(work, source, is === true);
}

/**
 * The panel is heard again: what it had retained counts now. In an order of its own, partitions first: the one it came in says
 * nothing, since a broker sends what is retained as it likes (I1).
 */
export function release(work: Work, source: DeviceRef): readonly Holdable[] {
  if (deviceUp(work, source) !== true) return [];
  const released: Holdable[] = [];
  const kept: Record<string, Holdable> = {};
  const inOrder = Object.entries(work.state.held).toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [key, signal] of inOrder) {
    if (deviceName(signal.source) === deviceName(source)) released.push(signal);
    else kept[key] = signal;
  }
  if (released.length > 0) work.state = { ...work.state, held: kept };
  return released;
}

/**
 * Retained knowledge of a panel counts only while its link is up; until then the newest of each
 * partition and zone is kept, as far as the panel has said nothing newer. Bounded by the plan. True when it was kept
 * and must not be used yet.
 */
export function hold(work: Work, signal: Holdable, key: string): boolean {
  const before = own(work.state.held, key);
  if (!signal.replay && before !== undefined) overtake(work, before, signal, key);
  if (!signal.replay || signal.source.kind !== 'panel' || deviceUp(work, signal.source) === true) return false;
  const held = before === undefined ? signal : { ...before, ...signal };
  work.state = { ...work.state, held: { ...work.state.held, [key]: held } };
  work.rules.add('I6');
  return true;
}

const levels = ['open', 'alarm', 'tamper', 'bypassed', 'lowBattery', 'online'] as const;

/** What is told live is newer than what was retained of the same (I1). */
function overtake(work: Work, before: Holdable, live: Holdable, key: string): void {
  const { held } = work.state;
  const isWhole = before.kind !== 'zone' || live.kind !== 'zone' || levels.every((level) => isOld(before, live, level));
  if (isWhole) work.state = { ...work.state, held: without(held, key) };
  else {
    const old = levels.filter((level) => isOld(before, live, level)).map((level) => [level, undefined]);
    work.state = { ...work.state, held: { ...held, [key]: change(before, Object.fromEntries(old)) } };
  }
}

const isOld = (before: ZoneSignal, live: ZoneSignal, level: (typeof levels)[number]): boolean =>
  before[level] === undefined || live[level] !== undefined;

/** The states of a panel's partitions are the last ones known until it speaks. */
export function markStale(work: Work, panel: string): void {
  for (const plan of work.plan.partitions) {
    if (plan.authority === 'engine' || plan.panel !== panel) continue;
    if (own(work.state.partitions, plan.id)?.stale === false) setPartition(work, plan.id, { stale: true });
  }
}

/** Where a key switch stands is not known while its panel is away: turning it meanwhile disarms nothing (I3). */
function forgetKeySwitches(work: Work, source: DeviceRef): void {
  setZones(
    work,
    work.plan.zones.flatMap((zone) => {
      const state = own(work.state.zones, zone.number);
      const isMine = deviceName(zone.source) === deviceName(source) && behaviour(zone).group === 'key';
      return isMine && state !== undefined ? [{ ...state, open: null, at: work.at.wall }] : [];
    }),
  );
}

/** What a camera, or every channel of a recorder, sees is not known while it is away, and is told anew when it is back. */
function resetCamera(work: Work, source: DeviceRef, online: boolean): void {
  const hangsOnIt = (one: DeviceRef) => deviceName(carrierOf(work.plan, one)) === deviceName(source);
  const channels = work.plan.cameras.filter(({ id }) => hangsOnIt({ kind: 'camera', id }));
  const ids = [source, ...channels].map(({ id }) => id);
  keepSeen(work, ids);
  const blank = ids.map((id) => [id, faultsAmong(own(work.state.seeing, id) ?? [])]);
  work.state = { ...work.state, seeing: { ...work.state.seeing, ...Object.fromEntries(blank) } };
  for (const zone of work.plan.zones) if (hangsOnIt(zone.source)) resetZone(work, zone, online);
}

/** Told again as present, it is what was seen before. A second interruption before that takes nothing away. */
export function keepSeen(work: Work, ids: readonly string[]): void {
  const seen = ids.flatMap((id) => {
    const sights = sightsAmong(own(work.state.seeing, id) ?? []);
    return sights.length === 0 ? [] : [[id, sights] as const];
  });
  if (seen.length === 0) return;
  work.state = { ...work.state, seenBefore: { ...work.state.seenBefore, ...Object.fromEntries(seen) } };
}

/** A zone of which nothing is known any more but that it was in alarm. */
export const unheardZone = ({ heard: _, ...state }: ZoneState): ZoneState => ({ ...state, open: null });

function resetZone(work: Work, zone: ZonePlan, online: boolean): void {
  const state = own(work.state.zones, zone.number);
  if (state === undefined) return;
  const isSilent = behaviour(zone).silent;
  // A silent zone always looks closed (safety 4).
  const unheard = isSilent ? state : unheardZone(state);
  setZones(work, [{ ...unheard, online, at: work.at.wall }]);
  if (isSilent) {
    const { silent, silentBefore = [] } = work.state;
    if (own(silent, zone.number) !== true || silentBefore.includes(zone.number)) return;
    work.state = { ...work.state, silentBefore: [...silentBefore, zone.number] };
  } else if (!online) {
    // The minute of a pulse runs on; that of what may still last begins anew with the return.
    if (state.open !== false) clearTimer(work, 'calm', { zone: zone.number });
  } else if (!isRunning(work, 'calm', { zone: zone.number })) calmSoon(work, zone);
}
