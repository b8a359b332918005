import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { parkedDetail } from '#lan/http/index.ts';
import { answered, type Control, openControl } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import type { Chosen } from './outbox.ts';
import { chosen, events, mustBeParked } from './outbox-changes.ts';
import { patience } from './outbox-pages.ts';
import { fileFailure, unusable, withFile } from './user-file.ts';

/**
 * `siteward outbox export`: parked events as they would be sent now, one JSON object per line, to standard output or a
 * file of mode 0600. Nothing changes in the outbox.
 */
export async function exportParked(options: Chosen & { out?: string; force: boolean }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { out, force } = options;
  const count =
    out === undefined
      ? await each(control, options, async (line) => void process.stdout.write(line))
      : await intoFile(out, force, (file) => each(control, options, async (line) => void (await file.write(line))));
  console.error(`${events(count)} exported${out === undefined ? '' : ` to ${out}`}`);
  return exitCodes.ok;
}

async function each(control: Control, options: Chosen, write: (line: string) => Promise<void>): Promise<number> {
  const seqs = await chosen(control, options);
  // What was printed cannot be taken back: before the first line all that were named must be there.
  if (!options.all) await mustBeParked(control, seqs);
  for (const seq of seqs) {
    const params = { seq: String(seq) };
    const { json } = answered(await control.client.getParked({ params, signal: patience() }));
    // A damaged event has no body any more; what the LAN was shown of it is left.
    const { cloud_event, event } = parkedDetail.parse(json);
    await write(`${JSON.stringify(cloud_event ?? { damaged: true, payload: event })}\n`);
  }
  return seqs.length;
}

/**
 * A file that is there is replaced as a whole or, without `force`, not touched; a device or a link never is. What failed
 * half-way leaves nothing. Throws `file_unusable`, and what `fill` does.
 */
export async function intoFile(
  out: string,
  force: boolean,
  fill: (file: FileHandle) => Promise<number>,
): Promise<number> {
  const there = await lstat(out).catch(() => undefined);
  if (there !== undefined && !there.isFile()) {
    throw unusable(`${out} is no regular file; name a file, or leave --out away to write to standard output`);
  }
  const path = force ? `${out}.${process.pid}.part` : out;
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw fileFailure(path, error);
    throw unusable(`${path} is there already; name another file, or replace it with --force`);
  });
  try {
    const count = await fill(file);
    await withFile(out, async () => {
      await file.sync();
      await file.close();
      if (force) await rename(path, out);
    });
    return count;
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(path, { force: true });
    throw fileFailure(out, error);
  }
}
