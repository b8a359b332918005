import type { DeviceRef, Signal } from '#site/model/index.ts';
import { deviceName } from './events.ts';
import { setTrouble } from './trouble.ts';
import type { LinkState } from './types.ts';
import { own, setPartition, setZones, type Work } from './work.ts';

type LinkSignal = Extract<Signal, { kind: 'link' }>;
type Holdable = Extract<Signal, { kind: 'zone' | 'partition' }>;

/** True when every layer that was heard is up, false when one is down, null while nothing was heard. */
export function linkUp(link: LinkState | undefined): boolean | null {
  if (link === undefined || (link.bridge === null && link.device === null)) return null;
  return link.bridge !== false && link.device !== false;
}

export const deviceUp = (work: Work, source: DeviceRef): boolean | null =>
  linkUp(own(work.state.links, deviceName(source)));

/**
 * The link to a panel or camera. Going down freezes what is known: a panel's partitions become stale, a camera's
 * zones become unknown; no open or close is invented. Going up lets retained knowledge count.
 */
export function linkSignal(work: Work, signal: LinkSignal): void {
  const { source, layer, up, reason } = signal;
  const key = deviceName(source);
  const before = own(work.state.links, key);
  if (before?.[layer] === up) return;
  const base: LinkState = before ?? { bridge: null, device: null, since: work.at.wall };
  const link: LinkState = {
    bridge: layer === 'bridge' ? up : base.bridge,
    device: layer === 'device' ? up : base.device,
    since: work.at.wall,
    ...(reason === undefined ? {} : { reason }),
  };
  work.state = { ...work.state, links: { ...work.state.links, [key]: link } };
  const was = linkUp(before);
  const is = linkUp(link);
  if (was === is) return;
  const kind = source.kind === 'panel' ? 'panel_offline' : 'device_offline';
  setTrouble(work, { kind, source, active: is === false, detail: reason });
  if (source.kind === 'panel' && is === false) markStale(work, source.id);
  if (source.kind === 'camera' || source.kind === 'nvr') resetCamera(work, source, is === true);
}

/** The panel is heard again: what it had retained counts now. Returns it in the order it came. */
export function release(work: Work, source: DeviceRef): readonly Holdable[] {
  if (deviceUp(work, source) !== true) return [];
  const released: Holdable[] = [];
  const kept: Record<string, Signal> = {};
  for (const [key, signal] of Object.entries(work.state.held)) {
    const mine = deviceName(signal.source) === deviceName(source);
    if (mine && (signal.kind === 'zone' || signal.kind === 'partition')) released.push(signal);
    else kept[key] = signal;
  }
  if (released.length > 0) work.state = { ...work.state, held: kept };
  return released;
}

/**
 * Retained knowledge of a panel counts only while its link is up (arming-sync 6); until then the newest of each
 * partition and zone is kept. Bounded by the plan. True when it was kept and must not be used yet.
 */
export function hold(work: Work, signal: Holdable, key: string): boolean {
  if (!signal.replay || signal.source.kind !== 'panel' || deviceUp(work, signal.source) === true) return false;
  const before = own(work.state.held, key);
  const held = before === undefined ? signal : { ...before, ...signal };
  work.state = { ...work.state, held: { ...work.state.held, [key]: held } };
  work.rules.add('I6');
  return true;
}

/** The states of a panel's partitions are the last ones known until it speaks. */
export function markStale(work: Work, panel: string): void {
  for (const plan of work.plan.partitions) {
    if (plan.authority === 'engine' || plan.panel !== panel) continue;
    if (own(work.state.partitions, plan.id)?.stale === false) setPartition(work, plan.id, { stale: true });
  }
}

/** What a camera sees is not known while it is away, and is told anew when it is back. */
function resetCamera(work: Work, source: DeviceRef, online: boolean): void {
  work.state = { ...work.state, seeing: { ...work.state.seeing, [source.id]: [] } };
  setZones(
    work,
    work.plan.zones.flatMap((zone) => {
      const state = own(work.state.zones, zone.number);
      if (zone.source.kind !== source.kind || zone.source.id !== source.id || state === undefined) return [];
      return [{ ...state, online, open: null, at: work.at.wall }];
    }),
  );
}
