import { isIP } from 'node:net';
import { heldAt, hostAndPort, type Place, placesIn, sameDevice } from '#box/known-cameras.ts';
import { readNeighbours } from '#box/neighbours.ts';
import type { Settings } from '#config/index.ts';
import {
  type Discovery,
  discover,
  type FoundDevice,
  type Inspected,
  inspectDevice,
  outlets,
  readTargets,
  type Target,
} from '#devices/onvif/index.ts';
import { type ErrorCode, SitewardError } from '#errors.ts';
import type { CameraEntry, FindCamerasPort, FoundCamera, InspectBody, InspectedCamera } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { bareHost } from '#lib/host.ts';
import { Secret } from '#lib/secret.ts';
import { withDeadline } from '#lib/wait.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { cleanWords } from '#site/model/index.ts';
import { alone } from './alone.ts';
import type { Note } from './audit-wiring.ts';
import { mustBeNear } from './lan-only.ts';

export interface FindCamerasOptions {
  readonly settings: () => Settings;
  /** What is known of the configured ones. */
  readonly cameras: () => readonly CameraEntry[];
  readonly note: Note;
  readonly clock: Clock;
}

/** As many as a /24 has. */
const maxAddresses = 256;
/** For looking at what answered, beyond the seconds that answers are waited for. */
const identifyMs = 30_000;
const inspectMs = 30_000;
/** Of a recorder of 128 channels. */
const maxSources = 128;
const longestUrl = 512;

/** Cameras that are not in the configuration yet. One search and one look at a time: small boxes, small cameras. */
export function findCamerasPort({ settings, cameras, note, clock }: FindCamerasOptions): FindCamerasPort {
  const searching = alone('the network is being searched');
  const asking = alone('another device is being asked');

  async function search(seconds: number, targets: readonly Target[], signal: AbortSignal): Promise<Discovery> {
    const ways = targets.length > 0 ? [] : outlets();
    if (targets.length === 0 && ways.length === 0)
      throw invalid('addresses', 'no network interface of this box has an address; give the addresses to ask');
    const forMs = seconds * 1000;
    const end = AbortSignal.any([signal, AbortSignal.timeout(forMs + identifyMs)]);
    const found = await discover({ targets, outlets: ways, forMs, clock, signal: end });
    signal.throwIfAborted();
    return found;
  }

  async function ask({ url, username, password }: InspectBody, host: string, signal: AbortSignal): Promise<Inspected> {
    const addresses = await mustBeNear({ host, port: portIn(url) }, { settings: settings(), field: 'url', signal });
    const held = username === undefined ? undefined : heldAt(cameras(), url);
    if (held !== undefined) throw restsFrom(held);
    const login = { username, password: password === undefined ? undefined : new Secret(password) };
    const about = { url: withAddress(url, addresses), ...login, followsRedirects: false, clock };
    try {
      return await withDeadline(inspectMs, signal, (until) => inspectDevice({ ...about, signal: until }), 'asking it');
    } catch (error) {
      throw signal.aborted ? error : inOurWords(error, username !== undefined);
    }
  }

  return {
    discover: ({ seconds, addresses }, signal) =>
      searching(async () => {
        const targets = await targetsOf(addresses, settings(), signal);
        const { devices } = await search(seconds, targets, signal);
        const { cameras: ofConfig, nvrs } = settings();
        const placeOf = await placesIn(devices, {
          configured: [...ofConfig, ...nvrs],
          cameras: cameras(),
          neighbours: await readNeighbours(),
        });
        return devices.map((device) => shownFound(device, placeOf(device)));
      }),

    inspect: (body, by, signal) =>
      asking(async () => {
        const { host, url } = deviceAt(body.url);
        const said = (reason?: ErrorCode) => void note(auditNotes.inspected(by, hostAndPort(url), reason));
        const found = await ask({ ...body, url }, host, signal).catch((error: unknown) => {
          said(error instanceof SitewardError ? error.code : 'stopped');
          throw error;
        });
        said();
        return shownInspected(found, sameDevice(cameras(), found));
      }),
  };
}

const invalid = (field: string, message: string) => new SitewardError('request_invalid', message, { facts: { field } });

async function targetsOf(
  texts: readonly string[],
  settings: Settings,
  signal: AbortSignal,
): Promise<readonly Target[]> {
  const all: Target[] = [];
  for (const [at, text] of texts.entries()) {
    const field = `addresses.${at}`;
    const targets = read(text, field);
    all.push(...targets);
    if (all.length > maxAddresses) throw invalid(field, `at most ${maxAddresses} addresses are asked at once`);
    for (const target of targets)
      await mustBeNear({ host: target.host, port: portOf(target) }, { settings, field, signal });
  }
  return readTargets(texts);
}

