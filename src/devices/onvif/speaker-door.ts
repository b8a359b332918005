import type { Secret } from '#lib/secret.ts';
import { unlessAborted } from '#lib/wait.ts';
import type { CertificatePin, ShownCertificate } from './certificate-pin.ts';
import type { Device } from './device.ts';
import type { Login } from './login.ts';

/** How whoever plays on the speaker of a device is let in: by the account of its events, pictures and streams. */
export interface SpeakerDoor {
  readonly credentials: { readonly username: string; readonly password: Secret } | undefined;
  /** Takes what earlier runs know of the account; before anything else is asked here. */
  recall(): Promise<void>;
  /** Resolves when the password may be sent, once per connection. `over` aborts with that. Throws as `Device.call`. */
  enter(signal: AbortSignal, over: AbortSignal): Promise<void>;
  judged(isAccepted: boolean): void;
  /** Throws `camera_auth` where the password must not be sent in clear. */
  mayGoInClear(): void;
  /** Throws `camera_certificate` where another device seems to answer. */
  judge(shown: ShownCertificate, host: string): Promise<void>;
}

export function createSpeakerDoor(options: {
  device: Device;
  login: Login;
  password: Secret | undefined;
  pin: CertificatePin;
}): SpeakerDoor {
  const { device, login, password, pin } = options;
  const { account, clear, username } = device;
  /** Of the one that is under way; one at a time is let in (`Login.at`). */
  let verdict = Promise.withResolvers<void>();

  return {
    credentials: username === undefined || password === undefined ? undefined : { username, password },
    async recall() {
      await Promise.all([device.recall(), clear.recall()]);
    },
    enter(signal, over) {
      return new Promise((resolve, reject) => {
        const mine = async () => {
          signal.throwIfAborted();
          verdict = Promise.withResolvers();
          if (account.wasAccepted('speaker') !== true) await device.trying('speaker');
          resolve();
          await unlessAborted(verdict.promise, over).catch(() => undefined);
        };
        login.at('speaker', signal, mine).catch(reject);
      });
    },
    judged(isAccepted) {
      void device.judged('speaker', isAccepted);
      verdict.resolve();
    },
    // Whoever plays says it himself: no warning of the camera comes of it.
    mayGoInClear: () => clear.check(new URL(`http://${device.base.host}`), true),
    judge: (shown, host) => pin.judge(shown, host),
  };
}
