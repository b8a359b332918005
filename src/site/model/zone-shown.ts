import type { DeviceRef } from './ids.ts';
import type { SiteView } from './view.ts';
import { dangerTypes, type ZoneState, type ZoneType } from './zone.ts';

/**
 * Whether a zone is open, as everybody is shown it; null while nothing was heard of that. A detector of danger that tells no more than
 * its alarm has tripped while it is in alarm, and is closed once it has said that it is in none.
 */
export function openShown(type: ZoneType, state: ZoneState | undefined): boolean | null {
  if (state === undefined) return null;
  if (state.open !== null || !dangerTypes.has(type)) return state.open;
  return state.alarm ? true : state.heard === true ? false : null;
}

/** Whether a zone is heard: itself, and what it hangs on, which after a start is away until then where it was so before. */
export function zoneOnline(
  { links, troubles }: Pick<SiteView, 'links' | 'troubles'>,
  source: DeviceRef,
  state: ZoneState | undefined,
): boolean {
  if (state?.online !== true) return false;
  const isIt = (one: { readonly source: DeviceRef }) => one.source.kind === source.kind && one.source.id === source.id;
  const isUp = links.find(isIt)?.up ?? null;
  return isUp ?? !troubles.some((trouble) => trouble.kind === 'panel_offline' && isIt(trouble));
}
