import { isCode, SitewardError } from '#errors.ts';
import type { Turn } from '#lib/turns.ts';
import { withDeadline } from '#lib/wait.ts';
import type { Ask, Snapshot } from './camera.ts';
import type { Device } from './device.ts';
import type { PictureClient } from './picture-client.ts';
import type { Place } from './picture-places.ts';

/** Still pictures of one camera or channel. */
export interface Pictures {
  /** See `Camera.snapshot`. */
  take(signal: AbortSignal, ask?: Ask): Promise<Snapshot>;
  /** Learns addresses ahead of the first alarm; best effort, never throws. */
  prepare(): Promise<void>;
  known(): { profiles?: number };
  close(): void;
}

/** Lets one picture after the other be taken; at once where a device can take several. */

const deadlineMs = 10_000;
const choiceTimeoutMs = 4000;
/** For a picture and those before it in the line. */
const lineMs = 60_000;

export function createPictures(options: {
  device: Device;
  client: PictureClient;
  place: Place;
  configured?: string | undefined;
  turn?: Turn;
}): Pictures {
  const { device, client, place, turn } = options;
  const lifetime = new AbortController();
  /** Shared by those who learn at the same time; forgotten when it failed, when its addresses did, or when it is of another source. */
  let learning: { readonly key: string; readonly urls: Promise<readonly URL[]> } | undefined;
  let running: { readonly turned: Promise<void>; readonly picture: Promise<Snapshot> } | undefined;

  function addresses(): Promise<readonly URL[]> {
    if (options.configured !== undefined) return Promise.resolve([new URL(options.configured)]);
    const key = place.key();
    if (learning?.key !== key) learn(key, place.pictures(lifetime.signal));
    return learning?.urls ?? Promise.resolve([]);
  }

  function learn(key: string, found: Promise<readonly URL[]>): void {
    const urls = found.catch((error) => {
      learning = undefined;
      throw error;
    });
    learning = { key, urls };
  }

  async function shoot(signal: AbortSignal, silent: boolean): Promise<Snapshot> {
    device.account.check('events');
    let failure: unknown;
    const all = await addresses();
    const { key } = learning ?? {};
    // With a choice of addresses one that hangs must leave time for the next.
    const timeoutMs = all.length > 1 ? choiceTimeoutMs : deadlineMs;
    for (const url of all) {
      try {
        const picture = await client.fetch(url, { timeoutMs, signal, silent });
        if (key !== undefined && learning?.key === key) learning = { key, urls: Promise.resolve([url]) };
        return picture;
      } catch (error) {
        signal.throwIfAborted();
        if (isCode(error, 'camera_auth')) throw error;
        // An address that was only guessed tells less when nobody is there.
        if (failure === undefined || isCode(failure, 'camera_unreachable')) failure = error;
      }
    }
    // The address may have changed with a setting or a firmware: it is learned again next time.
    learning = undefined;
    throw failure;
  }

  const timely = (silent: boolean) =>
    withDeadline(deadlineMs, lifetime.signal, (signal) => shoot(signal, silent), 'the picture');

  function begin(silent: boolean) {
    const { promise: turned, resolve } = Promise.withResolvers<void>();
    const work = () => {
      resolve();
      return timely(silent);
    };
    const picture = (turn === undefined ? work() : turn(work)).finally(() => {
      running = undefined;
    });
    return { turned, picture };
  }

  return {
    take(signal, { onTurn, silent = false } = {}) {
      // Whoever joins a silent one is told by its end; the warning waits for the next.
      running ??= begin(silent);
      const { turned, picture } = running;
      void turned.then(onTurn);
      return withDeadline(turn === undefined ? deadlineMs + 1000 : lineMs, signal, () => picture, 'the picture');
    },
    async prepare() {
      try {
        learning = undefined;
        await addresses();
      } catch {
        // Learned again when a picture is asked for; the failure is told then.
      }
    },
    known: () => (place.profiles === undefined ? {} : { profiles: place.profiles }),
    close: () => lifetime.abort(new SitewardError('stopped', 'The camera session was stopped')),
  };
}
