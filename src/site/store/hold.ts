import type { BulkFile } from './bulk-file.ts';
import { type FileName, fileNames } from './lanes.ts';
import { attempt } from './quiet.ts';
import type { SiteFile } from './site-file.ts';

/** The log of a file that is held may grow to this size; above it the file is let go. */
const mostWalBytes = 24 * 1024 ** 2;
/** One hold lasts so long unless it is renewed, milliseconds: whoever wanted it may be gone. */
const holdMs = 30_000;

interface Held {
  readonly file: SiteFile | BulkFile;
  /** What `wal_autocheckpoint` is when it is let go. */
  pages: number;
}

/**
 * Keeps both database files as they are while somebody copies them: all that is written meanwhile goes to their logs, and a copy of a
 * file followed by a copy of its log is whole. Emergencies of the disk go on all the same, which shows by the file's times.
 */
export class Hold {
  readonly #opened: (name: FileName) => SiteFile | BulkFile | undefined;
  readonly #walBytes: (name: FileName) => number;
  #held: Held[] = [];
  #until = 0;

  constructor(options: {
    opened: (name: FileName) => SiteFile | BulkFile | undefined;
    walBytes: (name: FileName) => number;
  }) {
    this.#opened = options.opened;
    this.#walBytes = options.walBytes;
  }

  /** True while the file's log is not to be emptied. */
  isOn(name: FileName): boolean {
    return this.#held.some(({ file }) => file === this.#opened(name));
  }

  /** Begins with empty logs, or goes on. False where a file is away, is another one by now, or has written too much. */
  take(): boolean {
    this.look();
    const files = fileNames.map((name) => this.#opened(name)).filter((file) => file !== undefined);
    if (files.length < fileNames.length) return false;
    if (this.#held.length === 0)
      this.#held = files.map((file) => {
        file.db.pragma('wal_checkpoint(TRUNCATE)');
        const pages = Number(file.db.pragma('wal_autocheckpoint', { simple: true }));
        file.db.pragma('wal_autocheckpoint = 0');
        return { file, pages };
      });
    this.#until = performance.now() + holdMs;
    return files.every(({ name }) => this.isOn(name));
  }

  /** The log of a file is to be emptied above so many pages; of one that is held from its release on. */
  setLog(file: SiteFile | BulkFile, pages: number): void {
    const held = this.#held.find((one) => one.file === file);
    if (held === undefined) file.db.pragma(`wal_autocheckpoint = ${pages}`);
    else held.pages = pages;
  }

  release(): void {
    for (const { file, pages } of this.#held.splice(0))
      attempt(() => {
        if (file.db.open) file.db.pragma(`wal_autocheckpoint = ${pages}`);
      });
  }

  /** Lets go of what nobody holds any more, or what has grown too large. To be called every few seconds. */
  look(): void {
    if (this.#held.length === 0) return;
    const isLarge = fileNames.some((name) => this.#walBytes(name) > mostWalBytes);
    if (isLarge || performance.now() > this.#until) this.release();
  }
}
