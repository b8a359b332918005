import { chown, lstat, mkdir, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { describe, SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { type Owner, syncFolder, textOf, writeDurably } from '#lib/durable-file.ts';
import { backupsName } from './backup-note.ts';
import { lockName } from './lock.ts';

/**
 * A backup is put in place while siteward does not run. All of it lies in the state directory, verified, before a marker is written; from then
 * on whoever comes next, `siteward restore` or a start of the daemon, goes on with it until it is complete, and runs nothing before.
 */

const markerName = 'restore.json';
/** Holds the backup, unpacked, until it is in place. */
const stagingName = 'restore';
/** What was there before; of the last restore alone. */
export const keptName = 'before-restore';
const doneName = 'restore-done.json';
const stateName = 'state';
const systemName = 'lost+found';
/** What was there before is kept so long. */
const keptMs = 30 * 86_400_000;

const marker = z.strictObject({
  version: z.literal(1),
  /** `files`: of the configuration. `aside`: the state there was. `place`: the state of the backup. */
  phase: z.enum(['files', 'aside', 'place']),
  /** When the backup was made, and when it was to be put in place. */
  made_at: z.iso.datetime(),
  at: z.iso.datetime(),
  files: z.array(
    z.strictObject({
      /** Below the folder of the unpacked backup. */
      from: z.string(),
      to: z.string(),
      mode: z.int(),
    }),
  ),
  owner: z.strictObject({ uid: z.int(), gid: z.int() }),
});
export type RestoreMarker = z.output<typeof marker>;

const told = z.object({ made_at: z.iso.datetime(), at: z.iso.datetime() });

/** In a state directory, and yet no part of the state. */
export const isNoState = (name: string): boolean =>
  [
    lockName,
    markerName,
    stagingName,
    keptName,
    doneName,
    backupsName,
    systemName,
    'reserve',
    'factory-reset.json',
  ].includes(name) ||
  // The databases that the package's use-backup has put others in the place of.
  name.startsWith('replaced-');

/** What stays where it is. */
const stays = [lockName, markerName, stagingName, keptName, systemName];

/** Where a backup is unpacked. */
export const stagingOf = (dir: string): { root: string; state: string } => {
  const root = join(dir, stagingName);
  return { root, state: join(root, stateName) };
};

export const isRestoring = (dir: string): Promise<boolean> => stat(join(dir, markerName)).then(Boolean, () => false);

/** From when this resolves the backup is put in place, whatever comes. */
export async function markRestore(dir: string, wanted: Omit<RestoreMarker, 'version' | 'phase'>): Promise<void> {
  await syncFolders(stagingOf(dir).root);
  crashPoint('restore.staged');
  await rm(join(dir, keptName), { recursive: true, force: true });
  await writeMarker(dir, { version: 1, phase: 'files', ...wanted });
  crashPoint('restore.marked');
}

/** Why the state cannot be exchanged as a whole; undefined when nothing is in the way. */
export async function inTheWay(dir: string): Promise<string | undefined> {
  const { dev } = await stat(dir);
  for (const name of (await readdir(dir)).filter((one) => !stays.includes(one))) {
    const about = await lstat(join(dir, name)).catch(() => undefined);
    if (about !== undefined && about.dev !== dev)
      return `${join(dir, name)} lies on a disk of its own, which cannot be set aside; unmount it, or move it, first`;
  }
  return undefined;
}

/**
 * Puts in place what was marked; true when something was. Throws `state_dir_unusable` when it cannot be completed: then nothing else
 * may run.
 */
export async function finishRestore(dir: string, log?: Logger): Promise<boolean> {
  const text = await readFile(join(dir, markerName), 'utf8').catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? undefined : '',
  );
  if (text === undefined) return false;
  try {
    const found = marker.parse(JSON.parse(text));
    await goOn(dir, found);
    log?.warn({ madeAt: found.made_at, at: found.at }, 'a backup was put in place');
    return true;
  } catch (cause) {
    const words = `a restore has begun and is not complete: ${describe(cause)}. Nothing runs until it is: mend what it names, then run "siteward restore" as root`;
    throw new SitewardError('state_dir_unusable', words, { facts: { dir }, cause });
  }
}

async function goOn(dir: string, wanted: RestoreMarker): Promise<void> {
  const { owner } = wanted;
  const staging = stagingOf(dir);
  const kept = join(dir, keptName);
  let { phase } = wanted;
  const enter = async (next: RestoreMarker['phase']) => {
    await writeMarker(dir, { ...wanted, phase: next });
    phase = next;
  };
  if (phase === 'files') {
    await folder(join(kept, stateName), owner, dir);
    for (const file of wanted.files) {
      await place(file, { staged: staging.root, kept: join(kept, 'files'), owner, dir });
      crashPoint('restore.file');
    }
    await enter('aside');
  }
  if (phase === 'aside') {
    // Without it there would be nothing to put in the place of what goes.
    await stat(staging.state);
    for (const name of (await readdir(dir)).filter((one) => !stays.includes(one))) {
      await rename(join(dir, name), join(kept, stateName, name));
      crashPoint('restore.aside');
    }
    await syncFolder(join(kept, stateName));
    await syncFolder(dir);
    await enter('place');
    crashPoint('restore.placing');
  }
  for (const name of await readdir(staging.state).catch(nothingLeft)) {
    await rename(join(staging.state, name), join(dir, name));
    crashPoint('restore.placed');
  }
  await syncFolder(dir);
  const { made_at, at } = wanted;
  await writeDurably(join(dir, doneName), JSON.stringify({ made_at, at }), { owner: ownerFor(owner) });
  crashPoint('restore.noted');
  await rm(staging.root, { recursive: true, force: true });
  crashPoint('restore.cleared');
  await rm(join(dir, markerName));
  await syncFolder(dir);
  crashPoint('restore.finished');
}

/** One file of the configuration; what was under its name is kept, once. */
async function place(
  { from, to, mode }: RestoreMarker['files'][number],
  { staged, kept, owner, dir }: { staged: string; kept: string; owner: Owner; dir: string },
): Promise<void> {
  const content = await readFile(join(staged, from));
  const path = await realpath(to).catch(() => to);
  const there = await stat(path).catch(() => undefined);
  if (there !== undefined) {
    const before = await readFile(path);
    if (before.equals(content)) return;
    const copy = join(kept, path.slice(1));
    await folder(dirname(copy), owner, dir);
    if (!(await isThere(copy))) await writeDurably(copy, before, { owner: ownerFor(owner) });
  } else await folder(dirname(path), owner);
  await writeDurably(path, content, {
    mode: there === undefined ? mode : there.mode & 0o777,
    owner: ownerFor(there ?? owner),
    part: `${path}.${process.pid}.part`,
  });
}

/** Only root may give a file away. */
const ownerFor = ({ uid, gid }: Owner): Owner =>
  process.getuid?.() === 0 ? { uid, gid } : { uid: process.getuid?.() ?? uid, gid: process.getgid?.() ?? gid };

/** Makes a folder, and those above it (`below`: down from there), for the owner. */
async function folder(path: string, owner: Owner, below?: string): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: below === undefined ? 0o750 : 0o700 });
  if (made === undefined) return;
  await syncFolder(dirname(made));
  if (process.getuid?.() !== 0) return;
  const way = relative(made, path).split('/').filter(Boolean);
  for (let at = 0; at <= way.length; at += 1) await chown(join(made, ...way.slice(0, at)), owner.uid, owner.gid);
}

