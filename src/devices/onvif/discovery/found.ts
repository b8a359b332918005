import { bareHost } from '#lib/host.ts';
import { isOwnSerial } from '../serial.ts';
import type { Candidate } from './collect.ts';
import type { Identity } from './identify.ts';
import { type Place, plainHost } from './places.ts';
import { readScopes } from './scopes.ts';

/** A device that was found. Its texts are its own words: to be cleaned before they are shown. */
export interface FoundDevice {
  /** Address for the configuration; undefined where none can be used there (IPv6 link-local only). */
  readonly url: string | undefined;
  /** All its addresses, the best first; IPv6 link-local with zone ids. */
  readonly addresses: readonly string[];
  readonly vendor?: string;
  readonly model?: string;
  readonly name?: string;
  readonly location?: string;
  readonly firmware?: string;
  readonly serial?: string;
  readonly mac?: string;
  /** Its WS-Discovery endpoint, mostly a UUID that holds its MAC. */
  readonly endpoint?: string;
  /** For `tls_fingerprint`, where no authority vouches for its certificate. */
  readonly fingerprint?: string;
  /** Undefined: not known. */
  readonly passwordNeeded?: boolean;
  readonly videoSources?: number;
  /** More than one video source, or a recorder by its own word. Undefined: it tells only who has a password. */
  readonly recorder?: boolean;
  /** Whether ONVIF answers at `url`. */
  readonly answers: boolean;
}

/** @param hosts who answered, by UDP or TCP */
export function deviceFrom(
  candidate: Candidate | undefined,
  identity: Identity | undefined,
  hosts: readonly string[],
): FoundDevice {
  const facts = readScopes(candidate?.scopes ?? []);
  const { information, fingerprint, passwordNeeded, videoSources } = identity ?? {};
  const places = [...(identity === undefined ? [] : [identity.place]), ...(candidate?.places ?? [])];
  const vendor = information?.manufacturer || facts.vendor;
  const model = information?.model || facts.hardware;
  const recorder = videoSources === undefined ? candidate?.records || undefined : videoSources > 1;
  return {
    url: places.find(({ url }) => !url.includes('%25'))?.url,
    addresses: addressesOf(places, hosts),
    ...given({ vendor, model, name: facts.name, location: facts.location, mac: facts.mac, fingerprint }),
    ...given({ firmware: information?.firmware, serial: information?.serial, endpoint: candidate?.endpoint }),
    ...(passwordNeeded !== undefined && { passwordNeeded }),
    ...(videoSources !== undefined && { videoSources }),
    ...(recorder !== undefined && { recorder }),
    answers: identity !== undefined,
  };
}

/** Leaves out what is empty. */
const given = <K extends string>(texts: Readonly<Record<K, string | undefined>>): Partial<Record<K, string>> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined && text !== '')) as Partial<
    Record<K, string>
  >;

function addressesOf(places: readonly Place[], hosts: readonly string[]): readonly string[] {
  const all = new Map<string, string>();
  for (const host of [...places.map((place) => place.host), ...hosts]) {
    const known = all.get(plainHost(host));
    if (known === undefined || !known.includes('%')) all.set(plainHost(host), bareHost(host));
  }
  return [...all.values()];
}

/** One device that was found twice, by its serial number or by the address of its service; sorted by address. */
export function mergeSame(devices: readonly FoundDevice[]): readonly FoundDevice[] {
  const merged: FoundDevice[] = [];
  for (const device of devices) {
    const at = merged.findIndex((known) => isSame(known, device));
    const known = merged[at];
    if (known === undefined) merged.push(device);
    else merged[at] = { ...device, ...known, addresses: [...new Set([...known.addresses, ...device.addresses])] };
  }
  return merged.sort((one, other) => order(one).localeCompare(order(other), 'en', { numeric: true }));
}

function isSame(one: FoundDevice, other: FoundDevice): boolean {
  if (one.url !== undefined && one.url === other.url) return true;
  const same = one.serial !== undefined && one.serial === other.serial;
  return same && one.vendor === other.vendor && one.model === other.model && isOwnSerial(one.serial ?? '');
}

const order = ({ addresses, url }: FoundDevice): string => `${addresses[0] ?? ''} ${url ?? ''}`;
