import { isIPv4 } from 'node:net';
import type { Match } from './messages.ts';
import { type Place, placesOf, plainHost } from './places.ts';

/** One device as its answers by UDP tell it. */
export interface Candidate {
  readonly endpoint: string;
  readonly scopes: readonly string[];
  readonly records: boolean;
  readonly places: readonly Place[];
  /** Who sent the answers, with zone ids. */
  readonly senders: readonly string[];
}

interface Entry {
  endpoint: string;
  readonly scopes: Set<string>;
  records: boolean;
  readonly places: Map<string, Place>;
  readonly senders: Set<string>;
  /** Host and port of its places at its own addresses. */
  readonly own: Set<string>;
  readonly reported: Set<string>;
}

const maxDevices = 1000;

/** Gathers answers and merges those of one device; holds at most 1,000 devices, more are counted in `left`. */
export interface Collection {
  add(match: Match, sender: string): void;
  /** A device lives at this address, and that is all that is known. */
  addFault(sender: string): void;
  heardFrom(address: string): boolean;
  list(): readonly Candidate[];
  readonly size: number;
  readonly left: number;
}

export function createCollection(cap = maxDevices): Collection {
  const entries: Entry[] = [];
  const faults = new Set<string>();
  const senders = new Set<string>();
  let left = 0;

  function add(match: Match, sender: string): void {
    const incoming = entryOf(match, sender);
    const known = entries.find((entry) => isSame(entry, incoming));
    if (known !== undefined) merge(known, incoming);
    else if (entries.length < cap) entries.push(incoming);
    else left += 1;
    senders.add(plainHost(sender));
  }

  return {
    add,
    addFault(sender) {
      if (faults.size < cap) faults.add(sender);
    },
    heardFrom: (address) => senders.has(plainHost(address)),
    list() {
      const silent = [...faults].filter((sender) => !senders.has(plainHost(sender)));
      const all = [...entries, ...silent.map((sender) => entryOf(nothing, sender))];
      return all.slice(0, cap).map((entry) => ({
        endpoint: entry.endpoint,
        scopes: [...entry.scopes],
        records: entry.records,
        places: ranked(entry),
        senders: [...entry.senders],
      }));
    },
    get size() {
      return entries.length;
    },
    get left() {
      return left;
    },
  };
}

const nothing: Match = { endpoint: '', scopes: [], xaddrs: [], records: false };

function entryOf({ endpoint, scopes, xaddrs, records }: Match, sender: string): Entry {
  const places = placesOf(xaddrs, sender);
  const from = plainHost(sender);
  return {
    endpoint,
    scopes: new Set(scopes),
    records,
    places: new Map(places.map((place) => [place.url, place])),
    senders: new Set([sender]),
    own: new Set(places.filter(({ host }) => plainHost(host) === from).map(({ url }) => url)),
    reported: new Set(xaddrs.flatMap((text) => plainHost(URL.parse(text.replace(/%[^\]/]*\]/, ']'))?.hostname ?? ''))),
  };
}

/**
 * One device, when both answers lead to one address, or when they name one endpoint; but cheap firmware gives all cameras
 * of a series one endpoint, so two IPv4 addresses that do not know of each other are two devices.
 */
function isSame(one: Entry, other: Entry): boolean {
  if (other.own.size > 0 && [...other.own].some((url) => one.own.has(url))) return true;
  if (one.endpoint === '' || one.endpoint !== other.endpoint) return false;
  const [from = ''] = [...other.senders].map(plainHost);
  const alike = [...one.senders].map(plainHost).filter((sender) => isIPv4(sender) === isIPv4(from));
  if (alike.length === 0 || alike.includes(from)) return true;
  return one.reported.has(from) || alike.some((sender) => other.reported.has(sender));
}

function merge(into: Entry, from: Entry): void {
  if (into.endpoint === '') into.endpoint = from.endpoint;
  into.records ||= from.records;
  for (const scope of from.scopes) if (into.scopes.size < 128) into.scopes.add(scope);
  for (const [url, place] of from.places) if (into.places.size < 12) into.places.set(url, place);
  for (const sender of from.senders) if (into.senders.size < 8) into.senders.add(sender);
  for (const url of from.own) if (into.own.size < 8) into.own.add(url);
  for (const host of from.reported) if (into.reported.size < 16) into.reported.add(host);
}

/** IPv4 first, and what the device answered from before what it only reported; link-local last. */
function ranked(entry: Entry): readonly Place[] {
  const rank = ({ host, url }: Place) =>
    (url.includes('%25') || host.startsWith('169.254.') ? 4 : 0) +
    (entry.own.has(url) ? 0 : 2) +
    (isIPv4(host) ? 0 : 1);
  const all = [...entry.places.values()].map((place) => ({ place, at: rank(place) }));
  const routable = all.filter(({ at }) => at < 4);
  return (routable.length > 0 ? routable : all).sort((one, other) => one.at - other.at).map(({ place }) => place);
}
