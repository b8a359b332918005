import type { Clock } from '#lib/clock.ts';
import type { Secret } from '#lib/secret.ts';
import { type CertificatePin, certificatePin, type ShownCertificate } from './certificate-pin.ts';
import { createDevice } from './device.ts';
import { createReads, type DeviceInformation, ignoreRefusedOperation, type VideoSource } from './reads.ts';
import { fieldTiming } from './timing.ts';

/** What a device says of itself to who knows its password. */
export interface Inspected extends DeviceInformation {
  /** How far its clock is ahead of ours; undefined where it tells none. */
  readonly clockOffsetS?: number;
  /** Undefined for http. */
  readonly certificate?: ShownCertificate;
  /** Whether it wanted user and password. */
  readonly authenticated: boolean;
  /** Whether it names a service for events. */
  readonly events: boolean;
  readonly profiles: readonly { readonly token: string; readonly name: string }[];
  /** What it sees by: one of a camera, one for each channel of a recorder; empty where it does not tell. */
  readonly sources: readonly VideoSource[];
}

/**
 * Asks a device once, as a person adds it: clock, information, services, profiles. A wrong password is refused by it twice
 * at most. The certificate it shows first is the one that counts for all that follows, unless `fingerprint` names one.
 * Throws what `Device.call` throws, `camera_auth` among it, and `camera_certificate`.
 */
export async function inspectDevice(options: {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  readonly fingerprint?: string | undefined;
  /** Whether a redirect to the same host is followed; true unless set. */
  readonly followsRedirects?: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<Inspected> {
  const { url, username, password, fingerprint, clock, signal } = options;
  const pin = noted(certificatePin({ configured: fingerprint }));
  const device = createDevice({
    ...{ url, username, password, pin, clock, authHoldMs: fieldTiming.authHoldMs },
    redirects: options.followsRedirects === false ? 0 : undefined,
  });
  const reads = createReads(device);
  try {
    await device.readClock(signal).catch(ignoreRefusedOperation);
    const information = await reads.deviceInformation(signal);
    const events = await reads.services(signal);
    // Some devices tell anybody what they are: only this shows whether the password is right.
    const profiles = await reads.profiles(signal, true).catch((error: unknown) => ignoreRefusedOperation(error) ?? []);
    const sources = await reads.videoSources(signal);
    const clockOffsetS = device.clock.offsetS;
    return {
      ...information,
      ...(clockOffsetS !== undefined && { clockOffsetS }),
      ...(pin.shown !== undefined && { certificate: pin.shown }),
      authenticated: device.account.wasAccepted('events') === true,
      events: events !== undefined,
      profiles,
      sources,
    };
  } finally {
    device.close();
  }
}

function noted(pin: CertificatePin): CertificatePin & { readonly shown: ShownCertificate | undefined } {
  let shown: ShownCertificate | undefined;
  return {
    async judge(certificate, host, silent) {
      shown ??= certificate;
      await pin.judge(certificate, host, silent);
    },
    trust: (fingerprint) => pin.trust(fingerprint),
    trusted: () => pin.trusted(),
    get refused() {
      return pin.refused;
    },
    get shown() {
      return shown;
    },
  };
}
