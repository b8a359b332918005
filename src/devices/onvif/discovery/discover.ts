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
import { knock, usualPorts } from './ports.ts';
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
  | { readonly step: 'knocking' | 'identifying' | 'scanning'; readonly done: number; readonly of: number };

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
/** So few addresses are asked by UDP also where nobody takes a connection. */
const askedAnyway = 8;
const identifyMs = 5000;
const longestMs = 20 * 60_000;

/**
 * Finds ONVIF devices and tells what they are. Adds nothing anywhere, and sends no credentials. Throws nothing for what the
 * network does.
 *
 * Why it is ours: the Discovery of the `onvif` package (0.8.3) asks through one IPv4 interface, one question with one type,
 * takes answers to anybody's question, mixes up several matches in one message, and an error on its socket ends the
 * process (ADR 3).
 */
export async function discover(options: DiscoverOptions): Promise<Discovery> {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(longestMs)]);
  const { targets, outlets, forMs, clock, port, progress } = options;
  const collection = createCollection();
  const hosts = await resolved(targets, signal);
  const plain = hosts.found.filter(isPlain);
  const living = await knockAtAll(plain, signal, (done) => progress?.({ step: 'knocking', done, of: plain.length }));
  const asked = await ask({
    outlets: targets.length > 0 ? [] : outlets,
    addresses: plain.flatMap(({ address }) => (plain.length <= askedAnyway || living.has(address) ? [address] : [])),
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
  // Where nothing answered by UDP, HTTP is tried: UDP is often blocked.
  const silent = hosts.found.filter((one) => !isPlain(one) || !collection.heardFrom(one.address));
  await inLanes(silent, signal, async ({ target, address }, done) => {
    progress?.({ step: 'scanning', done, of: silent.length });
    if (devices.length >= maxScanned) return;
    const places = placesAt(target, address, living.get(address) ?? []);
    const identity = await identify(places, { clock, signal, patienceMs: identifyMs });
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
  const { host, port, url } = target;
  if (url !== undefined) return url;
  const open = port === undefined ? await openPorts(host, options.signal) : [];
  const found = await identify(placesAt(target, host, open ?? []), { ...options, patienceMs: identifyMs });
  return (found?.place ?? placeAt(host, port === undefined ? {} : { port })).url;
}

/**
 * The addresses where somebody lives, with their open ports. Questions by UDP to an address where nobody does would fill
 * the socket's buffer until the system gives the address up, some 90 datagrams every three seconds: a network of 4,096
 * would never be asked to its end.
 */
async function knockAtAll(all: readonly Resolved[], signal: AbortSignal, progress: (done: number) => void) {
  const living = new Map<string, readonly number[]>();
  await inLanes(all, signal, async ({ address }, done) => {
    progress(done);
    const open = await openPorts(address, signal);
    if (open !== undefined) living.set(address, open);
  });
  return living;
}

/** Undefined where nobody answers at any of the usual ports. */
async function openPorts(address: string, signal: AbortSignal): Promise<readonly number[] | undefined> {
  const results = await Promise.all(
    usualPorts.map(({ port }) => knock(address, port, { timeoutMs: connectMs, signal })),
  );
  if (results.every((result) => result === 'silent')) return undefined;
  return usualPorts.flatMap(({ port }, at) => (results[at] === 'open' ? [port] : []));
}

/** One that has a name is configured by it: its address may change. */
function placesAt({ host, port, url }: Target, address: string, open: readonly number[]): readonly Place[] {
  if (url !== undefined) return [{ url, host: address }];
  if (port !== undefined) return [placeAt(host, { port }), placeAt(host, { port, scheme: 'https' })];
  return usualPorts.flatMap(({ port: at, scheme }) => (open.includes(at) ? [placeAt(host, { port: at, scheme })] : []));
}

interface Resolved {
  readonly target: Target;
  readonly address: string;
}

/** Neither port nor service is given: WS-Discovery tells them. */
const isPlain = ({ target }: Resolved): boolean => target.port === undefined && target.url === undefined;

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