/** The names in a folder and below it; what they stand for is synced by whoever wrote it. */
async function syncFolders(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(path, entry.name));
  await syncFolder(path);
}

const isThere = (path: string): Promise<boolean> => stat(path).then(Boolean, () => false);

const writeMarker = (dir: string, one: RestoreMarker): Promise<void> =>
  writeDurably(join(dir, markerName), JSON.stringify(one), { owner: ownerFor(one.owner) });

function nothingLeft(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/** What was set aside is not kept for ever, and what somebody unpacked who then was ended not at all. For a start that finishes no restore. */
export async function clearKept(dir: string, wallMs: number): Promise<void> {
  const path = join(dir, keptName);
  await rm(stagingOf(dir).root, { recursive: true, force: true });
  const about = await stat(path).catch(() => undefined);
  if (about !== undefined && wallMs - about.mtimeMs > keptMs) await rm(path, { recursive: true, force: true });
}

/** The restore that made this state directory, until `forget`: told in the audit log that goes on. */
export function lastRestore(
  dir: string,
): { readonly madeAt: string; readonly at: string; forget(): Promise<void> } | undefined {
  const path = join(dir, doneName);
  const text = textOf(path);
  if (text === undefined) return undefined;
  const forget = () => rm(path, { force: true }).catch(() => undefined);
  try {
    const { made_at: madeAt, at } = told.parse(JSON.parse(text));
    return { madeAt, at, forget };
  } catch {
    void forget();
    return undefined;
  }
}
