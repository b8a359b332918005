import type { ConfigChange, InspectedCamera } from '#lan/http/index.ts';
import { listOf, type Members, mapOf, textOf } from './pending.ts';

/** A camera or recorder that somebody is about to add, as it is typed. All functions are pure. */

export interface Place {
  readonly name: string;
  readonly zone: string;
  readonly zone_type: string;
  readonly partition: string;
  /** When pictures of it may be taken; empty: with an alarm alone. */
  readonly pictures: string;
}

export interface CameraWish extends Place {
  readonly id: string;
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Of the certificate that was approved. */
  readonly fingerprint: string;
}

/** A picture of a recorder that is to be watched. */
export interface ChannelWish extends Place {
  readonly id: string;
  readonly source: string;
}

export const noPlace: Place = { name: '', zone: '', zone_type: '', partition: '', pictures: '' };

const longest = 32;

/** An id as the configuration takes it, from a name, that nobody has yet. */
export function idFrom(name: string, taken: ReadonlySet<string>, otherwise = 'camera'): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll(/\p{Mark}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replaceAll(/^-+|-+$/g, '');
  const base = plain === '' ? otherwise : plain;
  for (let nth = 1; ; nth += 1) {
    const end = nth === 1 ? '' : `-${nth}`;
    const id = base.slice(0, longest - end.length) + end;
    if (!taken.has(id)) return id;
  }
}

/** The lowest numbers that no zone has. */
export function freeZones(taken: ReadonlySet<string>, count: number): readonly string[] {
  const free: string[] = [];
  for (let number = 1; free.length < count; number += 1) if (!taken.has(`${number}`)) free.push(`${number}`);
  return free;
}

/** Ids of cameras, recorders, channels and speakers as they will be. */
export function takenIds(config: Members, changes: readonly ConfigChange[]): ReadonlySet<string> {
  const devices = ['cameras', 'nvrs', 'speakers'].flatMap((section) => stayingOf(config, changes, section));
  const all = [...devices, ...addedOf(changes)].flatMap((entry) => [entry, ...listOf(entry, 'channels')]);
  return new Set(all.map((entry) => textOf(entry, 'id')));
}

/** Zone numbers that stand in the configuration or among what is to be saved, but for those of the camera or channel `except`. */
export function takenZones(config: Members, changes: readonly ConfigChange[], except = ''): ReadonlySet<string> {
  const others = (all: readonly Members[]) => all.filter(({ id }) => id === undefined || id !== except);
  const cameras = ['cameras', 'nvrs'].flatMap((section) => stayingOf(config, changes, section));
  const changed = changes.flatMap((one) => (one.do === 'change' && one.id !== except ? [one.members] : []));
  const devices = others([...cameras, ...addedOf(changes), ...changed]).flatMap((one) => [
    one,
    ...others(listOf(one, 'channels')),
  ]);
  const inputs = devices.flatMap((device) => Object.values(mapOf(device, 'inputs')) as Members[]);
  return new Set([
    ...listOf(config, 'panels').flatMap((panel) => Object.keys(mapOf(panel, 'zones'))),
    ...[...devices, ...inputs].map((one) => textOf(one, 'zone')).filter((zone) => zone !== ''),
  ]);
}

const stayingOf = (config: Members, changes: readonly ConfigChange[], section: string): readonly Members[] =>
  listOf(config, section).filter(
    ({ id }) => !changes.some((one) => one.do === 'remove' && one.section === section && one.id === id),
  );

const addedOf = (changes: readonly ConfigChange[]): readonly Members[] =>
  changes.flatMap((change) => (change.do === 'add' ? [change.entry] : []));

/** Members of name, zone and partition; null takes away what is empty. */
export function placeMembers({ name, zone, zone_type, partition, pictures }: Place): Members {
  const text = (value: string) => (value.trim() === '' ? null : value.trim());
  // Without a zone there is nothing that has a type; the partition still says whose pictures they are.
  const type = zone.trim() === '' ? null : text(zone_type);
  return { name: text(name), zone: text(zone), zone_type: type, partition: text(partition), pictures: text(pictures) };
}

export const placeOf = (entry: Members): Place => ({
  name: textOf(entry, 'name'),
  zone: textOf(entry, 'zone'),
  zone_type: textOf(entry, 'zone_type'),
  partition: textOf(entry, 'partition'),
  pictures: textOf(entry, 'pictures'),
});

/** With channels it is a recorder. */
export function addition(wish: CameraWish, channels: readonly ChannelWish[] | undefined): ConfigChange {
  const { id, url, username, password, fingerprint, name } = wish;
  const device = {
    id,
    ...filled(channels === undefined ? placeMembers(wish) : { name: name.trim() === '' ? null : name.trim() }),
    url: url.trim(),
    ...(username !== '' && { username }),
    ...(password !== '' && { password: { secret: password } }),
    ...(fingerprint !== '' && { tls_fingerprint: fingerprint }),
  };
  if (channels === undefined) return { do: 'add', section: 'cameras', entry: device };
  const watched = channels.map((one) => ({ id: one.id, ...filled(placeMembers(one)), source: one.source }));
  return { do: 'add', section: 'nvrs', entry: { ...device, channels: watched } };
}

/** A channel for each picture of a recorder. */
export function channelsOf(
  id: string,
  { sources }: Pick<InspectedCamera, 'sources'>,
  taken: ReadonlySet<string>,
): readonly ChannelWish[] {
  const ids = new Set([...taken, id]);
  return sources.map(({ token }, nth) => {
    const own = idFrom(`${id.slice(0, longest - 4)}-${nth + 1}`, ids);
    ids.add(own);
    return { ...noPlace, id: own, source: token };
  });
}

/** An address as somebody types it: a camera listens at the usual path unless another one is given. */
export function deviceUrl(typed: string): string {
  const text = typed.trim();
  const full = /^https?:\/\//i.test(text) ? text : `http://${text}`;
  try {
    const url = new URL(full);
    return url.pathname === '/' ? new URL('/onvif/device_service', url).href : url.href;
  } catch {
    return text;
  }
}

const filled = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
