import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { z } from 'zod';
import { sha256 } from '#lib/digest.ts';
import { jsonOf } from '#lib/json-text.ts';
import { fileFailure, unusable, withFile } from '../named-file.ts';

export interface Link {
  readonly n: number;
  readonly hash: string;
}

/** What an export holds so far. */
export interface Exported {
  readonly entries: number;
  /** The last entry in it; in a file without any, the one it goes on from. */
  readonly last: Link | undefined;
  /** Up to the end of the last whole line; what follows was cut off by a crash. */
  readonly bytes: number;
}

const link = z.object({ n: z.int().positive(), hash: z.string().length(64) });
const header = z.strictObject({ audit_export: z.literal(1), follows: link.nullable() });
const head = z.strictObject({ export_head: link.extend({ at: z.string() }) });
const entry = z.object({ n: z.int().positive(), prev_hash: z.string().length(64) });

/** A line of an entry is far below that. */
const lineCap = 1024 * 1024;

/** First line of an export. */
export const headerLine = (follows: Link | undefined): string =>
  `${JSON.stringify({ audit_export: 1, follows: follows ?? null })}\n`;

/** Last line of each run: with it the end of the file is known without trusting the log. */
export const headLine = ({ n, hash }: Link, at: string): string =>
  `${JSON.stringify({ export_head: { n, hash, at } })}\n`;

/**
 * Reads an export and checks that it is whole: each line of an entry is the text its hash is of, and names the hash of the
 * line before. Throws `file_unusable` when it cannot be read, is no export, or was changed.
 */
export async function readExport(path: string): Promise<Exported> {
  const there = await withFile(path, () => lstat(path));
  if (!there.isFile()) throw unusable(`${path} is no regular file`);
  let [bytes, lines, entries] = [0, 0, 0];
  let last: Link | undefined;
  for await (const line of wholeLines(path)) {
    lines += 1;
    bytes += Buffer.byteLength(line) + 1;
    const value = jsonOf(line);
    if (lines === 1) {
      const first = header.safeParse(value);
      if (!first.success) throw unusable(`${path} is no export of the audit log`);
      last = first.data.follows ?? undefined;
      continue;
    }
    const said = head.safeParse(value);
    if (said.success) {
      const { n, hash } = said.data.export_head;
      if (last?.n !== n || last.hash !== hash) throw changed(path, lines);
      continue;
    }
    const found = entry.safeParse(value);
    if (!found.success) throw changed(path, lines);
    const { n, prev_hash: prev } = found.data;
    if (last !== undefined && prev !== last.hash && prev !== zeros) throw changed(path, lines);
    last = { n, hash: sha256(line) };
    entries += 1;
  }
  if (lines === 0 && there.size > 0) throw unusable(`${path} is no export of the audit log`);
  return { entries, last, bytes };
}

const zeros = '0'.repeat(64);
const changed = (path: string, line: number) =>
  unusable(`${path} was changed at line ${line}: it does not follow from the line before`);

async function* wholeLines(path: string): AsyncGenerator<string> {
  let rest = '';
  try {
    for await (const chunk of createReadStream(path, { encoding: 'utf8' })) {
      const parts = (rest + String(chunk)).split('\n');
      rest = parts.pop() ?? '';
      yield* parts;
      if (rest.length > lineCap) throw unusable(`${path} is no export of the audit log`);
    }
  } catch (error) {
    throw fileFailure(path, error);
  }
}
