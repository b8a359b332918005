import { isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { withDeadline } from '#lib/wait.ts';
import { certificatePin } from '../certificate-pin.ts';
import { createDevice, type Device } from '../device.ts';
import { createReads, type DeviceInformation } from '../reads.ts';
import { seeCertificate } from './certificate.ts';
import type { Place } from './places.ts';

/** What a device says over HTTP to who has no password. */
export interface Identity {
  readonly place: Place;
  /** SHA-256 of the certificate of an https device that no authority vouches for. */
  readonly fingerprint?: string;
  /** Undefined: it did not let itself be asked. */
  readonly passwordNeeded?: boolean;
  readonly information?: DeviceInformation;
  readonly videoSources?: number;
}

export interface IdentifyOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For each place. */
  readonly patienceMs: number;
}

/**
 * The first place where ONVIF answers, and what it tells. No credentials are ever sent. Undefined where none answers;
 * throws only the signal's reason.
 */
export async function identify(places: readonly Place[], options: IdentifyOptions): Promise<Identity | undefined> {
  const { patienceMs, signal } = options;
  for (const place of places) {
    // No URL holds the zone id of a link-local address.
    if (place.url.includes('%25')) continue;
    try {
      return await withDeadline(patienceMs, signal, (own) => identifyAt(place, { ...options, signal: own }), 'asking');
    } catch {
      signal.throwIfAborted();
    }
  }
  return undefined;
}

/** Throws when nothing there speaks ONVIF. */
async function identifyAt(place: Place, { clock, signal, patienceMs }: IdentifyOptions): Promise<Identity> {
  const url = new URL(place.url);
  const seen = url.protocol === 'https:' ? await seeCertificate(url, patienceMs, signal) : undefined;
  const fingerprint = seen === undefined || seen.trusted ? undefined : seen.fingerprint;
  const pin = certificatePin({ configured: fingerprint });
  const device = createDevice({ url: place.url, pin, clock, authHoldMs: 60_000 });
  try {
    await device.readClock(signal).catch((error) => {
      // A fault is ONVIF too.
      if (!isCode(error, 'camera_fault')) throw error;
    });
    const told = await tells(device, signal).catch(() => {
      signal.throwIfAborted();
      return {};
    });
    return { place, ...(fingerprint !== undefined && { fingerprint }), ...told };
  } finally {
    device.close();
  }
}

type Told = Pick<Identity, 'passwordNeeded' | 'information' | 'videoSources'>;

async function tells(device: Device, signal: AbortSignal): Promise<Told> {
  try {
    const reads = createReads(device);
    const information = await reads.deviceInformation(signal);
    // Some answer an empty form to whoever has no password.
    if (information.manufacturer === '' && information.model === '') return {};
    await reads.services(signal).catch(() => undefined);
    const { length } = await reads.videoSources(signal).catch(() => []);
    return { passwordNeeded: false, information, ...(length > 0 && { videoSources: length }) };
  } catch (error) {
    if (isCode(error, 'camera_auth')) return { passwordNeeded: true };
    throw error;
  }
}