function read(text: string, field: string): readonly Target[] {
  try {
    return readTargets([text]);
  } catch (error) {
    throw error instanceof SitewardError ? invalid(field, error.message) : error;
  }
}

/** The address of the service, with the usual path where none is named. */
function deviceAt(text: string): { readonly host: string; readonly url: string } {
  const [target] = read(text, 'url');
  if (target?.url === undefined)
    throw invalid('url', 'this is no address such as http://192.0.2.10/onvif/device_service');
  return { host: target.host, url: target.url };
}

/** With the address that was looked at in the place of a name; a certificate is of the name. */
function withAddress(text: string, addresses: readonly string[]): string {
  const url = new URL(text);
  if (url.protocol !== 'http:' || isIP(bareHost(url.hostname)) !== 0) return text;
  const address = addresses.find((one) => isIP(one) === 4) ?? addresses[0];
  if (address !== undefined) url.hostname = isIP(address) === 6 ? `[${address}]` : address;
  return url.href;
}

const portOf = ({ port, url }: Target): number | undefined => (url === undefined ? port : portIn(url));

const portIn = (url: string): number => Number(hostAndPort(url).replace(/^.*:/, ''));

const restsFrom = ({ id, heldS }: { readonly id: string; readonly heldS: number }) =>
  new SitewardError(
    'camera_auth',
    `this is ${id}, which refused its password a short time ago; more tries may lock the account`,
    { facts: { retryAfterMs: heldS * 1000 } },
  );

/** What a foreign server answers is shown to nobody: it may be anything in this network. */
function inOurWords(error: unknown, hasLogin: boolean): unknown {
  if (!(error instanceof SitewardError)) return error;
  const text = hasLogin && error.code === 'camera_auth' ? words.camera_refuses : words[error.code];
  return text === undefined ? error : new SitewardError(error.code, text, { cause: error });
}

const words: Readonly<Partial<Record<ErrorCode | 'camera_refuses', string>>> = {
  camera_auth: 'it wants user and password',
  camera_refuses:
    'it refuses user or password; many lock the account after a few more tries, so be sure before the next one',
  camera_bad_answer: 'what answers there is no ONVIF device: is ONVIF switched on in it, and is this its address?',
  camera_certificate: 'it does not show one certificate only: somebody may be in between',
  camera_fault: 'it speaks ONVIF and does not tell what it is',
  camera_unreachable: 'no connection: check power, cable, address and port',
  deadline: 'it did not answer in time',
};

const cleanCap = 200;
const clean = (text: string): string => cleanWords(text, cleanCap);
const cleanOrNull = (text: string | undefined): string | null => (text === undefined ? null : clean(text));

function shownFound(device: FoundDevice, { configured, moved }: Place): FoundCamera {
  const { url, addresses, vendor, model, name, recorder, passwordNeeded, answers } = device;
  return {
    url: url !== undefined && url.length <= longestUrl ? url : null,
    addresses: addresses.slice(0, 8).map(clean),
    ...{ vendor: cleanOrNull(vendor), model: cleanOrNull(model), name: cleanOrNull(name) },
    ...{ recorder: recorder ?? null, password_needed: passwordNeeded ?? null, answers },
    // One that answers at its own address as well has two, and is where the configuration says.
    configured: configured ?? (moved?.isMissing === false ? moved.id : null),
    moved_from: moved?.isMissing === true ? moved.id : null,
  };
}

function shownInspected(found: Inspected, sameAs: string | undefined): InspectedCamera {
  const { manufacturer, model, firmware, serial, clockOffsetS, certificate, authenticated, events, profiles } = found;
  return {
    ...{ manufacturer: clean(manufacturer), model: clean(model), firmware: clean(firmware), serial: clean(serial) },
    clock_offset_s: clockOffsetS ?? null,
    tls_fingerprint: certificate === undefined || certificate.vouched ? null : certificate.fingerprint,
    ...{ authenticated, events, profiles: profiles.length },
    sources: found.sources.slice(0, maxSources).map(({ token, resolution }) => ({
      token: clean(token),
      ...(resolution !== undefined && { resolution: clean(resolution) }),
    })),
    same_as: sameAs ?? null,
  };
}
