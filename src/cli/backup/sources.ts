import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isNoState } from '#box/restore.ts';
import { isWithin, referencedFiles, secretsBeside } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { fileFailure } from '../named-file.ts';
import { type Entry, pieceBytes } from './archive.ts';
import { filesFolder, stateFolder } from './manifest.ts';

/** Of the configuration or a secret. */
const largestFile = 4 * 1024 ** 2;
/** Read as a whole, so that its length is that of what was read. */
const readAtOnce = 1024 ** 2;
/** Its bytes as of one moment, and before those of `site.db`: a number that `bulk.db` has must be known there. */
const first = ['epoch.json', 'bulk.db', 'bulk.db-wal', 'site.db', 'site.db-wal'];
const databases = ['bulk.db', 'site.db'];

/** A file moved under whoever read it: the whole backup begins anew. */
export class Moved extends Error {}

export interface Source {
  /** In the archive. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** The configuration and what belongs to it, as absolute paths; of what it names, what is not there too. */
export async function configFiles(
  config: string,
  text: string,
  dir: string,
): Promise<{ sources: Source[]; missing: string[] }> {
  const named = referencedFiles(text).filter((path) => !isWithin(dir, path));
  const below = async (folder: string, suffix: string) =>
    (await readdir(folder).catch(noFolder)).filter((name) => name.endsWith(suffix)).map((name) => join(folder, name));
  const beside = [
    ...(await below(secretsBeside(config), '')).filter((path) => !path.endsWith('.part')),
    ...(await below(join(dirname(config), 'panels'), '.json')),
  ];
  const sources: Source[] = [];
  const missing: string[] = [];
  for (const path of new Set([config, ...named, ...beside])) {
    const about = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw fileFailure(path, error);
    });
    if (about === undefined) missing.push(path);
    if (about?.isFile() !== true) continue;
    if (about.size > largestFile)
      throw new SitewardError('file_unusable', `${path} is too large for a secret or a profile; move it elsewhere`);
    sources.push({ name: `${filesFolder}${path.slice(1)}`, path, bytes: about.size });
  }
  return { sources, missing };
}

/** Everything of the state directory that is state; what must be read first stands first. */
export async function stateFiles(dir: string): Promise<Source[]> {
  const found: Source[] = [];
  const walk = async (below: string): Promise<void> => {
    const entries = await readdir(join(dir, below), { withFileTypes: true }).catch((error: unknown) => {
      throw fileFailure(join(dir, below), error);
    });
    for (const entry of entries) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.name.endsWith('.part') || (below === '' && isNoState(entry.name))) continue;
      const path = join(dir, name);
      const about = await (below === '' ? stat : lstat)(path).catch(() => undefined);
      if (about?.isDirectory() === true) await walk(name);
      else if (about?.isFile() === true) found.push({ name: `${stateFolder}${name}`, path, bytes: about.size });
    }
  };
  await walk('');
  const place = ({ name }: Source) => {
    const at = first.indexOf(name.slice(stateFolder.length));
    return at === -1 ? first.length : at;
  };
  return found.sort((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1));
}

/** The databases, each with its log, as of a moment at which nobody wrote into the file itself. */
export async function* databaseEntries(dir: string): AsyncGenerator<Entry> {
  for (const name of databases) {
    const db = await opened(join(dir, name));
    if (db === undefined) continue;
    try {
      const before = await stampOf(db);
      yield await whole(`${stateFolder}${name}`, db, before.size);
      const log = await opened(join(dir, `${name}-wal`));
      try {
        if (log !== undefined) {
          const head = await headOf(log);
          yield await whole(`${stateFolder}${name}-wal`, log, (await log.stat()).size);
          // One that was empty can have begun anew only after all it had since was moved into the file, which shows there.
          if (head.length > 0 && !head.equals(await headOf(log))) throw new Moved();
        }
        await mustBeThere(join(dir, `${name}-wal`), log);
      } finally {
        await log?.close();
      }
      const after = await stampOf(db);
      if (after.size !== before.size || after.changed !== before.changed) throw new Moved();
      await mustBeThere(join(dir, name), db);
    } finally {
      await db.close();
    }
  }
}

/** Each as it is now; one that is gone meanwhile, such as a picture that was sent, is left out. */
export async function* fileEntries(sources: readonly Source[]): AsyncGenerator<Entry> {
  for (const { name, path } of sources) {
    const file = await opened(path);
    if (file === undefined) continue;
    try {
      const { size, mode } = await file.stat();
      if (size <= readAtOnce) {
        const body = await file.readFile();
        yield { name, size: body.length, mode: mode & 0o777, body };
      } else yield await whole(name, file, size);
    } finally {
      await file.close();
    }
  }
}

/** Undefined where there is none. */
async function opened(path: string): Promise<FileHandle | undefined> {
  return open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw fileFailure(path, error);
  });
}

async function whole(name: string, file: FileHandle, size: number): Promise<Entry> {
  return { name, size, mode: (await file.stat()).mode & 0o777, body: pieces(file, size) };
}

async function* pieces(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = Buffer.allocUnsafe(Math.min(pieceBytes, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) throw new Moved();
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

async function stampOf(file: FileHandle): Promise<{ size: number; changed: bigint }> {
  const about = await file.stat({ bigint: true });
  return { size: Number(about.size), changed: about.mtimeNs };
}

/** A write-ahead log that begins anew has another one; an empty one has none. */
async function headOf(log: FileHandle): Promise<Buffer> {
  const head = Buffer.alloc(32);
  const { bytesRead } = await log.read(head, 0, head.length, 0);
  return head.subarray(0, bytesRead);
}

async function mustBeThere(path: string, file: FileHandle | undefined): Promise<void> {
  const [now, then] = [await stat(path).catch(() => undefined), await file?.stat()];
  if (now?.ino !== then?.ino) throw new Moved();
}

function noFolder(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
  throw error;
}
