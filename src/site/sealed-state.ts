import { readState, type SiteState, stateWriter } from './core/index.ts';

/**
 * The stored state carries the epoch it was written in. An older copy of the database that was put back has a new
 * epoch: what it says of the arming is history, and history never disarms a site (I3).
 */
export function stateSealer(): (state: SiteState, epoch: number) => readonly string[] {
  const write = stateWriter();
  return (state, epoch) => write(state, `${epoch}\n`);
}

/**
 * `restored`: a person has put a backup in place. What was armed in it is armed, as whoever armed it wanted; who was disarmed then may have
 * armed since, so that is unknown until somebody says (I3, safety 2).
 */
export function unsealState(text: string, epoch: number, { restored }: { restored: boolean }): SiteState | undefined {
  const end = text.indexOf('\n');
  const isOwn = Number(text.slice(0, end)) === epoch;
  if (!isOwn && !restored) return undefined;
  const state = readState(text.slice(end + 1));
  return state === undefined || isOwn ? state : notDisarmed(state);
}

const notDisarmed = (state: SiteState): SiteState => ({
  ...state,
  partitions: Object.fromEntries(
    Object.entries(state.partitions).map(([id, partition]) => [
      id,
      partition.state === 'disarmed' ? { ...partition, state: 'unknown', mode: null } : partition,
    ]),
  ),
});
