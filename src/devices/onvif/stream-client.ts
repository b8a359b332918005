import { isCode } from '#errors.ts';
import { lendRtsp } from '#lib/rtsp-door.ts';
import type { Secret } from '#lib/secret.ts';
import { unlessAborted } from '#lib/wait.ts';
import type { Ask } from './camera.ts';
import type { CertificatePin, ShownCertificate } from './certificate-pin.ts';
import type { Device } from './device.ts';
import type { Login } from './login.ts';

/** Lends the streams of one device: its credentials, its certificate, and how often they may be refused. */
export interface StreamClient {
  /** See `Camera.readStream`. */
  lend<T>(url: string, work: (url: string) => Promise<T>, ask?: Ask): Promise<T>;
}

export function createStreamClient(options: {
  device: Device;
  login: Login;
  password: Secret | undefined;
  pin: CertificatePin;
  /** Whoever reads on after it would see what may be another camera by then. */
  lifetime: AbortSignal;
}): StreamClient {
  const { device, login, password, pin, lifetime } = options;
  const { account, clear, username } = device;

  /** Its turn ends when it is judged, or with its connection. */
  function enter(judged: Promise<void>, over: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const mine = async () => {
        if (account.wasAccepted('streams') !== true) await device.trying('streams');
        resolve();
        await unlessAborted(judged, over).catch(() => undefined);
      };
      login.at('streams', over, mine).catch(reject);
    });
  }

  return {
    async lend(url, work, { silent = false } = {}) {
      await device.recall();
      // Whether a stream wants the password is not known yet.
      account.check('events');
      await clear.recall();
      const basic = () => clear.check(new URL(url), silent);
      const judge = (shown: ShownCertificate, host: string) => pin.judge(shown, host, silent);
      let writing: Promise<void> | undefined;
      const verdict = Promise.withResolvers<void>();
      const judged = (isAccepted: boolean, inClear: boolean) => {
        writing = device.judged('streams', isAccepted);
        verdict.resolve();
        if (!isAccepted) return;
        if (!inClear) clear.better();
        if (!silent) clear.answered();
      };
      try {
        const camera = { url, username, password, judge, judged, basic };
        return await lendRtsp({ ...camera, enter: (over) => enter(verdict.promise, over) }, work, lifetime);
      } catch (error) {
        if (isCode(error, 'camera_unreachable')) device.doubt();
        throw error;
      } finally {
        await writing;
      }
    },
  };
}
