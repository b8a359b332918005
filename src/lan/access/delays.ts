import { createHmac, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { isLoopback, withoutMapping } from '#lib/host.ts';

/** Tries that wait for nothing; then 1, 2, 4 ... 60 s. */
const freeTries = 5;
const longestMs = 60_000;
/**
 * Of an account: far shorter than of an address, so that whoever tries all the time waits for his own address while the
 * account is free for its owner.
 */
const longestOfAccountMs = 8000;
/** After so long without a wrong password it begins anew. */
const forgottenMs = 15 * 60_000;
export const addressCap = 1024;
/** Places of accounts, shared by all names by a keyed hash. */
export const accountPlaces = 1024;
const knownCap = 256;

/** One try, counted as wrong from the start: many at once do not get in under the delay. */
export interface Try {
  right(): void;
  /** It was not judged at all. */
  untried(): void;
}

/** Delays of logins. Nobody is locked out for good, and no address is banned (bans hit the own household first). */
export interface Delays {
  /** Milliseconds until this account may be tried from this address; 0 when now. */
  waitMs(account: string, address: string): number;
  begin(account: string, address: string): Try;
  /** On the machine itself, or from where this account came in before. */
  isTrusted(account: string, address: string): boolean;
  /** Entries that are held, all bounded. */
  readonly size: number;
}

interface Count {
  readonly wrong: number;
  readonly lastMono: number;
}

export function createDelays(clock: Clock): Delays {
  const addresses = new BoundedMap<string, Count>(addressCap);
  const accounts = new BoundedMap<string, Count>(2 * accountPlaces + knownCap);
  /** Account and address that came in together: who tries from elsewhere does not hold them up. */
  const known = new BoundedMap<string, true>(knownCap);
  const key = randomBytes(32);

  function left(counts: BoundedMap<string, Count>, name: string, longest: number): number {
    const { wrong, lastMono } = current(counts, name);
    return Math.max(0, lastMono + Math.min(longest, delayMs(wrong)) - clock.monotonic());
  }

  function current(counts: BoundedMap<string, Count>, name: string): Count {
    const found = counts.get(name);
    return found === undefined || clock.monotonic() - found.lastMono >= forgottenMs ? { wrong: 0, lastMono: 0 } : found;
  }

  function count(counts: BoundedMap<string, Count>, name: string): () => void {
    const before = current(counts, name);
    counts.set(name, { wrong: before.wrong + 1, lastMono: clock.monotonic() });
    return () => {
      const { wrong, lastMono } = current(counts, name);
      if (wrong <= 1) counts.delete(name);
      else counts.set(name, { wrong: wrong - 1, lastMono });
    };
  }

  /**
   * A name that is no account takes a place as any other, so that delays tell nothing of it. Tries from the network are counted
   * apart from those on the machine itself, and from those of an address that came in before.
   */
  function placeOf(account: string, address: string): string {
    const pair = pairOf(account, address);
    if (known.has(pair)) return pair;
    const place = mac(account).readUInt32BE() % accountPlaces;
    return `${isHere(address) ? 'here' : 'net'} ${place}`;
  }

  const mac = (text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const pairOf = (account: string, address: string): string => mac(`${account}\0${address}`).toString('base64url');

  return {
    waitMs(account, address) {
      const network = networkOf(address);
      const ofAccount = left(accounts, placeOf(account, network), longestOfAccountMs);
      return Math.max(left(addresses, network, longestMs), ofAccount);
    },
    begin(account, address) {
      const network = networkOf(address);
      const place = placeOf(account, network);
      const undo = [count(addresses, network), count(accounts, place)];
      return {
        right() {
          addresses.delete(network);
          accounts.delete(place);
          known.set(pairOf(account, network), true);
        },
        untried() {
          for (const one of undo) one();
        },
      };
    },
    isTrusted(account, address) {
      const network = networkOf(address);
      return isHere(network) || known.has(pairOf(account, network));
    },
    get size() {
      return addresses.size + accounts.size + known.size;
    },
  };
}

const delayMs = (wrong: number): number =>
  wrong < freeTries ? 0 : Math.min(longestMs, 1000 * 2 ** Math.min(wrong - freeTries, 6));

/** The machine itself, by the network or by the control socket. */
const isHere = (network: string): boolean => network === 'local' || isLoopback(network);

/** Who has one IPv6 address has the 2^64 beside it; an IPv4 address in the clothes of the other is one all the same. */
export function networkOf(address: string): string {
  const v4 = withoutMapping(address);
  if (v4 !== address) return v4;
  const bare = address.split('%')[0] ?? '';
  if (isIP(bare) !== 6 || bare === '::1') return address.slice(0, 64);
  const [head = '', tail] = bare.toLowerCase().split('::');
  const first = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - first.length - (tail === '' ? 0 : tail.split(':').length);
  const groups = [...first, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...(tail ?? '').split(':')];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
