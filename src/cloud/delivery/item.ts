import type { PendingRow } from '#site/store/index.ts';
import type { Suspicion } from './suspicion.ts';

/** One event on its way out, in memory. */
export interface Item {
  readonly row: PendingRow;
  /** It could not be written: there is no row to settle. */
  direct: boolean;
  /** Its place in the order of its key. */
  readonly chain: Chain;
  /** An alarm that came while others wait: it goes ahead of the backlog. */
  fresh: boolean;
  state: 'waiting' | 'sending' | 'aside' | 'settling';
  tries: number;
  suspicion: Suspicion;
  /** Set aside: when it is tried again, and what else ends the wait. */
  aside: Aside;
  /** When its last try began, monotonic. */
  sentMono: number;
  /** Since when a fresh alarm waits for older events of its own key, monotonic. */
  heldUpSince: number | undefined;
}

export interface Aside {
  /** Monotonic. */
  readonly dueMono: number;
  /** It stays in the line of its key: only a fresh alarm that was held up long enough passes it. */
  readonly keepsPlace: boolean;
  readonly endsWithLink: boolean;
  /** An event that was new to the cloud was taken. */
  readonly endsWithTaken: boolean;
}

/** Events of one key; they leave in the order of seq, one at a time. */
export interface Chain {
  readonly key: string;
  /** By seq; without the items set aside, but for those that keep their place. */
  readonly items: Item[];
  /** Items whose fate is open, those set aside included; without any the chain is forgotten. */
  open: number;
  sending: number;
  /** When it had its last turn: of equal ranks the key whose turn is longest ago goes first, so that none waits for all of another. */
  turn: number;
  /** Its last turn was that of one that did not wait for the older ones. */
  wentAlone: boolean;
  /** How many of the items have each rank. */
  readonly ranks: number[];
  /** The best rank among the items: an alarm lifts the older events of its key, which must go before it. */
  rank: number;
}
