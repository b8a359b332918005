import type { Clock } from '#lib/clock.ts';
import { lendRtsp } from '#lib/rtsp-door.ts';
import type { Secret } from '#lib/secret.ts';
import { authLatch } from './auth-latch.ts';
import type { CertificatePin } from './certificate-pin.ts';
import type { Device } from './device.ts';

/** Lends the streams of one device: its credentials, its certificate, and how often they may be refused. */
export interface StreamClient {
  /** See `Camera.readStream`. */
  lend<T>(url: string, work: (url: string) => Promise<T>): Promise<T>;
}

export function createStreamClient(options: {
  device: Device;
  password: Secret | undefined;
  pin: CertificatePin;
  clock: Clock;
  authHoldMs: number;
  /** Whoever reads on after it would see what may be another camera by then. */
  lifetime: AbortSignal;
}): StreamClient {
  const { device, password, pin, lifetime } = options;
  const { clear } = device;
  // As with pictures: streams may have users of their own, whose refusal must not end the events.
  const latch = authLatch(options.clock, options.authHoldMs);
  return {
    async lend(url, work) {
      device.latch.check();
      latch.check();
      await clear.recall();
      const basic = () => clear.check(new URL(url));
      const judged = (isAccepted: boolean, inClear: boolean) => {
        if (!isAccepted) latch.refused();
        else {
          latch.accepted();
          if (!inClear) clear.better();
          clear.answered();
        }
      };
      return lendRtsp({ url, username: device.username, password, judge: pin.judge, judged, basic }, work, lifetime);
    },
  };
}
