import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { describe } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { withDeadline } from '#lib/wait.ts';
import { ask } from './ask.ts';
import { type Candidate, createCollection } from './collect.ts';
import { deviceFrom, type FoundDevice, mergeSame } from './found.ts';
import { identify } from './identify.ts';
import type { Outlet } from './outlets.ts';
import { type Place, placeAt, plainHost } from './places.ts';
import { isOpen, usualPorts } from './ports.ts';
import type { Target } from './targets.ts';

export interface DiscoverOptions {
  /** These are asked one by one; without any everybody is asked through the outlets. */
  readonly targets: readonly Target[];
  readonly outlets: readonly Outlet[];
  /** How long answers by UDP are waited for. */
  readonly forMs: number;
  readonly clock: Clock;
  /** Ends it early; what was found until then is the result. */
  readonly signal: AbortSignal;
  readonly progress?: (progress: Progress) => void;
  /** UDP port; 3702 in the field. */
  readonly port?: number;
}

export type Progress =
  | { readonly step: 'asking'; readonly found: number }
  | { readonly step: 'identifying' | 'scanning'; readonly done: number; readonly of: number };

export interface Discovery {
  readonly devices: readonly FoundDevice[];
  /** What did not work on the way, in words. */
  readonly notes: readonly string[];
  /** Answers and devices beyond the bounds. */
  readonly left: number;
  /** False when it was ended early. */
  readonly complete: boolean;
}

const atOnce = 32;
const connectMs = 1000;
const identifyMs = 5000;
const longestMs = 20 * 60_000;

/**
 * Finds ONVIF devices and tells what they are. Adds nothing anywhere, and sends no credentials. Throws nothing for what the
 * network does.
 *
 * Why it is ours: the Discovery of the `onvif` package (0.8.3) asks through one IPv4 interface, one question with one type,
 * takes answers to anybody's question, mixes up several matches in one message, and an error on its socket ends the
 * process (notes onvif-clients, section 1; ADR 3).
 */
export async function discover(options: DiscoverOptions): Promise<Discovery> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(longestMs)]);
  const { targets, outlets, forMs, clock, port, progress } = options;
  const collection = createCollection();
  const hosts = await resolved(targets, signal);
  const plainTargets = hosts.found.filter(({ target }) => target.port === undefined && target.url === undefined);
  const asked = await ask({
    outlets: targets.length > 0 ? [] : outlets,
    addresses: plainTargets.map(({ address }) => address),
    forMs,
    signal,
    ...(port !== undefined && { port }),
    heard(answer, sender) {
      if (answer.kind === 'fault') collection.addFault(sender);
      else for (const match of answer.matches) collection.add(match, sender);
      progress?.({ step: 'asking', found: collection.size });
    },
  });
  const devices: FoundDevice[] = [];
  const candidates = collection.list();
  await inLanes(candidates, signal, async (candidate, done) => {
    progress?.({ step: 'identifying', done, of: candidates.length });
    devices.push(await known(candidate, { clock, signal }));
  });
  // Where nothing answered by UDP, the usual ports are tried: multicast and UDP are often blocked, HTTP is not.
  const silent = hosts.found.filter(
    ({ target, address }) => target.url !== undefined || !collection.heardFrom(address),
  );
  await inLanes(silent, signal, async ({ target, address }, done) => {
    progress?.({ step: 'scanning', done, of: silent.length });
    if (devices.length >= maxScanned) return;
    const identity = await scan(target, address, { clock, signal });
    if (identity !== undefined) devices.push(deviceFrom(undefined, identity, [address]));
  });
  return {
    devices: mergeSame(devices),
    notes: [...hosts.notes, ...asked.notes],
    left: asked.left + collection.left,
    complete: !signal.aborted,
  };
}

const maxScanned = 1000;

/** What is known of a candidate; also when nobody may be asked any more. */
async function known(candidate: Candidate, options: { clock: Clock; signal: AbortSignal }): Promise<FoundDevice> {
  const identity = await identify(candidate.places.slice(0, 4), { ...options, patienceMs: identifyMs }).catch(
    () => undefined,
  );
  return deviceFrom(candidate, identity, candidate.senders);
}

/**
 * The address of the ONVIF service of one device; where none is found, the one it would have. Throws only the signal's
 * reason.
 */
export async function serviceAt(target: Target, options: { clock: Clock; signal: AbortSignal }): Promise<string> {
  if (target.url !== undefined) return target.url;
  const found = await scan(target, target.host, options);
  const { host, port } = target;
  return (found?.place ?? placeAt(host, port === undefined ? {} : { port })).url;
}

async function scan(target: Target, address: string, options: { clock: Clock; signal: AbortSignal }) {
  const { signal } = options;
  const places =
    target.url === undefined ? await openPlaces(target, address, signal) : [{ url: target.url, host: address }];
  return identify(places, { ...options, patienceMs: identifyMs });
}

async function openPlaces({ host, port }: Target, address: string, signal: AbortSignal): Promise<readonly Place[]> {
  // One that has a name is configured by it: its address may change.
  const place = (at: number, scheme: string) => placeAt(host, { port: at, scheme });
  if (port !== undefined) return [place(port, 'http'), place(port, 'https')];
  const open = await Promise.all(
    usualPorts.map(({ port: at }) => isOpen(address, at, { timeoutMs: connectMs, signal })),
  );
  return usualPorts.filter((_, index) => open[index]).map(({ port: at, scheme }) => place(at, scheme));
}

interface Resolved {
  readonly target: Target;
  readonly address: string;
}

/** Names become their first address. */
async function resolved(
  targets: readonly Target[],
  signal: AbortSignal,
): Promise<{ found: readonly Resolved[]; notes: readonly string[] }> {
  const found: Resolved[] = [];
  const notes: string[] = [];
  await inLanes(targets, signal, async (target) => {
    try {
      const isAddress = isIP(target.host.replace(/%.*$/, '')) !== 0;
      const address = isAddress ? target.host : (await withDeadline(5000, signal, () => lookup(target.host))).address;
      found.push({ target, address });
    } catch (error) {
      if (!signal.aborted) notes.push(`${plainHost(target.host)}: ${describe(error)}`);
    }
  });
  return { found, notes };
}

/** Works on 32 at a time, in order. What fails once the signal has aborted is not told. */
async function inLanes<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, done: number) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let done = 0;
  const lane = async () => {
    for (const item of waiting) {
      await work(item, done).catch((error) => {
        if (!signal.aborted) throw error;
      });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}
