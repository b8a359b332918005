import type { postEvent } from '#cloud/contract/index.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { Answer } from '#lib/contract/client.ts';
import type { MediaRow, PendingRow, Store } from '#site/store/index.ts';
import { type Address, readAddresses } from './addresses.ts';
import type { Judgement } from './outcome.ts';

/** What there is for one file: an address, a reason to wait, or a reason why there will never be one. */
export type Found =
  | { readonly kind: 'address'; readonly address: Address }
  /** `tell` is there once: from now on it is only tried every hour. */
  | { readonly kind: 'wait'; readonly tell?: string }
  | { readonly kind: 'never'; readonly reason: string };

/** What became of one try to send an event. */
export interface Sent {
  readonly judgement: Judgement;
  /** The answer, when the event was accepted. */
  readonly answer: Answer<typeof postEvent> | undefined;
}

/**
 * Upload addresses by event, in memory only. When there is none, or it has expired, the event is sent once more under
 * its id, which gives fresh ones (S-165). After three rounds without an upload that is done once an hour, and given up
 * after seven days of it.
 */
export interface AddressBook {
  /** An event was accepted; its answer may hold addresses. */
  accepted(row: PendingRow, answer: Answer<typeof postEvent>): void;
  addressFor(row: MediaRow, signal: AbortSignal): Promise<Found>;
  /** The addresses of the event do not work. */
  useless(eventId: string, reason: string): void;
  /** A file of the event was uploaded. */
  useful(eventId: string): void;
}

export interface AddressBookOptions {
  readonly store: Pick<Store, 'events' | 'row'>;
  readonly clock: Clock;
  /** Whether the event still waits to be sent. */
  readonly isWaiting: (seq: number) => boolean;
  /** Whether the cloud can be asked now. */
  readonly mayAsk: () => boolean;
  readonly send: (row: PendingRow, signal: AbortSignal) => Promise<Sent>;
}

interface Entry {
  readonly row: PendingRow;
  addresses: readonly (Address & { readonly untilMono: number })[];
  rounds: number;
  askAfterMono: number;
  /** The last round. */
  askedMono: number;
  /** Since when it is tried every hour only. */
  hourlySinceMono: number | undefined;
  /** Why there is no address now. */
  reason: string;
  /** Place of each file among those of its kind, by its index in the event. */
  places: ReadonlyMap<number, number> | undefined;
  asking: Promise<void> | undefined;
}

const maxRounds = 3;
const hourMs = 3_600_000;
/** Counted while siteward runs: no file is given up because the machine was off or its clock was set. */
const givenUpMs = 7 * 24 * hourMs;
/** Before the cloud is asked again after it gave no address, or could not be asked. */
const pauseMs = 60_000;
/** An address this close to its end is not used any more. */
const marginMs = 5_000;

