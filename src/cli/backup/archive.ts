import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { Decrypter, Encrypter } from 'age-encryption';
import { createTarDecoder, createTarPacker, type TarHeader } from 'modern-tar';
import { SitewardError } from '#errors.ts';

/**
 * A backup is a gzip'ed tar, sealed by age with a passphrase (https://age-encryption.org/v1): "age -d FILE | tar xz" opens it
 * without siteward. Everything streams; each 64 KiB are authenticated, and so is where it ends.
 */

/** scrypt's N is two to this: 64 MiB and about a second on a small box. A later version may take more. */
const workFactor = 16;
/** Pictures do not get smaller, and a box has little time. */
const gzipLevel = 3;
/** So much is read and written at a time. */
export const pieceBytes = 256 * 1024;

export interface Entry {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  /** Exactly `size` bytes. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

export interface Found {
  readonly name: string;
  readonly size: number;
  readonly mode: number;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Seals entries; resolves with how many bytes that makes. Throws what an entry, or `write`, throws. */
export async function writeArchive(
  write: (piece: Uint8Array) => Promise<unknown>,
  passphrase: string,
  entries: AsyncIterable<Entry>,
  signal: AbortSignal,
): Promise<number> {
  const age = new Encrypter();
  age.setPassphrase(passphrase);
  age.setScryptWorkFactor(workFactor);
  const { readable, controller } = createTarPacker();
  const packed = pack(controller, entries, signal);
  // What failed there shows at the reader as well, and is thrown below.
  packed.catch(() => undefined);
  const gzip = createGzip({ level: gzipLevel, chunkSize: pieceBytes });
  const plain = Readable.fromWeb(readable as Parameters<typeof Readable.fromWeb>[0]);
  plain.once('error', (error) => gzip.destroy(error));
  plain.pipe(gzip);
  let bytes = 0;
  try {
    const sealed = await age.encrypt(Readable.toWeb(gzip) as ReadableStream<Uint8Array>);
    for await (const piece of sealed) {
      signal.throwIfAborted();
      await write(piece);
      bytes += piece.length;
    }
  } catch (error) {
    plain.destroy();
    // The same reason comes by the stream.
    packed.catch(() => undefined);
    throw error;
  }
  await packed;
  return bytes;
}

async function pack(
  controller: ReturnType<typeof createTarPacker>['controller'],
  entries: AsyncIterable<Entry>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { name, size, mode, body } of entries) {
      const out = controller.add({ name, size, mode, type: 'file' }).getWriter();
      if (body instanceof Uint8Array) await out.write(body);
      else
        for await (const piece of body) {
          signal.throwIfAborted();
          await out.write(piece);
        }
      await out.close();
    }
    controller.finalize();
  } catch (error) {
    controller.error(error);
    throw error;
  }
}

/** Goes through a sealed file from its beginning; what `take` leaves unread is skipped. Throws `backup_unreadable`. */
export async function readArchive(
  file: FileHandle,
  passphrase: string,
  take: (entry: Found) => Promise<'go on' | 'enough'>,
  signal: AbortSignal,
): Promise<void> {
  const { size } = await file.stat();
  if (size === 0) throw unreadable('it is empty');
  const age = new Decrypter();
  age.addPassphrase(passphrase);
  const raw = file.createReadStream({ start: 0, autoClose: false, highWaterMark: pieceBytes });
  const opened = await age.decrypt(Readable.toWeb(raw) as ReadableStream<Uint8Array>).catch((error: unknown) => {
    raw.destroy();
    throw headerFailure(error);
  });
  const plain = Readable.fromWeb(opened as Parameters<typeof Readable.fromWeb>[0]);
  const gunzip = createGunzip({ chunkSize: pieceBytes });
  /** What the seal itself found wrong goes before what follows from it. */
  let broken: unknown;
  plain.once('error', (error) => {
    broken = error;
    gunzip.destroy(error);
  });
  plain.pipe(gunzip);
  const entries = (Readable.toWeb(gunzip) as ReadableStream<Uint8Array>).pipeThrough(
    createTarDecoder({ strict: true }),
  );
  let mine: unknown;
  try {
    for await (const { header, body } of entries) {
      signal.throwIfAborted();
      let isRead = false;
      const pieces = async function* () {
        isRead = true;
        yield* body;
      };
      const next = await take({ ...checked(header), body: pieces() }).catch((error: unknown) => {
        mine = error;
        throw error;
      });
      if (next === 'enough') return;
      if (!isRead) await body.cancel();
    }
    // The end of the tar is not the end of what was sealed.
    for await (const _ of gunzip) signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    if (mine !== undefined && broken === undefined) throw mine;
    if (error instanceof SitewardError) throw error;
    throw unreadable('it is damaged or cut off; take another copy of it', broken ?? error);
  } finally {
    gunzip.destroy();
    plain.destroy();
    raw.destroy();
  }
}

/** Only what siteward itself puts into one: nothing that leads out of the folder it is unpacked into. */
function checked({ name, size, type, mode = 0o600 }: TarHeader): Pick<Found, 'name' | 'size' | 'mode'> {
  const parts = name.split('/');
  const isPlain = (type ?? 'file') === 'file' && parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (!isPlain || name.includes('\0')) throw unreadable('something in it is no file of a backup of siteward');
  return { name, size, mode: mode & 0o777 };
}

function headerFailure(error: unknown): SitewardError {
  const text = error instanceof Error ? error.message : '';
  if (/no identity matched/i.test(text))
    return new SitewardError(
      'backup_passphrase',
      'the passphrase is wrong, or the first bytes of the file are damaged; without the right one nobody can open it',
    );
  // Without what age says: it repeats the first line of the file, and a file named by mistake may be that of the passphrase.
  return unreadable('it is no backup of siteward, or its beginning is damaged');
}

export const unreadable = (why: string, cause?: unknown): SitewardError =>
  new SitewardError('backup_unreadable', `the backup cannot be used: ${why}`, cause === undefined ? {} : { cause });
