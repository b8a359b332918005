import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { BulkFile } from './bulk-file.ts';
import type { FileName } from './lanes.ts';
import { quarantine } from './quarantine.ts';
import { syncDirectory } from './side.ts';
import type { SiteFile } from './site-file.ts';
import { pageBytes } from './space.ts';
import { makeStateDir } from './state-dir.ts';

/** Up to this size a copy keeps its pages where they are, which a salvage profits from; it passes through memory. */
const inMemoryBytes = 32 * 1024 ** 2;

/**
 * Where the open files lie. SQLite goes on writing into a file that was deleted, replaced or covered by another mount;
 * what it acknowledges then is gone with the process. An inode that is held open is given to no other file.
 */
export class Places {
  readonly #known = new WeakMap<SiteFile | BulkFile, { main: string; log: string | undefined; bytes: number }>();

  /** To be called when the file has just been opened. */
  note(file: SiteFile | BulkFile): void {
    this.#known.set(file, {
      main: inode(file.db.name) ?? '',
      log: inode(`${file.db.name}-wal`),
      bytes: mainBytes(file.db.name),
    });
  }

  /** The path leads elsewhere now, or nowhere, or the file was emptied. Throws what the file system says. */
  isMoved(file: SiteFile | BulkFile): boolean {
    const known = this.#known.get(file);
    if (known === undefined) return false;
    const log = inode(`${file.db.name}-wal`);
    // It is made by the first write, which a full disk may have refused.
    known.log ??= log;
    const bytes = mainBytes(file.db.name);
    // SQLite leaves one that has pages its first page at least. Its log may still hold everything, or not.
    const isCut = bytes === 0 && known.bytes > 0;
    if (bytes > 0) known.bytes = bytes;
    return isCut || inode(file.db.name) !== known.main || log !== known.log;
  }
}

function inode(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

const mainBytes = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Writes all that a connection can still read beside its path, synced; throws when the disk does not take it. */
export function copyBeside({ db }: SiteFile | BulkFile): void {
  const path = db.name;
  makeStateDir(dirname(path));
  const part = `${path}.moved.part`;
  rmSync(part, { force: true });
  try {
    const bytes = Number(db.pragma('page_count', { simple: true })) * pageBytes;
    if (bytes <= inMemoryBytes) writeFileSync(part, db.serialize(), { mode: 0o600 });
    else db.prepare('VACUUM INTO ?').run(part);
    sync(part);
    renameSync(part, `${path}.moved`);
    syncDirectory(dirname(path));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Puts such a copy in its place, after a kill too; what somebody else put there is set aside. */
export function adoptCopy(path: string): void {
  const copy = `${path}.moved`;
  if (inode(copy) === undefined) return;
  if (inode(path) !== undefined) quarantine(path);
  // A log without its database would be read into the copy.
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  renameSync(copy, path);
  syncDirectory(dirname(path));
}

function sync(path: string): void {
  const fd = openSync(path, 'r+');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** `failure`: why it could not be written anew. */
export function movedText(name: FileName, failure: string | undefined): string {
  const what = `${name}.db or its log was deleted, replaced or emptied while siteward used it`;
  return failure === undefined ? `${what}; it was written anew` : `${what}, and cannot be written anew (${failure})`;
}
