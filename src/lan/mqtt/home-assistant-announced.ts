import { z } from 'zod';
import { configBytes, type HaComponent, type HaConfig, type HaDevice, isDeviceOf } from './home-assistant-devices.ts';

/** What Home Assistant was told, and what must be said so that it forgets what is no more. Pure. */

/** By device id: the platform of each of its components, by key. */
export type Told = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Kept over a restart: a broker may lose what was retained, Home Assistant does not. */
export interface Announced {
  readonly prefix: string;
  readonly slug: string;
  readonly devices: Told;
  /** Topics under another prefix, or of the site under another id, that are still to be cleared. */
  readonly old: readonly string[];
}

const announced = z.strictObject({
  prefix: z.string(),
  slug: z.string(),
  devices: z.record(z.string(), z.record(z.string(), z.string())),
  old: z.array(z.string()),
});

export function readAnnounced(text: string): Announced | undefined {
  try {
    return announced.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export const toldOf = (devices: readonly HaDevice[]): Told =>
  Object.fromEntries(
    devices.map(({ id, config }) => [
      id,
      Object.fromEntries(Object.entries(config.components).map(([key, { platform }]) => [key, platform])),
    ]),
  );

export const union = (one: Told, other: Told): Told => ({
  ...one,
  ...Object.fromEntries(Object.entries(other).map(([id, components]) => [id, { ...one[id], ...components }])),
});

export const topicOf = (prefix: string, id: string): string => `${prefix}/device/${id}/config`;

/** The last of them; a site has one prefix and one id for years. */
const oldCap = 200;

/** Ids or topics are others now: nothing of the old can be handed over, so its topics are cleared. */
export function oldTopics(known: Announced | undefined, prefix: string, slug: string): readonly string[] {
  if (known === undefined) return [];
  if (known.prefix === prefix && known.slug === slug) return known.old;
  return [...known.old, ...Object.keys(known.devices).map((id) => topicOf(known.prefix, id))].slice(-oldCap);
}

const discovered = z.object({ components: z.record(z.string(), z.object({ platform: z.string() })) });

/** What a retained discovery of this site has said; undefined for any other. */
export function readDiscovery(slug: string, id: string, payload: Uint8Array): Told | undefined {
  if (!isDeviceOf(slug, id)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(payload).toString());
  } catch {
    value = undefined;
  }
  const components = discovered.safeParse(value).data?.components ?? {};
  return { [id]: Object.fromEntries(Object.entries(components).map(([key, { platform }]) => [key, platform])) };
}

export interface Announcement {
  /** To be said once, in this order, before anything else. */
  readonly once: readonly { readonly id: string; readonly payload: string }[];
  /** Devices that are no more: their topics are cleared after everything else. */
  readonly gone: readonly string[];
}

/** At most so many are named, the last of them: of a Home Assistant that never comes nothing may pile up. */
const vanishedCap = 500;

/**
 * A component that is no more is named once by its platform alone, then left out. One that goes to another device is handed
 * over: `migrate_discovery` on the old topic, so that it keeps its name and place in Home Assistant.
 */
export function announcement(told: Told, devices: readonly HaDevice[]): Announcement {
  const wanted = new Map(devices.map((device) => [device.id, device]));
  const homes = new Map(
    devices.flatMap(({ id, config }) => Object.keys(config.components).map((key): [string, string] => [key, id])),
  );
  const once = Object.entries(told).flatMap(([id, components]) => {
    const vanished = Object.entries(components)
      .filter(([key]) => !homes.has(key))
      .slice(-vanishedCap);
    const isMoved = Object.keys(components).some((key) => homes.has(key) && homes.get(key) !== id);
    const device = wanted.get(id);
    // The whole device goes: that clears its topic, and needs no word for each of its components.
    if (device === undefined && !isMoved) return [];
    return [
      ...(vanished.length > 0 ? [{ id, payload: JSON.stringify(without(id, device, vanished)) }] : []),
      ...(isMoved ? [{ id, payload: JSON.stringify({ migrate_discovery: true }) }] : []),
    ];
  });
  return { once, gone: Object.keys(told).filter((id) => !wanted.has(id)) };
}

function without(id: string, device: HaDevice | undefined, vanished: readonly (readonly [string, string])[]): HaConfig {
  const removed: Record<string, HaComponent> = Object.fromEntries(
    vanished.map(([key, platform]) => [key, { platform }]),
  );
  const alone = { device: { identifiers: [id] }, origin: { name: 'siteward' }, components: removed };
  if (device === undefined) return alone;
  const whole = { ...device.config, components: { ...device.config.components, ...removed } };
  // What a message leaves out stays as it was.
  return Buffer.byteLength(JSON.stringify(whole)) <= configBytes ? whole : { ...device.config, components: removed };
}
