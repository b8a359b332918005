import { readState, type SiteState, stateWriter } from './core/index.ts';

/**
 * The stored state carries the epoch it was written in. An older copy of the database that was put back has a new
 * epoch: what it says of the arming is history, and history never disarms a site (I3).
 */
export function stateSealer(): (state: SiteState, epoch: number) => readonly string[] {
  const write = stateWriter();
  return (state, epoch) => write(state, `${epoch}\n`);
}

export function unsealState(text: string, epoch: number): SiteState | undefined {
  const end = text.indexOf('\n');
  return Number(text.slice(0, end)) === epoch ? readState(text.slice(end + 1)) : undefined;
}
