import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { isMissing } from '#lib/system-code.ts';
import type { MediaRow } from '#site/store/index.ts';
import type { Contents } from './upload-answer.ts';

/** Where pictures and clips lie until they are uploaded. */
export interface MediaFiles {
  /** Size and contents of a file; rejects with `ENOENT` when it is gone. */
  open(file: string): Promise<MediaFile>;
  /** The cloud will never take it, or nobody may see that it was there. */
  discard(file: string): Promise<void>;
  /** The cloud has it. */
  keep(file: string): Promise<void>;
}

export interface MediaFile {
  readonly bytes: number;
  /** The contents from byte `from` on. */
  stream(from?: number): Readable;
}

/** Small enough that a slowed upload yields at once. */
const chunkBytes = 8 * 1024;

const gone = 'the file is gone';

/** Files of a spool that tells the path of a name. */
export function mediaFilesOf(spool: Pick<MediaFiles, 'discard' | 'keep'> & { path(file: string): string }): MediaFiles {
  return {
    async open(file) {
      const path = spool.path(file);
      const { size } = await stat(path);
      return {
        bytes: size,
        stream: (from = 0) => createReadStream(path, { start: from, highWaterMark: chunkBytes }),
      };
    },
    discard: (file) => spool.discard(file),
    keep: (file) => spool.keep(file),
  };
}

export interface VerifiedFile extends MediaFile, Contents {}

/**
 * The file of a row, if its contents are those the row was written for; otherwise what is wrong with it for good, in words.
 * Rejects when it cannot be read now (too many open files, a card that errs): it may well be whole, and is tried again.
 */
export async function verifiedFile(files: MediaFiles, row: MediaRow): Promise<VerifiedFile | string> {
  if (row.file === undefined) return gone;
  try {
    const file = await files.open(row.file);
    if (row.bytes !== undefined && file.bytes !== row.bytes)
      return `the file has ${file.bytes} bytes, not the ${row.bytes} that were recorded`;
    const digests = await digestsOf(file.stream());
    if (row.sha256 !== undefined && digests.sha256 !== row.sha256)
      return 'the file does not have the contents that were recorded';
    return { bytes: file.bytes, stream: (from) => file.stream(from), ...digests };
  } catch (error) {
    if (isMissing(error)) return gone;
    throw error;
  }
}

async function digestsOf(stream: Readable): Promise<Pick<Contents, 'sha256' | 'md5'>> {
  const sha256 = createHash('sha256');
  // What storages echo; it protects nothing.
  const md5 = createHash('md5');
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    sha256.update(chunk);
    md5.update(chunk);
  }
  return { sha256: sha256.digest('hex'), md5: md5.digest('hex') };
}
