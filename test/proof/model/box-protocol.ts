import type { Lane } from '#site/model/index.ts';
import type { StoreLimits } from '#site/store/index.ts';

/** What the box is told at its start, as JSON in its first argument. */
export interface BoxOptions {
  readonly dir: string;
  readonly cloudUrl: string;
  readonly keyFile: string;
  readonly clientId: string;
  readonly boot: string;
  /** Added to the machine's clocks, milliseconds. `wallErrorMs` is how wrong the box's wall clock is. */
  readonly monoOffsetMs: number;
  readonly wallOffsetMs: number;
  readonly wallErrorMs: number;
  readonly limits: Partial<StoreLimits>;
}

/** One line on the standard input. `SIGTERM` ends it as it ends the daemon. */
export type Command =
  | {
      readonly do: 'put';
      readonly token: number;
      readonly lane: Lane;
      readonly key: string;
      readonly media: boolean;
      readonly silent: boolean;
    }
  /** Lets time pass: both clocks move, and whoever waits looks again. The box was `deaf` since before the cloud's did. */
  | { readonly do: 'skip'; readonly ms: number }
  /** The wall clock alone is set. */
  | { readonly do: 'clock'; readonly ms: number }
  | { readonly do: 'linkUp' }
  | { readonly do: 'retryNow' }
  | { readonly do: 'ask'; readonly nth: number; readonly what: Question; readonly seqs?: readonly number[] };

/** Questions are answered by a line `{ what: 'answer', nth, value }`, or with `error` in place of the value. */
export type Question = 'stats' | 'look' | 'gaps' | 'retryParked' | 'dropParked' | 'quiet' | 'deaf';

/** The bytes of the one picture of a put: from its token alone, so that it can be compared at the far end. */
export function pictureOf(token: number): Uint8Array {
  const bytes = Buffer.alloc(2_000 + ((token * 7919) % 30_000), `picture ${token} `);
  bytes.set([0xff, 0xd8, 0xff, 0xe0], 0);
  bytes.set([0xff, 0xd9], bytes.length - 2);
  return bytes;
}

export const cameraOf = (token: number): string => `cam-${token}`;
export const tokenOf = (camera: string): number => Number(camera.slice('cam-'.length));
