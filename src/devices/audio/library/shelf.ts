import type { Logger } from 'pino';
import { describe } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import { sleep, withDeadline } from '#lib/wait.ts';
import { bareLibrary } from './bare.ts';
import { type Builtin, type Loaded, readBuiltins, readSpoken } from './builtin.ts';
import { type Library, openLibrary } from './library.ts';

/** The library of a site, whatever becomes of its disk: an alarm needs the siren, which is made in code (safety 1). */
export interface Shelf {
  /** The built-in messages alone, until those of the site can be read. Undefined before the start. */
  readonly library: Library | undefined;
  /** The samples of a message; of one that is not known yet once the messages of the site were tried to be read. */
  load(sha256: string): Promise<Loaded>;
  /** Waits for no disk longer than for a moment, and never rejects for one. */
  start(): Promise<void>;
  /** Of the built-in one, whatever was imported under its key. Undefined before the start. */
  readonly siren: string | undefined;
  /** For people. */
  problems(): readonly string[];
}

/** A disk that is well has answered by then, and the library is whole when the start is over. */
const startWaitMs = 500;
const sirenKey = 'alarm.siren';
const spokenDeadlineMs = 5_000;
const retry = { baseMs: 2_000, capMs: 60_000 };

export function createShelf(options: {
  readonly folder: string;
  /** With the spoken messages of the package. */
  readonly spoken?: string | undefined;
  readonly inUse: (key: string) => boolean;
  /** The messages of the site were read after the start. */
  readonly onRead: () => void;
  readonly stop: AbortSignal;
  readonly log: Logger;
}): Shelf {
  const { folder, spoken, inUse, onRead, stop, log } = options;
  const tried = Promise.withResolvers<void>();
  let library: Library | undefined;
  let siren: string | undefined;
  let spokenWrong: string | undefined;
  let folderWrong: string | undefined;

  async function readAll(tones: readonly Builtin[]): Promise<void> {
    const builtins = [...tones, ...(await spokenMessages())];
    library = bareLibrary(builtins);
    const waits = backoff(retry);
    while (!stop.aborted) {
      try {
        // Without a deadline: a second try would wait for the same disk, and take one more thread from all else.
        library = await openLibrary({ folder, builtins, inUse });
        tried.resolve();
        if (folderWrong === undefined) return;
        folderWrong = undefined;
        log.info('the messages of the site are read');
        return onRead();
      } catch (error) {
        unread(describe(error));
        tried.resolve();
      }
      await sleep(waits.next(), stop).catch(() => undefined);
    }
  }

  function unread(reason: string): void {
    const text = `the messages of the site cannot be read, built-in ones play: ${reason}. Mend it; it is tried again`;
    if (text !== folderWrong) log.error({ folder, reason }, 'the messages of the site cannot be read');
    folderWrong = text;
  }

  async function spokenMessages(): Promise<readonly Builtin[]> {
    if (spoken === undefined) return [];
    try {
      return await withDeadline(spokenDeadlineMs, stop, () => readSpoken(spoken), 'reading the built-in messages');
    } catch (error) {
      spokenWrong = `${describe(error)}; the built-in tones play`;
      if (!stop.aborted) log.error({ err: error }, 'the spoken messages cannot be read');
      return [];
    }
  }

  return {
    get library() {
      return library;
    },

    get siren() {
      return siren;
    },

    async load(sha256) {
      if (library?.list().every((message) => message.sha256 !== sha256) !== false) await tried.promise;
      if (library === undefined) throw new TypeError('the shelf has not started');
      return library.load(sha256);
    },

    async start() {
      const tones = await readBuiltins();
      library = bareLibrary(tones);
      siren = tones.find(({ message }) => message.key === sirenKey)?.message.sha256;
      void readAll(tones);
      const isRead = tried.promise.then(() => true);
      const isOver = sleep(startWaitMs, stop).then(
        () => false,
        () => true,
      );
      if (!(await Promise.race([isRead, isOver]))) unread(`the disk with ${folder} has not answered`);
    },

    problems: () => [spokenWrong, folderWrong].flatMap((one) => one ?? []),
  };
}
