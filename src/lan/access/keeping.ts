import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { syncFolder, writeDurably } from '#lib/durable-file.ts';
import { unlessMissing } from '#lib/system-code.ts';
import { createTurn } from '#lib/turns.ts';
import { type AccessBook, accessBook } from './book.ts';
import { makeClaimCode } from './claim-code.ts';

/** Twice what 64 accounts and 64 keys with all they can have take. */
const fileCapBytes = 128 * 1024;
const waitingCap = 8;
const rereadMs = 10_000;

/** `access.json` of a state directory. Only one may have a folder at a time. */
export interface Keeping {
  /** Reads it, or makes it with a claim code where there is none. Never rejects. */
  read(): Promise<void>;
  /** What was held may have been mended: looks again, at most every ten seconds. Never rejects. */
  lookAgain(): Promise<void>;
  /** Throws `access_unusable` with the reason, which holds nothing of the file. */
  book(): AccessBook;
  /** Why there is no book; undefined when there is. */
  held(): string | undefined;
  /** What a technician should know, although it works. */
  note(): string | undefined;
  /**
   * One change after the other, each on what the one before left; durable when it resolves. Rejects with what the change
   * throws, `queue_full`, or `access_unusable` where it could not be written.
   */
  change(work: (book: AccessBook) => AccessBook): Promise<AccessBook>;
  /** All accounts and keys are gone, and there is another claim code; a file that cannot be used is set aside. As `change`. */
  reset(at: string): Promise<AccessBook>;
  settled(): Promise<void>;
}

type State = { readonly book: AccessBook } | { readonly held: string };

export function createKeeping({ dir, clock }: { dir: string; clock: Clock }): Keeping {
  const path = join(dir, 'access.json');
  let state: State = { held: 'the accounts were not read yet' };
  let note: string | undefined;
  let readMono = Number.NEGATIVE_INFINITY;
  const turn = createTurn();
  let waiting = 0;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (waiting >= waitingCap)
      throw new SitewardError('queue_full', 'other changes of accounts are under way; try again in a moment');
    waiting += 1;
    try {
      return await turn(work);
    } finally {
      waiting -= 1;
    }
  }

  async function load(): Promise<void> {
    readMono = clock.monotonic();
    try {
      const found = await readBook(path);
      if (found === undefined) {
        const first: AccessBook = { version: 1, claim: makeClaimCode(), people: [], keys: [] };
        await writeDurably(path, textOf(first));
        state = { book: first };
        return;
      }
      state = { book: found.book };
      if (found.wasOpen) note = `others on this machine could read ${path} until now: make other API keys`;
    } catch (error) {
      state = { held: error instanceof SitewardError ? error.message : `${path} cannot be used: ${describe(error)}` };
    }
  }

  function book(): AccessBook {
    if ('book' in state) return state.book;
    throw new SitewardError('access_unusable', state.held);
  }

  async function write(next: AccessBook): Promise<AccessBook> {
    try {
      await writeDurably(path, textOf(next));
    } catch (cause) {
      // The new file may stand there all the same: the book is what the folder says.
      await load();
      throw new SitewardError('access_unusable', 'the file of accounts could not be written', { cause });
    }
    state = { book: next };
    return next;
  }

  return {
    read: () => inTurn(load).catch(() => undefined),
    async lookAgain() {
      if ('book' in state || clock.monotonic() - readMono < rereadMs) return;
      await inTurn(load).catch(() => undefined);
    },
    book,
    held: () => ('held' in state ? state.held : undefined),
    note: () => note,
    change: (work) =>
      inTurn(async () => {
        const now = book();
        const next = work(now);
        return next === now ? now : write(next);
      }),
    reset: (at) =>
      inTurn(async () => {
        const handedOver = 'book' in state ? state.book.handedOver : at;
        if ('held' in state) await setAside(path);
        note = undefined;
        return write({
          version: 1,
          ...(handedOver !== undefined && { handedOver }),
          claim: makeClaimCode(),
          people: [],
          keys: [],
        });
      }),
    async settled() {
      await turn(async () => undefined);
    },
  };
}

const textOf = (book: AccessBook): string => `${JSON.stringify(book)}\n`;

async function readBook(path: string): Promise<{ book: AccessBook; wasOpen: boolean } | undefined> {
  const file = await open(path, 'r').catch(unlessMissing);
  if (file === undefined) return undefined;
  try {
    const { mode, size } = await file.stat();
    const wasOpen = (mode & 0o077) !== 0;
    if (wasOpen) await file.chmod(0o600);
    if (size > fileCapBytes) throw damaged(path);
    return { book: parsed(path, await file.readFile()), wasOpen };
  } finally {
    await file.close();
  }
}

function parsed(path: string, bytes: Buffer): AccessBook {
  try {
    return accessBook.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch {
    // What is wrong with it may be a piece of it, so it is not told.
    throw damaged(path);
  }
}

const damaged = (path: string): SitewardError =>
  new SitewardError(
    'access_unusable',
    `${path} is damaged, so that nobody comes in over the network. "siteward reset-access" sets it aside and shows a new claim code; the configuration stays`,
  );

async function setAside(path: string): Promise<void> {
  await rename(path, `${path}.damaged`).catch(unlessMissing);
  await syncFolder(join(path, '..'));
}
