import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { type MediaFile, mediaDetail, mediaExport } from '#lan/http/index.ts';
import { answered, type Control, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { fileName, offset } from './media-names.ts';
import { unusable, withFile } from './named-file.ts';
import { formatBytes, table } from './table.ts';

interface Taken {
  readonly item: MediaFile;
  readonly file?: string;
  /** Why there is none. */
  readonly missing?: string;
}

/**
 * `siteward media export SEQ --to FOLDER`: the files of an event that are still on this box, each new, whole and for this user
 * alone. Ends with 66 where none is here any more, with 1 where not all could be taken.
 */
export async function exportMedia(
  event: number,
  options: { to: string; json: boolean; socket: string },
): Promise<ExitCode> {
  const { to, json } = options;
  const stopped = new AbortController();
  const stop = () => stopped.abort(new SitewardError('stopped', 'broken off; the files that are there are whole'));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  await using control = openControl(options.socket);
  // Whoever cannot write there takes nothing along, and nothing says so.
  await withFile(to, () => mkdir(to, { recursive: true, mode: 0o700 }));
  const call = { params: { seq: String(event) }, signal: AbortSignal.any([stopped.signal, patience()]) };
  await refuseAllThere(control, event, to, call.signal);
  const found = mediaExport.parse(answered(await control.client.exportMedia(call)).json);
  const taken: Taken[] = [];
  for (const item of found.items) {
    if (!item.here || found.export === null) taken.push({ item, missing: item.missing ?? 'not here' });
    else taken.push(await take(control, { item, event, to, token: found.export }, stopped.signal));
  }
  print(event, to, taken, json);
  const count = taken.filter(({ file }) => file !== undefined).length;
  if (count === taken.length) return exitCodes.ok;
  return found.export === null ? exitCodes.notFound : exitCodes.failure;
}

/** Where nothing could be taken along nothing is asked for: the audit log has what was. Throws `file_unusable`. */
async function refuseAllThere(control: Control, event: number, to: string, signal: AbortSignal): Promise<void> {
  const shown = await control.client.getMedia({ params: { seq: String(event) }, signal });
  // Why there is nothing of it the export itself says, and that is in the audit log.
  if (shown.kind === 'failure' || shown.status !== 200) return;
  const here = mediaDetail.parse(shown.json).items.filter((item) => item.here);
  const there = here.filter((item) => existsSync(join(to, fileName(event, item))));
  if (here.length > 0 && there.length === here.length)
    throw unusable(
      `all that is here of event ${event} is in ${to} already, or files of the same names; name another folder`,
    );
}

interface Wanted {
  readonly item: MediaFile;
  readonly event: number;
  readonly to: string;
  readonly token: string;
}

/** What the box lost meanwhile, and what is in the way, is told and leaves the others alone. */
async function take(control: Control, { item, event, to, token }: Wanted, signal: AbortSignal): Promise<Taken> {
  const path = join(to, fileName(event, item));
  const file = await withFile(path, () => openNew(path));
  if (file === undefined) return { item, missing: `${path} is there already` };
  try {
    await withFile(path, async () => {
      await copy(control, { export: token, index: item.index }, { file, item, signal });
      await file.sync();
    });
    return { item, file: path };
  } catch (error) {
    // What failed half-way leaves nothing.
    await rm(path, { force: true });
    if (error instanceof SitewardError && error.code === 'media_gone') return { item, missing: error.message };
    throw error;
  } finally {
    await file.close();
  }
}

/** Undefined where there is such a file already: it is not touched. */
const openNew = (path: string): Promise<FileHandle | undefined> =>
  open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return undefined;
    throw error;
  });

/** Piece by piece: a clip may be larger than what the daemon, or this, should hold at a time. */
async function copy(
  control: Control,
  of: { readonly export: string; readonly index: number },
  { file, item, signal }: { readonly file: FileHandle; readonly item: MediaFile; readonly signal: AbortSignal },
): Promise<void> {
  const hash = createHash('sha256');
  const { bytes = 0 } = item;
  for (let at = 0; at < bytes; ) {
    const call = { body: { ...of, offset: at }, signal: AbortSignal.any([signal, patience()]) };
    const { body } = answered(await control.client.readMedia(call));
    if (body.length === 0) break;
    await file.writeFile(body);
    hash.update(body);
    at += body.length;
  }
  if (hash.digest('hex') !== item.sha256)
    throw new SitewardError('media_gone', 'the file on this box is not the one that was recorded');
}

function print(event: number, folder: string, taken: readonly Taken[], json: boolean): void {
  if (json) {
    const files = taken.flatMap(({ item: { index, bytes, sha256 }, file }) =>
      file === undefined ? [] : [{ index, file, bytes, sha256 }],
    );
    const missing = taken.flatMap(({ item: { index, kind, camera, offset_ms, state }, missing: why }) =>
      why === undefined ? [] : [{ index, kind, camera, offset_ms, state, reason: why }],
    );
    console.log(JSON.stringify({ event, folder, files, missing }));
    return;
  }
  console.log(
    table(
      taken.map(({ item, file, missing }) => [
        ...[item.kind, item.camera, offset(item.offset_ms)],
        ...(file === undefined ? ['missing', missing ?? ''] : [formatBytes(item.bytes ?? 0), file]),
      ]),
    ),
  );
  const count = taken.filter(({ file }) => file !== undefined).length;
  console.error(`${count} of ${taken.length} exported to ${folder}`);
}
