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
