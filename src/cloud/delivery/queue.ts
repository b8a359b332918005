import { type Lane, lanes } from '#site/model/index.ts';
import { fileOf, type PendingRow } from '#site/store/index.ts';
import { heldUpUntil, overdueAlarm } from './held-up.ts';
import type { Aside, Chain, Item } from './item.ts';
import { unsuspected } from './suspicion.ts';

const notAside: Aside = { dueMono: 0, keepsPlace: false, endsWithLink: false, endsWithTaken: false };

/** 0 fresh alarm, 1 alarm, 2 arming, 3 trouble, 4 activity. */
const rankOf = (item: Item): number => (item.fresh ? 0 : laneRank[item.row.lane]);
const laneRank: Readonly<Record<Lane, number>> = { alarm: 1, arming: 2, trouble: 3, activity: 4 };

/** Ranks of fresh alarms, and of all alarms, are below these. */
export const belowFresh = 1;
export const belowAlarms = 2;

/**
 * The window of events in memory. Per key at most one is being sent, lower seq first, over the three lanes of
 * `site.db`; activity has chains of its own, because it must not hold an alarm up. Its caller bounds it.
 */
export class Queue {
  readonly #items = new Map<number, Item>();
  readonly #chains = new Map<string, Chain>();
  readonly #aside = new Set<Item>();
  readonly #perLane: Record<Lane, number> = { alarm: 0, arming: 0, trouble: 0, activity: 0 };
  /** Items that are in memory only and whose fate is open. */
  readonly #direct: Record<Lane, number> = { alarm: 0, arming: 0, trouble: 0, activity: 0 };
  #freshDirect = 0;
  #turns = 0;
  /** Fresh alarms that are not yet accepted. */
  #fresh = 0;
  #silent = 0;

  get size(): number {
    return this.#items.size;
  }

  /** Without silent events: what hangs on it may be seen (safety 4). */
  get shownSize(): number {
    return this.#items.size - this.#silent;
  }

  /** As anyone may see it: without silent events (safety 4). */
  shown(): { readonly size: number; readonly aside: number; readonly inFlight: number; readonly direct: number } {
    const counts = { size: this.shownSize, aside: 0, inFlight: 0, direct: 0 };
    for (const { row, state, direct } of this.#items.values()) {
      if (row.silent === true) continue;
      if (state === 'aside') counts.aside += 1;
      if (state === 'sending') counts.inFlight += 1;
      if (direct && state !== 'settling') counts.direct += 1;
    }
    return counts;
  }

  get asideCount(): number {
    return this.#aside.size;
  }

