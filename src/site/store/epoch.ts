import { randomUUID } from 'node:crypto';
import { topOf } from './missing.ts';
import { attempt } from './quiet.ts';
import type { SideFile } from './side.ts';
import type { SideKeeper } from './side-keeper.ts';
import type { SiteFile } from './site-file.ts';
import type { Carried } from './slot.ts';
import type { Durably } from './transactions.ts';

/** What the epoch rules found when `site.db` was opened last. */
export interface FoundEpoch {
  readonly epoch: number;
  readonly lastBoot: string | undefined;
  readonly id: string;
}

/**
 * A sound file that lacks what the side file knows to have been committed to it: a copy that was put back, or one without its
 * log. One that is healthy is never behind: the side file is written after what it says was committed.
 */
export const isBehind = (top: number, side: SideFile | undefined): boolean => top < (side?.last?.site ?? 0);

/**
 * The epoch rules: a new or set-aside file takes the side file's epoch + 1, a file older than the side file (put back
 * from a copy) too, by its epoch or within the same one by its events; what it says of the arming is then taken as that of a
 * backup (`restored`). A side file that is behind is written again. The database goes first: if the power fails between
 * the two, the database's higher epoch wins at the next start. A file that takes the place of one that was in use
 * (`carried`) goes on with its epoch, numbers and state: the core never stopped.
 */
export function claimEpoch(options: {
  readonly site: SiteFile;
  readonly damaged: boolean;
  /** Of the file that was in use before, in this run. */
  readonly found: FoundEpoch | undefined;
  readonly carried: Carried | undefined;
  readonly keeper: Pick<SideKeeper, 'side' | 'write'>;
  readonly bootId: string;
  readonly durably: Durably;
}): FoundEpoch {
  const { site, damaged, found, keeper, bootId, durably } = options;
  const { side } = keeper;
  const carried = damaged && found !== undefined ? options.carried : undefined;
  const own = carried === undefined ? site.meta('epoch') : String(found?.epoch);
  const known = own === undefined ? undefined : Number(own);
  const isOfNow = known !== undefined && known >= (side?.epoch ?? 0);
  // In a run that goes on the core knows better than any file; without a state of its own there is nothing to be mistaken for the present.
  const isOlder = isOfNow && found === undefined && site.meta('lost') !== '1' && isBehind(topOf(site), side);
  const keeps = isOfNow && !isOlder;
  const epoch = keeps ? known : Math.max(side?.epoch ?? 0, known ?? 0) + 1;
  const lost = site.meta('epoch') === undefined && (side !== undefined || damaged) && carried?.newest === undefined;
  const lastBoot = site.meta('boot');
  const id = site.meta('id') ?? side?.id ?? randomUUID();
  const write = () => {
    site.setMeta('epoch', String(epoch));
    site.setMeta('id', id);
    site.setMeta('boot', bootId);
    if (carried !== undefined) site.setReserved(carried.reserved);
    if (carried?.newest !== undefined) site.setState(carried.newest);
    // Stays until the core has written a state again: a second start must not take an empty store for a new site.
    if (lost) site.setMeta('lost', '1');
    if (isOlder) site.setMeta('restored', String(epoch));
  };
  // A full disk must not keep an existing store from starting; a new one has nothing to start with.
  if (keeps && carried === undefined) attempt(() => durably(site, write));
  else durably(site, write);
  if (side?.epoch !== epoch || side.id !== id) keeper.write({ epoch, id });
  return { epoch, lastBoot, id };
}