export function createAddressBook(options: AddressBookOptions): AddressBook {
  const { clock, store } = options;
  const entries = new BoundedMap<string, Entry>(1_000);

  function take(row: PendingRow, answer: Answer<typeof postEvent>): Entry {
    const serverWall = Date.parse(answer.headers.date ?? '');
    const found = readAddresses(answer.json, Number.isNaN(serverWall) ? clock.wall() : serverWall);
    const known = entries.get(row.eventId) ?? newEntry(row);
    known.addresses = found.map((address) => ({ ...address, untilMono: answer.headMono + address.lifeMs - marginMs }));
    known.rounds += 1;
    known.askedMono = clock.monotonic();
    known.askAfterMono = found.length === 0 ? clock.monotonic() + pauseMs : 0;
    known.reason = found.length === 0 ? 'the answer to the event held no upload address' : 'the address has expired';
    entries.set(row.eventId, known);
    return known;
  }

  async function entryOf(row: MediaRow): Promise<Entry | Found> {
    const known = entries.get(row.eventId);
    if (known !== undefined) return known;
    const [record] = await store.events({ limit: 1, beforeSeq: row.seq + 1, withSilent: true });
    // A refused event may be put back in line by a technician; its pictures are worth keeping until then.
    const isUndecided = record?.delivery === 'waiting' || record?.delivery === 'parked';
    if (record?.seq !== row.seq || isUndecided) return { kind: 'wait' };
    if (record.delivery === 'local') return { kind: 'never', reason: 'the event is not sent to the cloud' };
    // After a restart: the event was accepted before, its addresses are forgotten.
    const pending = await store.row({ seq: row.seq, lane: row.lane });
    if (pending === undefined) return { kind: 'never', reason: 'the event can no longer be sent again' };
    const entry = newEntry(pending);
    entries.set(row.eventId, entry);
    return entry;
  }

  async function ask(entry: Entry, signal: AbortSignal): Promise<void> {
    const { judgement, answer } = await options.send(entry.row, signal);
    if (answer !== undefined) {
      take(entry.row, answer);
      return;
    }
    entry.reason = judgement.reason;
    entry.askedMono = clock.monotonic();
    entry.askAfterMono = clock.monotonic() + Math.max(pauseMs, judgement.retryAfterMs ?? 0);
    // A line that is down is no round; a refusal is.
    if (judgement.row.action.do === 'again') entry.rounds += 1;
  }

  async function placeOf(entry: Entry, row: MediaRow): Promise<number> {
    if (entry.places === undefined) {
      const [record] = await store.events({ limit: 1, beforeSeq: row.seq + 1, withSilent: true });
      entry.places = placesOf(record?.seq === row.seq ? record.media : []);
    }
    return entry.places.get(row.index) ?? row.index;
  }

  /** After three rounds: once an hour, told at the first time, for seven days. Undefined when the hour is over. */
  function hourly(entry: Entry, now: number): Found | undefined {
    const isFirst = entry.hourlySinceMono === undefined;
    entry.hourlySinceMono ??= now;
    if (now - entry.hourlySinceMono >= givenUpMs)
      return { kind: 'never', reason: `no useful upload address for 7 days: ${entry.reason}` };
    if (now - entry.askedMono >= hourMs) return undefined;
    const tell = `no useful upload address in ${maxRounds} rounds, tried every hour from now on: ${entry.reason}`;
    return isFirst ? { kind: 'wait', tell } : { kind: 'wait' };
  }

  return {
    accepted(row, answer) {
      if (announcesMedia(row.body)) take(row, answer);
    },
    async addressFor(row, signal) {
      if (options.isWaiting(row.seq)) return { kind: 'wait' };
      const entry = await entryOf(row);
      if ('kind' in entry) return entry;
      const now = clock.monotonic();
      const ofKind = entry.addresses.filter(({ kind }) => kind === row.kind);
      const address = ofKind[await placeOf(entry, row)];
      if (address !== undefined && address.untilMono > now) return { kind: 'address', address };
      const pause = entry.rounds >= maxRounds ? hourly(entry, now) : undefined;
      if (pause !== undefined) return pause;
      // Fewer addresses than announced: the others are used, this file waits for the next round.
      if (now < entry.askAfterMono || !options.mayAsk()) return { kind: 'wait' };
      entry.asking ??= ask(entry, signal).finally(() => {
        entry.asking = undefined;
      });
      await entry.asking;
      const fresh = entry.addresses.filter(({ kind }) => kind === row.kind)[await placeOf(entry, row)];
      if (fresh === undefined || fresh.untilMono <= clock.monotonic()) {
        entry.askAfterMono = Math.max(entry.askAfterMono, clock.monotonic() + pauseMs);
        return { kind: 'wait' };
      }
      return { kind: 'address', address: fresh };
    },
    useless(eventId, reason) {
      const entry = entries.get(eventId);
      if (entry === undefined) return;
      entry.addresses = [];
      entry.reason = reason;
    },
    useful(eventId) {
      const entry = entries.get(eventId);
      if (entry === undefined) return;
      entry.rounds = 1;
      entry.hourlySinceMono = undefined;
    },
  };
}

const newEntry = (row: PendingRow): Entry => ({
  row,
  addresses: [],
  rounds: 0,
  askAfterMono: 0,
  askedMono: Number.NEGATIVE_INFINITY,
  hourlySinceMono: undefined,
  reason: 'no address yet',
  places: undefined,
  asking: undefined,
});

function placesOf(media: readonly { index: number; kind: string }[]): Map<number, number> {
  const counts = new Map<string, number>();
  const places = new Map<number, number>();
  for (const { index, kind } of [...media].sort((a, b) => a.index - b.index)) {
    const place = counts.get(kind) ?? 0;
    places.set(index, place);
    counts.set(kind, place + 1);
  }
  return places;
}

/** Our own encoder writes these members one after another. */
const announcesMedia = (body: string): boolean =>
  !body.includes('"upload_snapshot_count":0,"upload_short_mp4":false,"upload_event_mp4":false');
