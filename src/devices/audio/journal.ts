import type { Logger } from 'pino';
import { backoff } from '#lib/backoff.ts';
import { sleep } from '#lib/wait.ts';
import type { PlaybackRow } from '#site/model/index.ts';
import type { Playback } from './engine/index.ts';

/** Where playbacks are written down before they sound. */
export interface JournalPort {
  /** The oldest first. */
  playbacks(): Promise<readonly PlaybackRow[]>;
  /** Resolves when they are on disk. `alarm`: one of them is of an alarm. */
  setPlaybacks(rows: readonly PlaybackRow[], alarm: boolean): Promise<void>;
}

export interface Journal {
  /** `write` numbers grow. A later row of a playback replaces the earlier one. */
  put(write: number, row: Playback): void;
  forget(playback: string): void;
  /** Resolves when all is on disk; rejects with the reason of the signal. */
  flush(signal: AbortSignal): Promise<void>;
  /** The last try failed. */
  readonly failing: boolean;
}

interface Waiting {
  readonly record: string | null;
  readonly alarm: boolean;
}

/**
 * Rows on their way to the disk: one write at a time, with all that came meanwhile, the newest of each playback. So it holds no
 * more rows than there are playbacks, and a flood of changes costs the disk few writes. What fails is tried until the disk takes it.
 */
export function createJournal(options: {
  readonly port: JournalPort;
  /** All writes up to this one are on disk. */
  readonly onWritten: (upTo: number) => void;
  readonly stop: AbortSignal;
  readonly log: Logger;
}): Journal {
  const { port, onWritten, stop, log } = options;
  const waiting = new Map<string, Waiting>();
  const pause = backoff({ baseMs: 500, capMs: 30_000 });
  let newest = 0;
  let running: Promise<void> | undefined;
  let failing = false;

  function put(id: string, row: Waiting): void {
    waiting.delete(id);
    waiting.set(id, row);
    running ??= run().finally(() => {
      running = undefined;
    });
  }

  async function run(): Promise<void> {
    // What belongs to one step goes together.
    await Promise.resolve();
    while (waiting.size > 0 && !stop.aborted) await writeOnce();
  }

  async function writeOnce(): Promise<void> {
    const batch = [...waiting];
    const upTo = newest;
    waiting.clear();
    try {
      await port.setPlaybacks(
        batch.map(([id, { record }]) => ({ id, record })),
        batch.some(([, { alarm }]) => alarm),
      );
      failing = false;
      pause.reset();
      onWritten(upTo);
    } catch (error) {
      if (!failing) log.warn({ err: error }, 'playbacks cannot be written down; they sound all the same');
      failing = true;
      // What came meanwhile is newer.
      const newer = [...waiting];
      waiting.clear();
      for (const [id, row] of [...batch, ...newer]) waiting.set(id, row);
      await sleep(pause.next(), stop).catch(() => undefined);
    }
  }

  return {
    put(write, row) {
      newest = Math.max(newest, write);
      put(row.id, { record: JSON.stringify(row), alarm: row.category === 'alarm' });
    },
    forget: (playback) => put(playback, { record: null, alarm: false }),
    async flush(signal) {
      while (running !== undefined) {
        signal.throwIfAborted();
        await Promise.race([
          running,
          new Promise<never>((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          }),
        ]);
      }
    },
    get failing() {
      return failing;
    },
  };
}
