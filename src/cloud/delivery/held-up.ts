import type { Chain, Item } from './item.ts';

/** How long a fresh alarm waits for older events of its own key before it goes alone. */
const heldUpMs = 3_000;

/**
 * The first fresh alarm that waits behind older events of its key, and since when nothing but them keeps it: it does not
 * overtake another that has just gone alone, such as the alarm whose end it is.
 */
function firstHeldUp(chain: Chain): { alarm: Item | undefined; sinceMono: number } {
  let sinceMono = Number.NEGATIVE_INFINITY;
  for (const item of chain.items) {
    if (!item.fresh) continue;
    if (item.state === 'sending') sinceMono = Math.max(sinceMono, item.sentMono);
    if (item.state === 'waiting' && item.heldUpSince !== undefined)
      return { alarm: item, sinceMono: Math.max(sinceMono, item.heldUpSince) };
  }
  return { alarm: undefined, sinceMono };
}

/** A fresh alarm that has waited long enough for the older events of its key. */
export function overdueAlarm(chain: Chain, nowMono: number): Item | undefined {
  const [first] = chain.items;
  for (const item of chain.items)
    if (item.fresh && item.state === 'waiting' && (item !== first || chain.sending > 0)) item.heldUpSince ??= nowMono;
  const { alarm, sinceMono } = firstHeldUp(chain);
  return alarm !== undefined && nowMono - sinceMono >= heldUpMs ? alarm : undefined;
}

/** When the next of them goes alone, monotonic; infinite when none is held up. */
export function heldUpUntil(chain: Chain): number {
  const { alarm, sinceMono } = firstHeldUp(chain);
  return alarm === undefined ? Number.POSITIVE_INFINITY : sinceMono + heldUpMs;
}
