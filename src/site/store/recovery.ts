import { randomUUID } from 'node:crypto';
import { crashPoint } from '#lib/crash-point.ts';
import type { BulkFile } from './bulk-file.ts';
import { type FoundEpoch, isBehind } from './epoch.ts';
import { lanePick } from './lanes.ts';
import { Numbers } from './numbers.ts';
import { type Peek, peek } from './peek.ts';
import { attempt, succeeds } from './quiet.ts';
import type { SideFile } from './side.ts';
import { reservedAhead, type SiteFile } from './site-file.ts';
import type { Recovery } from './types.ts';

/** The store as it was just opened; a file that cannot be used is undefined. */
export interface Found {
  readonly site: SiteFile | undefined;
  readonly bulk: BulkFile | undefined;
  /** Where `site.db` should lie. */
  readonly path: string;
  /** As this start has written it. */
  readonly side: SideFile | undefined;
  /** A store was here before this start. */
  readonly hadStore: boolean;
  readonly epoch: FoundEpoch | undefined;
  /** `site.db` was set aside and is being filled again. */
  readonly isMending: boolean;
  readonly wall: () => number;
}

/** What the core needs to go on, and the first order number; sets the event numbers aside that may be used now. */
export function recover(found: Found): { recovery: Recovery; nextOrder: number } {
  const { site, bulk, side, epoch, hadStore } = found;
  const { pending: waiting = [] } = site?.outbox.counts ?? {};
  const { pending: activity = [] } = bulk?.outbox.counts ?? {};
  const seen: Partial<Peek> = site === undefined ? (peek(found.path) ?? {}) : {};
  const { order, pieces } = site?.state() ?? { order: seen.order ?? 0, pieces: seen.pieces };
  const state = pieces?.join('');
  const { used, top, isReserved } = claimNumbers(found, seen.top);
  const unopened = unopenedEpoch(seen, side);
  // Numbers that could not be set aside on disk (it is full) may be given again in the next life: other ids then.
  const known = isReserved ? epoch?.id : undefined;
  const isLost =
    site === undefined
      ? hadStore && state === undefined
      : site.meta('lost') === '1' || (order > 0 && state === undefined);
  return {
    recovery: {
      epoch: epoch?.epoch ?? unopened.epoch,
      storeId: known ?? randomUUID(),
      nextSeq: top + 1,
      lastSeq: used,
      hidden: attempt(() => hiddenIn([site, bulk], { used, top })) ?? 0,
      state,
      lost: isLost,
      restored: epoch === undefined ? unopened.isOlder : site?.meta('restored') === String(epoch.epoch),
      lastBoot: epoch?.lastBoot ?? seen.lastBoot,
      pending: lanePick((lane) => (waiting[lane] ?? 0) + (activity[lane] ?? 0)),
    },
    nextOrder: Math.max(order, bulk?.lastOrder() ?? 0, site?.audit.lastCommit ?? 0) + 1,
  };
}

/** As `claimEpoch` will have it once the file can be opened: an older copy is no more the present for being read only. */
function unopenedEpoch({ epoch, last = 0 }: Partial<Peek>, side: SideFile | undefined) {
  const known = side?.epoch ?? 0;
  if (epoch === undefined) return { epoch: side?.epoch ?? 1, isOlder: false };
  const isOlder = epoch >= known && isBehind(last, side);
  return { epoch: isOlder || epoch < known ? Math.max(epoch, known) + 1 : epoch, isOlder };
}

/**
 * Silent events that the numbers leave out from here on. Where all that was set aside was jumped over, those up to the moment at
 * which it was: so the width of the jump does not tell how many there were since (safety 4).
 */
function hiddenIn(files: readonly (SiteFile | BulkFile | undefined)[], { used, top }: { used: number; top: number }) {
  const numbers = new Numbers(files.flatMap((file) => file?.db ?? []));
  const hidden = numbers.hidden();
  // While siteward runs at least half of what it sets aside is unused; after a clean stop hardly anything is left of it.
  if (top - used < reservedAhead / 2) return hidden;
  const before = Math.max(0, top - reservedAhead);
  return Math.min(hidden, before - numbers.numberOf(before));
}

/** The highest number that was used as far as is known, the highest that may have been, and whether those above could be set aside. */
function claimNumbers(
  { site, bulk, side, isMending, wall }: Found,
  seen = 0,
): { used: number; top: number; isReserved: boolean } {
  const used = Math.max(site?.outbox.maxSeq() ?? 0, bulk?.outbox.maxSeq() ?? 0, side?.last?.site ?? 0);
  const known = Math.max(used, site?.reserved ?? 0, seen, side?.reserved ?? 0);
  // Nothing tells which numbers were used; the wall clock in milliseconds is above them all.
  const isUnknown = side?.reserved === undefined && (site === undefined || isMending);
  const top = isUnknown ? Math.max(known, wall()) : known;
  if (site === undefined) return { used, top, isReserved: false };
  const isReserved = succeeds(() => {
    site.reserve(top);
    crashPoint('reserve.written');
    if (top > used) site.setMeta('skipped', String(Number(site.meta('skipped') ?? 0) + top - used));
  });
  return { used, top, isReserved };
}