  /** Items whose fate is open. */
  get undecided(): number {
    return lanes.reduce((sum, lane) => sum + this.#perLane[lane], 0);
  }

  /** Fresh alarms that have rows and are not yet accepted. */
  get freshStored(): number {
    return this.#fresh - this.#freshDirect;
  }

  get(seq: number): Item | undefined {
    return this.#items.get(seq);
  }

  /** Items of a lane that are not yet accepted. */
  waiting(lane: Lane): number {
    return this.#perLane[lane];
  }

  /** Those of them that have rows. */
  stored(lane: Lane): number {
    return this.#perLane[lane] - this.#direct[lane];
  }

  add(row: PendingRow, kind: { direct: boolean; fresh: boolean }): Item {
    const item: Item = {
      row,
      direct: kind.direct,
      chain: this.#chainFor(row),
      fresh: kind.fresh && row.lane === 'alarm',
      state: 'waiting',
      tries: 0,
      suspicion: unsuspected,
      aside: notAside,
      sentMono: 0,
      heldUpSince: undefined,
    };
    this.#items.set(row.seq, item);
    item.chain.open += 1;
    this.#count(item, 1);
    if (row.silent === true) this.#silent += 1;
    this.#link(item);
    return item;
  }

  /**
   * The event to send next among those whose rank is below `belowRank` and that may go; marks nothing. One that may not
   * go holds up no other of its key. One that is `isPoor` comes after all others.
   */
  next(
    nowMono: number,
    belowRank: number,
    mayGo: (item: Item) => boolean = () => true,
    isPoor: (item: Item) => boolean = () => false,
  ): Item | undefined {
    // While nothing may be sent, no alarm is held up by older events of its key.
    if (belowRank <= 0) return undefined;
    let best: Item | undefined;
    let bestRank = belowRank;
    const offer = (item: Item, rank: number) => {
      const own = isPoor(item) ? rank + lanes.length + 1 : rank;
      if (own < bestRank || (own === bestRank && best !== undefined && goesBefore(item, best))) {
        best = item;
        bestRank = own;
      }
    };
    for (const chain of this.#chains.values()) {
      if (chain.rank > bestRank) continue;
      const head = chain.sending === 0 ? chain.items.find(mayGo) : undefined;
      // One set aside that keeps its place keeps that of the others too.
      if (head?.state === 'waiting')
        offer(head, head === chain.items[0] || chain.rank === 0 ? chain.rank : rankOf(head));
      const alone = chain.rank === 0 ? overdueAlarm(chain, nowMono) : undefined;
      // Before the older ones too: of a cloud that takes little, each turn would go to them. But in turns with those
      // that have not failed, or they would wait for the end of a storm.
      const isTurnOfOlder = chain.wentAlone && head?.state === 'waiting' && head.tries === 0;
      if (alone !== undefined && !isTurnOfOlder) offer(alone, -1);
    }
    for (const item of this.#aside) {
      // One the server fails on comes last in its rank: as a probe it would never let another show that all is well.
      const rank = rankOf(item) + (item.suspicion.failures > 0 ? 0.5 : 0);
      if (item.aside.dueMono <= nowMono && item.chain.sending === 0 && mayGo(item)) offer(item, rank);
    }
    return best;
  }

  /** No older event of its key waits here. */
  isFirst(item: Item): boolean {
    return item.chain.items[0] === item;
  }

  started(item: Item, nowMono: number): void {
    if (this.#aside.delete(item) && !item.aside.keepsPlace) this.#link(item);
    item.state = 'sending';
    item.sentMono = nowMono;
    item.tries += 1;
    item.chain.sending += 1;
    item.chain.wentAlone = !this.isFirst(item);
    this.#turns += 1;
    item.chain.turn = this.#turns;
  }

  /** The try failed for a reason that is not the event's: it waits in its place. */
  back(item: Item): void {
    this.#ended(item);
    item.state = 'waiting';
  }

  /** The event waits by itself; younger ones of its key may pass, unless it keeps its place. */
  setAside(item: Item, aside: Aside): void {
    this.#ended(item);
    if (!aside.keepsPlace) this.#unlink(item);
    item.state = 'aside';
    item.aside = aside;
    this.#aside.add(item);
  }

  /** The fate of the event is known; it stays here until that is on disk, so that it is not taken again. */
  decided(item: Item): void {
    this.#ended(item);
    this.#unlink(item);
    this.#aside.delete(item);
    item.state = 'settling';
    item.chain.open -= 1;
    if (item.chain.open === 0) this.#chains.delete(item.chain.key);
    this.#count(item, -1);
  }

  forget(item: Item): void {
    if (this.#items.delete(item.row.seq) && item.row.silent === true) this.#silent -= 1;
  }

  /**
   * It has a row now. One that was refused before goes: taken from the disk it can be parked like any other. One that keeps its
   * place stays: until it is read again, younger ones of its key would find nobody before them.
   */
  written(item: Item): void {
    if (item.state === 'aside' && !item.aside.keepsPlace) {
      this.drop(item);
      return;
    }
    this.#count(item, -1);
    item.direct = false;
    this.#count(item, 1);
  }

  /** Removes a waiting item without any verdict; only for rows that exist in memory alone. */
  drop(item: Item): void {
    this.decided(item);
    this.forget(item);
  }

  /** The oldest waiting direct item of the least important lane. */
  leastDirect(): Item | undefined {
    let worst: Item | undefined;
    for (const item of this.#items.values()) {
      if (!item.direct || item.state === 'sending' || item.state === 'settling') continue;
      if (worst === undefined || laneRank[item.row.lane] > laneRank[worst.row.lane]) worst = item;
    }
    return worst;
  }

  directCount(): number {
    return lanes.reduce((sum, lane) => sum + this.#direct[lane], 0);
  }

  /** Of more than `cap` items with rows that are set aside, the one set aside longest ago becomes due now. */
  hastenAside(cap: number): void {
    const stored = [...this.#aside].filter(({ direct }) => !direct);
    const oldest = stored.length > cap ? stored.find(({ aside }) => aside.dueMono !== 0) : undefined;
    if (oldest !== undefined) isDue(oldest);
  }

  /** Alarms up to this number are backlog from now on: what comes after an outage goes ahead of what came in it. */
  age(upTo: number): void {
    if (this.#fresh === 0) return;
    for (const item of this.#items.values()) {
      if (!item.fresh || item.direct || item.row.seq > upTo || item.state === 'settling') continue;
      const isLinked = item.state !== 'aside' || item.aside.keepsPlace;
      if (isLinked) this.#unlink(item);
      item.fresh = false;
      item.heldUpSince = undefined;
      this.#fresh -= 1;
      if (isLinked) this.#link(item);
    }
  }

  /** Everything set aside is due now, or what waits for such news. */
  asideIsDue(news: 'all' | 'link' | 'taken'): void {
    for (const item of this.#aside) {
      const { endsWithLink, endsWithTaken } = item.aside;
      if (news === 'all' || (news === 'link' ? endsWithLink : endsWithTaken)) isDue(item);
    }
  }

  /** The origin rests: how long alarms were held up by older events of their key is measured anew afterwards. */
  originRests(): void {
    if (this.#fresh === 0) return;
    for (const item of this.#items.values()) item.heldUpSince = undefined;
  }

  /** When the next item set aside, or the next alarm held up, is due; monotonic. */
  nextDueMono(): number {
    let due = Number.POSITIVE_INFINITY;
    for (const { aside } of this.#aside) due = Math.min(due, aside.dueMono);
    if (this.#fresh === 0) return due;
    for (const chain of this.#chains.values()) if (chain.rank === 0) due = Math.min(due, heldUpUntil(chain));
    return due;
  }

  /** When one that may be seen is tried next (safety 4), if nothing holds all of them back; infinite when none waits. */
  shownDueMono(): number {
    let due = Number.POSITIVE_INFINITY;
    for (const { row, state, aside, chain } of this.#items.values()) {
      if (row.silent === true || state === 'settling') continue;
      // What stands behind one that keeps its place waits for that.
      const isHeld = state === 'waiting' && chain.items[0]?.state === 'aside';
      if (!isHeld) due = Math.min(due, state === 'aside' ? aside.dueMono : 0);
    }
    return due;
  }

  #chainFor(row: PendingRow): Chain {
    const key = keyOf(row);
    let chain = this.#chains.get(key);
    if (chain === undefined) {
      chain = {
        key,
        items: [],
        open: 0,
        sending: 0,
        wentAlone: false,
        turn: 0,
        ranks: [0, 0, 0, 0, 0],
        rank: Number.POSITIVE_INFINITY,
      };
      this.#chains.set(key, chain);
    }
    return chain;
  }

  #link(item: Item): void {
    const { chain } = item;
    let place = chain.items.length;
    while (place > 0 && (chain.items[place - 1]?.row.seq ?? 0) > item.row.seq) place -= 1;
    chain.items.splice(place, 0, item);
    chain.ranks[rankOf(item)] = (chain.ranks[rankOf(item)] ?? 0) + 1;
    chain.rank = Math.min(chain.rank, rankOf(item));
  }

  #unlink(item: Item): void {
    const { chain } = item;
    const place = chain.items[0] === item ? 0 : chain.items.indexOf(item);
    if (place < 0) return;
    if (place === 0) chain.items.shift();
    else chain.items.splice(place, 1);
    const rank = rankOf(item);
    chain.ranks[rank] = (chain.ranks[rank] ?? 1) - 1;
    if (rank !== chain.rank || chain.ranks[rank] !== 0) return;
    const next = chain.ranks.findIndex((count) => count > 0);
    chain.rank = next < 0 ? Number.POSITIVE_INFINITY : next;
  }

  #count(item: Item, by: 1 | -1): void {
    const { lane } = item.row;
    this.#perLane[lane] += by;
    if (item.fresh) this.#fresh += by;
    if (!item.direct) return;
    this.#direct[lane] += by;
    if (item.fresh) this.#freshDirect += by;
  }

  #ended(item: Item): void {
    if (item.state === 'sending') item.chain.sending -= 1;
  }
}

const keyOf = ({ lane, orderKey }: PendingRow): string => `${fileOf(lane)} ${orderKey}`;

const goesBefore = (a: Item, b: Item): boolean =>
  a.chain.turn === b.chain.turn ? a.row.seq < b.row.seq : a.chain.turn < b.chain.turn;

const isDue = (item: Item): void => {
  item.aside = { ...item.aside, dueMono: 0 };
};
