import { isCode } from '#errors.ts';
import { unlessAborted, withDeadline } from '#lib/wait.ts';
import type { Door } from './account.ts';
import type { Device } from './device.ts';
import type { Reads } from './reads.ts';

/** How pictures and streams of one device may prove the password. */
export interface Login {
  /**
   * Runs `work`, which sends what proves it and ends when that is judged (`Device.judged`). One at each door at a time, and
   * no more at once than may be refused. First it is asked of the events whether the password is still right, where that is
   * not known, so that one which was changed costs no tries of pictures and streams. Throws as `Device.call`.
   */
  at<T>(door: Exclude<Door, 'events'>, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** Where a try may be made without an answer, a picture has still to come in time. */
const briefMs = 3000;
const patientMs = 10_000;

export function createLogin(device: Device, reads: Pick<Reads, 'deviceInformation' | 'profiles'>): Login {
  const { account } = device;
  const underWay = new Map<Door, Promise<void>>();

  /** Resolves with what ends it. */
  async function turn(door: Door, signal: AbortSignal): Promise<() => void> {
    for (;;) {
      signal.throwIfAborted();
      account.check(door);
      if (!underWay.has(door) && underWay.size < account.triesLeft) break;
      await unlessAborted(Promise.race(underWay.values()), signal);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    underWay.set(door, promise);
    return () => {
      underWay.delete(door);
      resolve();
    };
  }

  /**
   * Where the events want no password, the tries of pictures and streams decide; where they cannot be asked now, those of a
   * door that was accepted in this run.
   */
  async function letIn(door: Door, signal: AbortSignal): Promise<void> {
    if (account.isLetIn) return;
    const wasAccepted = account.wasAccepted(door) === true;
    try {
      await withDeadline(wasAccepted ? briefMs : patientMs, signal, ask, 'the answer of the camera');
    } catch (error) {
      signal.throwIfAborted();
      if (isCode(error, 'camera_auth') || isCode(error, 'camera_certificate')) throw error;
      account.check(door);
      const isAway = isCode(error, 'camera_unreachable') || isCode(error, 'deadline');
      if (isAway && !wasAccepted) throw error;
    }
  }

  async function ask(signal: AbortSignal): Promise<void> {
    await reads.deviceInformation(signal);
    // Some tell anybody what they are.
    if (!account.isLetIn) await reads.profiles(signal, true);
  }

  return {
    async at(door, signal, work) {
      await device.recall();
      const done = await turn(door, signal);
      try {
        await letIn(door, signal);
        return await work();
      } finally {
        done();
      }
    },
  };
}
