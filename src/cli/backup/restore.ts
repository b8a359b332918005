import { execFile } from 'node:child_process';
import { chown, type FileHandle, mkdir, open, readFile, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { claimStateDir, lockName, runningDaemon } from '#box/lock.ts';
import {
  finishRestore,
  inTheWay,
  isRestoring,
  keptName,
  lastRestore,
  markRestore,
  type RestoreMarker,
  stagingOf,
} from '#box/restore.ts';
import { checkText, isWithin, referencedFiles, type Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { statusDocument } from '#lan/http/index.ts';
import type { Owner } from '#lib/durable-file.ts';
import { isSet } from '#site/model/index.ts';
import { beginNewLife, inspectFiles, lastStates, schemaVersions } from '#site/store/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { fileFailure } from '../named-file.ts';
import { counted, formatBytes, printable } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { type Found, readArchive, unreadable } from './archive.ts';
import { manifestIn } from './backup.ts';
import { filesFolder, type Manifest, manifestText, stateFolder } from './manifest.ts';
import { knownPassphrase, type PassphraseOptions } from './passphrase.ts';

export interface RestoreOptions extends PassphraseOptions {
  readonly config: string;
  readonly socket: string;
  /** `site.external_id` of what is on the box now, typed by whoever lets that go. */
  readonly replace?: string | undefined;
}

/** Beside what is unpacked there must be room to go on. */
const spareBytes = 64 * 1024 ** 2;
const mostEntries = 1_000_000;

/** The state directory a backup goes to, and who shall own what is in it. */
interface Place {
  readonly dir: string;
  readonly config: string;
  readonly owner: Owner;
}

/** `siteward restore FILE`: puts a backup in the place of all that is on the bridge, while siteward does not run. */
export async function restore(path: string | undefined, options: RestoreOptions): Promise<ExitCode> {
  using stopped = untilStopped();
  const config = resolve(options.config);
  const here = await settingsOf(config);
  if (await isUnfinished(here?.store.dir)) return goOn(here?.store.dir ?? '', options);
  if (path === undefined)
    throw new SitewardError('request_invalid', 'name the file of the backup; no restore is left unfinished here');
  const file = await open(path, 'r').catch((error: unknown) => {
    throw fileFailure(path, error);
  });
  try {
    const passphrase = await knownPassphrase(options);
    return await unpacked({ file, passphrase, config, here, options, signal: stopped.signal });
  } catch (error) {
    if (error instanceof Unfinished) return goOn(error.dir, options);
    throw error;
  } finally {
    await file.close();
  }
}

/** Of a box whose configuration does not tell of it yet. */
class Unfinished extends Error {
  readonly dir: string;
  constructor(dir: string) {
    super('a restore is not complete');
    this.dir = dir;
  }
}

const isUnfinished = async (dir: string | undefined): Promise<boolean> => dir !== undefined && isRestoring(dir);

/** What somebody ended in the middle of it. */
async function goOn(dir: string, options: RestoreOptions): Promise<ExitCode> {
  await mustNotRun(dir, options.socket);
  try {
    await claim(dir);
    await finishRestore(dir);
  } finally {
    await release(dir);
  }
  console.log('The restore that was interrupted is complete. Start siteward: "systemctl start siteward"');
  return exitCodes.ok;
}

interface Work {
  readonly file: FileHandle;
  readonly passphrase: string;
  readonly config: string;
  /** Of the configuration that is on the box; undefined where there is none that can be used. */
  readonly here: Settings | undefined;
  readonly options: RestoreOptions;
  readonly signal: AbortSignal;
}

async function unpacked(work: Work): Promise<ExitCode> {
  const { file, passphrase, signal, options } = work;
  let manifest: Manifest | undefined;
  let place: Place | undefined;
  const files: RestoreMarker['files'][number][] = [];
  let left = mostEntries;
  try {
    const take = async (entry: Found) => {
      if (manifest === undefined || place === undefined) {
        manifest = await manifestIn(entry);
        console.error(`${manifestText(manifest)}\n`);
        place = await placeFor(manifest, work);
        return 'go on' as const;
      }
      left -= 1;
      if (left === 0) throw unreadable('it holds more files than a backup can');
      const made = await unpack(entry, place);
      if (made !== undefined) files.push(fileOf(entry, manifest, work.config));
      return 'go on' as const;
    };
    await readArchive(file, passphrase, take, signal);
    if (manifest === undefined || place === undefined) throw unreadable('it holds nothing');
    await mustFit(manifest, place, files);
    await putInPlace(manifest, place, files, options);
  } catch (error) {
    // What is marked goes on; anything else is as if nobody had come.
    if (place !== undefined && !(await isRestoring(place.dir)))
      await rm(stagingOf(place.dir).root, { recursive: true, force: true }).catch(() => undefined);
    throw place === undefined ? error : fileFailure(place.dir, error);
  } finally {
    if (place !== undefined) await release(place.dir);
  }
  console.log(
    `The backup of ${manifest.made_at} is in place. What was here before lies in ${join(place.dir, keptName)} for 30 days.`,
  );
  for (const line of unknownNow(manifest)) console.log(line);
  for (const what of manifest.outside) console.log(`Not in the backup: ${printable(what)}`);
  console.log(
    'The box it was made on must stay off. Start siteward here: "systemctl start siteward", then "siteward doctor"',
  );
  return exitCodes.ok;
}

/** History disarms nothing (I3). */
function unknownNow({ partitions }: Manifest): string[] {
  const disarmed = Object.entries(partitions ?? {}).flatMap(([id, state]) => (state === 'disarmed' ? [id] : []));
  if (partitions !== null && disarmed.length === 0) return [];
  const which =
    partitions === null ? 'What was disarmed in the backup' : `Disarmed in the backup: ${disarmed.join(', ')}. That`;
  return [`${which} may have been armed since, and is unknown now: arm or disarm it with a code.`];
}

/** Everything that can be judged before a byte is written. */
async function placeFor(manifest: Manifest, { config, here, options }: Work): Promise<Place> {
  const known = schemaVersions();
  if (manifest.schema.site > known.site || manifest.schema.bulk > known.bulk)
    throw refused(
      `it was made by siteward ${manifest.version}, which is newer; install that version, or a later one, first`,
    );
  const dir = manifest.state_dir;
  if (here !== undefined && here.store.dir !== dir)
    throw refused(
      `its state lies in ${dir}, but that of ${config} in ${here.store.dir}; write "store: { dir: ${dir} }" there first`,
    );
  if (isWithin(dir, config)) throw refused(`${config} lies in the state directory; move it to a folder of its own`);
  await mustNotRun(dir, options.socket);
  await mustMake(dir);
  if (await isRestoring(dir)) throw new Unfinished(dir);
  await mustBeLetGo(dir, manifest, here, options.replace);
  await mustNotLoseKept(dir);
  const blocked = await inTheWay(dir);
  if (blocked !== undefined) throw refused(blocked);
  const { bavail, bsize } = await statfs(dir);
  const free = bavail * bsize;
  if (free < manifest.bytes + spareBytes)
    throw refused(
      `it takes ${formatBytes(manifest.bytes + spareBytes)} on the disk of ${dir}, and ${formatBytes(free)} are free; make room first`,
    );
  const { uid, gid } = await claim(dir);
  await rm(stagingOf(dir).root, { recursive: true, force: true });
  await mkdir(stagingOf(dir).state, { recursive: true, mode: 0o700 });
  const place = { dir, config, owner: { uid, gid } };
  await own(stagingOf(dir).root, place);
  await own(stagingOf(dir).state, place);
  return place;
}

/** One file of the backup, below the folder where it is made ready; its path there where it belongs to the configuration. */
async function unpack({ name, body, mode }: Found, place: Place): Promise<string | undefined> {
  const isState = name.startsWith(stateFolder);
  if (!isState && !name.startsWith(filesFolder)) throw unreadable('something in it belongs nowhere');
  const { root } = stagingOf(place.dir);
  const path = join(root, name);
  const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (made !== undefined) for (let at = dirname(path); isWithin(root, at); at = dirname(at)) await own(at, place);
  const out = await open(path, 'wx', 0o600);
  try {
    for await (const piece of body) await out.appendFile(piece);
    // Nothing of the state is for others; what belongs to the configuration gets its own mode in its place.
    await out.chmod(isState ? mode & 0o700 : 0o600);
    await out.sync();
  } finally {
    await out.close();
  }
  await own(path, place);
  return isState ? undefined : path;
}

/** Where a file of the configuration goes: beside the configuration of this box what lay beside that of the other. */
function fileOf({ name, mode }: Found, manifest: Manifest, config: string): RestoreMarker['files'][number] {
  const was = `/${name.slice(filesFolder.length)}`;
  const [from, to] = [dirname(manifest.config), dirname(config)];
  const moved = was === manifest.config ? config : isWithin(from, was) ? join(to, was.slice(from.length + 1)) : was;
  return { from: name, to: moved, mode };
}

/** The configuration is there, and what it names lies where it says. */
async function mustFit(
  manifest: Manifest,
  { dir, config }: Place,
  files: readonly { from: string; to: string }[],
): Promise<void> {
  const own = files.find(({ to }) => to === config);
  if (own === undefined) throw unreadable('it holds no configuration');
  const text = await readFile(join(stagingOf(dir).root, own.from), 'utf8');
  const strays = referencedFiles(text).filter((path) => {
    const name = `${filesFolder}${path.slice(1)}`;
    return files.some(({ from, to }) => from === name && to !== path);
  });
  if (strays.length > 0)
    throw refused(`its configuration names ${strays[0]}; restore it with --config ${manifest.config}`);
}

async function putInPlace(
  manifest: Manifest,
  { dir, owner }: Place,
  files: RestoreMarker['files'][number][],
  options: RestoreOptions,
): Promise<void> {
  const { state } = stagingOf(dir);
  await mustNotRun(dir, options.socket);
  beginNewLife({ copied: state, present: dir });
  for (const name of ['epoch.json', 'site.db', 'site.db-wal'])
    await own(join(state, name), { dir, owner, config: '' }).catch(() => undefined);
  // The configuration first: whoever starts siteward in between finds the way to the rest.
  const sorted = [...files].sort((a, b) => Number(isConfig(b, options)) - Number(isConfig(a, options)));
  await markRestore(dir, { made_at: manifest.made_at, at: new Date().toISOString(), files: sorted, owner });
  await finishRestore(dir);
}

const isConfig = ({ to }: { to: string }, { config }: RestoreOptions): boolean => to === resolve(config);

/** What is on the box goes only where whoever types its name says so. */
async function mustBeLetGo(
  dir: string,
  manifest: Manifest,
  here: Settings | undefined,
  replace: string | undefined,
): Promise<void> {
  const found = inspectFiles(dir);
  if (found.length === 0) return;
  const site = here?.site.external_id ?? manifest.site.external_id;
  if (replace === site) return;
  const waiting = found.reduce((sum, { waiting: count = 0 }) => sum + count, 0);
  const unread = found.some(({ waiting: count }) => count === undefined);
  const armed = lastStates(dir)?.filter(({ state }) => isSet(state) || state === 'unknown') ?? [];
  const facts = [
    site === manifest.site.external_id
      ? `this box holds a state of the site ${site} already`
      : `this box is of another site, ${site}`,
    ...(waiting > 0 ? [`${counted(waiting, 'event')} on it that the cloud never got would not be sent`] : []),
    ...(unread ? ['not all of it could be looked at'] : []),
    ...(armed.length > 0 ? [`armed on it: ${armed.map(({ partition }) => partition).join(', ')}`] : []),
  ];
  const more = replace === undefined ? '' : `; "${printable(replace)}" is not its name`;
  throw refused(
    `${facts.join('; ')}${more}. To put the backup in its place all the same say --replace ${site}; what is there now is kept aside for 30 days`,
  );
}

/**
 * A second restore before siteward has run on the first would take away what the box itself had recorded, and set aside no more than
 * a copy of the first backup.
 */
async function mustNotLoseKept(dir: string): Promise<void> {
  const last = lastRestore(dir);
  const kept = join(dir, keptName);
  if (last === undefined || !(await stat(kept).then(Boolean, () => false))) return;
  throw refused(
    `the backup of ${last.madeAt} was put in place here, and siteward has not run since. What was here before it lies in ${kept}, and would be gone now: move that folder away, or remove it, then again`,
  );
}

/** While it runs, nothing under it may be exchanged; armed, nobody may stop it for that. */
async function mustNotRun(dir: string, socket: string): Promise<void> {
  const running = runningDaemon(dir);
  if (running === undefined || running === process.pid) return;
  const armed = await armedNow(socket).catch(() => []);
  throw refused(
    armed.length > 0
      ? `siteward runs and ${armed.join(', ')} is not disarmed; disarm it, then "systemctl stop siteward"`
      : `siteward runs (process ${running}); stop it first: "systemctl stop siteward"`,
  );
}

async function armedNow(socket: string): Promise<string[]> {
  await using control = openControl(socket);
  const { partitions } = statusDocument.parse(answered(await control.client.getStatus({ signal: patience() })).json);
  return partitions.filter(({ state }) => state !== 'disarmed').map(({ id }) => id);
}

async function settingsOf(config: string): Promise<Settings | undefined> {
  const text = await readFile(config, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw fileFailure(config, error);
  });
  return text === undefined ? undefined : checkText(config, text, { secrets: 'unread' }).loaded?.settings;
}

/** Nobody starts siteward over it meanwhile; gives back whose it is. */
async function claim(dir: string): Promise<Owner> {
  const { uid, gid } = await stat(dir);
  claimStateDir(dir);
  if (process.getuid?.() === 0) await chown(join(dir, lockName), uid, gid).catch(() => undefined);
  return { uid, gid };
}

/** Only what is ours. */
async function release(dir: string): Promise<void> {
  if (runningDaemon(dir) === process.pid) await rm(join(dir, lockName), { force: true }).catch(() => undefined);
}

/** The state directory, for the user of the service where there is one. */
async function mustMake(dir: string): Promise<void> {
  if (await stat(dir).then(Boolean, () => false)) return;
  await mkdir(dir, { recursive: true, mode: 0o750 });
  if (process.getuid?.() !== 0) return;
  const id = async (what: string) => Number((await promisify(execFile)('id', [what, 'siteward'])).stdout);
  const [uid, gid] = await Promise.all([id('-u'), id('-g')]).catch(() => [0, 0]);
  await chown(dir, uid ?? 0, gid ?? 0);
}

async function own(path: string, { owner }: Place): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, owner.uid, owner.gid);
}

const refused = (why: string): SitewardError => new SitewardError('backup_refused', why);
