import { isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { lendRtsp } from '#lib/rtsp-door.ts';
import type { Secret } from '#lib/secret.ts';
import { createTurns } from '#lib/turns.ts';
import { unlessAborted } from '#lib/wait.ts';
import { authLatch } from './auth-latch.ts';
import type { Ask, MemoryPort } from './camera.ts';
import type { CertificatePin } from './certificate-pin.ts';
import type { Device } from './device.ts';
import { latchMemory } from './latch-memory.ts';

/** Lends the streams of one device: its credentials, its certificate, and how often they may be refused. */
export interface StreamClient {
  /** See `Camera.readStream`. */
  lend<T>(url: string, work: (url: string) => Promise<T>, ask?: Ask): Promise<T>;
}

export function createStreamClient(options: {
  device: Device;
  password: Secret | undefined;
  pin: CertificatePin;
  clock: Clock;
  authHoldMs: number;
  /** Whoever reads on after it would see what may be another camera by then. */
  lifetime: AbortSignal;
  /** Where refused logins are kept over a restart. */
  kept: { readonly id: string; readonly memory: MemoryPort };
}): StreamClient {
  const { device, password, pin, clock, authHoldMs: holdMs, lifetime, kept } = options;
  const { clear, username } = device;
  // As with pictures: streams may have users of their own, whose refusal must not end the events.
  const latch = authLatch(clock, holdMs);
  const refusals =
    username === undefined
      ? undefined
      : latchMemory({
          memory: kept.memory,
          key: `onvif/stream-login/${kept.id}`,
          latch,
          login: { username, password: device.password },
          clock,
          holdMs,
        });

  const turns = createTurns();
  /** In this run, and not refused since. */
  let wasAccepted = false;

  /** Logins go one by one until each is judged, or its connection is over: a wrong password of many costs no more than of one. */
  function enter(judged: Promise<void>, over: AbortSignal): Promise<void> {
    over.throwIfAborted();
    const entered = new Promise<void>((resolve, reject) => {
      void turns('login', async () => {
        try {
          over.throwIfAborted();
          device.latch.check();
          latch.check();
          await device.letIn(over, wasAccepted);
        } catch (error) {
          return reject(error);
        }
        resolve();
        await unlessAborted(judged, over).catch(() => undefined);
      });
    });
    return unlessAborted(entered, over);
  }

  async function note(isAccepted: boolean): Promise<void> {
    if (isAccepted) latch.accepted();
    else latch.refused();
    await (isAccepted ? refusals?.accepted() : refusals?.refused());
  }

  return {
    async lend(url, work, { silent = false } = {}) {
      await Promise.all([device.recall(), refusals?.recall()]);
      device.latch.check();
      latch.check();
      await clear.recall();
      const basic = () => clear.check(new URL(url), silent);
      let writing: Promise<void> | undefined;
      const verdict = Promise.withResolvers<void>();
      const judged = (isAccepted: boolean, inClear: boolean) => {
        writing = note(isAccepted);
        wasAccepted = isAccepted;
        verdict.resolve();
        if (!isAccepted) return device.doubt('refused');
        if (!inClear) clear.better();
        if (!silent) clear.answered();
      };
      try {
        const camera = { url, username, password, judge: pin.judge, judged, basic };
        return await lendRtsp({ ...camera, enter: (over) => enter(verdict.promise, over) }, work, lifetime);
      } catch (error) {
        if (isCode(error, 'camera_unreachable')) device.doubt('lost');
        throw error;
      } finally {
        await writing;
      }
    },
  };
}
