import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { noteBackup } from '#box/backup-note.ts';
import { runningDaemon } from '#box/lock.ts';
import { isRestoring } from '#box/restore.ts';
import { checkText, parseConfig, readConfigText, type Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { backupAnswer, partitionList, statusDocument } from '#lan/http/index.ts';
import { syncFolder } from '#lib/durable-file.ts';
import { version } from '#lib/version.ts';
import { sleep } from '#lib/wait.ts';
import { schemaVersions, storedEpoch } from '#site/store/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { fileFailure, refuseTaken, unusable } from '../named-file.ts';
import { formatBytes } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { type Entry, readArchive, unreadable, writeArchive } from './archive.ts';
import { type Manifest, manifestBytes, manifestName, manifestText, readManifest } from './manifest.ts';
import { knownPassphrase, newPassphrase, type PassphraseOptions } from './passphrase.ts';
import { configFiles, databaseEntries, fileEntries, Moved, type Source, stateFiles } from './sources.ts';

export interface BackupOptions extends PassphraseOptions {
  readonly config: string;
  readonly socket: string;
  readonly force: boolean;
}

/** A database that is written to all the time is copied so often before that is said. */
const tries = 3;
/** The hold is renewed well before it ends. */
const renewMs = 10_000;

/** `siteward backup FILE`: all that is on the bridge in one sealed file, whether siteward runs or not. */
export async function backup(out: string, options: BackupOptions): Promise<ExitCode> {
  using stopped = untilStopped();
  const { signal } = stopped;
  const file = resolve(options.config);
  const text = await readConfigText(file);
  const { settings } = checkText(file, text, { secrets: 'unread' }).loaded ?? {};
  if (settings === undefined)
    throw new SitewardError('config_invalid', `${file} has errors; "siteward check" lists them. Mend it first`);
  const { dir } = settings.store;
  await stat(dir).catch((error: unknown) => {
    throw fileFailure(dir, error);
  });
  if (await isRestoring(dir)) {
    throw new SitewardError('backup_refused', 'a restore is not complete here; "siteward restore" goes on with it');
  }
  if (out !== '-') await refuseTaken(out, options.force);
  else if (process.stdout.isTTY) throw unusable('a backup is nothing to look at; name a file, or pipe it somewhere');
  const passphrase = await newPassphrase(options);

  const running = runningDaemon(dir);
  await using control = running === undefined ? undefined : openControl(options.socket);
  const made = await written(out, options.force, signal, async (target) => {
    for (let left = tries; ; left -= 1) {
      try {
        const one = { file, text, settings, control, dir, signal };
        return await once(one, (entries) => writeArchive(target.write, passphrase, entries, signal));
      } catch (error) {
        if (!(error instanceof Moved)) throw error;
        if (left === 1)
          throw new SitewardError(
            'backup_refused',
            'siteward writes too much at the moment to be copied; try again later',
          );
        await target.again();
      }
    }
  });
  const recorded = running === undefined ? noteBackup(dir, made.manifest.made_at) : step(control, 'done');
  await recorded.catch((error: unknown) =>
    console.error(`siteward: the backup is made, but is not on record: ${error instanceof Error ? error.message : ''}`),
  );
  console.error(manifestText(made.manifest));
  console.error(
    `\n${out === '-' ? 'written' : out}, ${formatBytes(made.bytes)}. It holds every secret of the site: keep it as you keep those.`,
  );
  return exitCodes.ok;
}

interface Making {
  readonly file: string;
  readonly text: string;
  readonly settings: Settings;
  readonly control: Control | undefined;
  readonly dir: string;
  readonly signal: AbortSignal;
}

async function once(
  making: Making,
  write: (entries: AsyncIterable<Entry>) => Promise<number>,
): Promise<{ manifest: Manifest; bytes: number }> {
  const { file, text, control, dir } = making;
  const over = new AbortController();
  const signal = AbortSignal.any([making.signal, over.signal]);
  if (control !== undefined) await mustHold(control);
  try {
    const { sources, missing } = await configFiles(file, text, dir);
    const state = await stateFiles(dir);
    const manifest = await manifestOf(making, [...sources, ...state], missing);
    const held = { isOn: control !== undefined };
    const renewing = renew(control, held, signal);
    const bytes = await write(entriesOf(making, { manifest, sources, state, held }));
    over.abort();
    await renewing;
    if (control === undefined && runningDaemon(dir) !== undefined) throw new Moved();
    return { manifest, bytes };
  } finally {
    over.abort();
    await step(control, 'release').catch(() => undefined);
  }
}

async function* entriesOf(
  { control, dir }: Making,
  parts: { manifest: Manifest; sources: readonly Source[]; state: readonly Source[]; held: { isOn: boolean } },
): AsyncGenerator<Entry> {
  const text = Buffer.from(`${JSON.stringify(parts.manifest, undefined, 2)}\n`);
  yield { name: manifestName, size: text.length, mode: 0o600, body: text };
  yield* fileEntries(parts.sources);
  const side = (path: string) => path === `${dir}/epoch.json`;
  // What it says of the databases must hold of copies that are made later.
  yield* fileEntries(parts.state.filter(({ path }) => side(path)));
  yield* databaseEntries(dir);
  parts.held.isOn = false;
  await step(control, 'release').catch(() => undefined);
  const others = parts.state.filter(({ path }) => !side(path) && !/\/(site|bulk)\.db(-wal|-shm)?$/.test(path));
  // What came meanwhile belongs to what the databases say.
  const late = (await stateFiles(dir)).filter(({ name }) => name.startsWith('state/spool/'));
  const known = new Set(others.map(({ path }) => path));
  yield* fileEntries([...others, ...late.filter(({ path }) => !known.has(path))]);
}

async function manifestOf(
  { file, text, settings, control, dir }: Making,
  sources: readonly Source[],
  missing: readonly string[],
): Promise<Manifest> {
  const { site, bridge } = settings;
  const seen = control === undefined ? undefined : await seenBy(control);
  return {
    format: 1,
    version,
    schema: schemaVersions(),
    made_at: new Date().toISOString(),
    site: { ...(site.id !== undefined && { id: site.id }), external_id: site.external_id },
    bridge: bridge.external_id,
    epoch: storedEpoch(dir),
    running: control !== undefined,
    waiting: seen?.waiting ?? null,
    partitions: seen?.partitions ?? null,
    config: file,
    state_dir: dir,
    files: sources.length,
    bytes: sources.reduce((sum, { bytes }) => sum + bytes, 0),
    outside: [
      ...elsewhere(parseConfig(file, text).value),
      ...(await foreignUserKey(sources)),
      ...missing.map((path) => `${path}: it is not there`),
    ],
  };
}

/** Only what everybody sees (safety 4). */
async function seenBy({ client }: Control): Promise<Pick<Manifest, 'waiting' | 'partitions'>> {
  const signal = patience();
  const { outbox } = statusDocument.parse(answered(await client.getStatus({ signal })).json);
  const { items } = partitionList.parse(answered(await client.listPartitions({ signal })).json);
  return {
    waiting: outbox?.waiting ?? null,
    partitions: Object.fromEntries(items.map(({ id, state }) => [id, state])),
  };
}

/** Secrets that only the service, or whoever starts it, can read. */
function elsewhere(value: unknown): string[] {
  const found = new Set<string>();
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('credential' in node && typeof node.credential === 'string')
      found.add(`credential ${node.credential} of systemd: set it up on the new box`);
    if ('env' in node && typeof node.env === 'string') found.add(`variable ${node.env}: set it on the new box`);
    for (const member of Object.values(node)) walk(member);
  };
  walk(value);
  return [...found];
}

/** Without its key no code of a user is known again. */
async function foreignUserKey(sources: readonly Source[]): Promise<string[]> {
  const has = (name: string) => sources.some((source) => source.name === `state/${name}`);
  const isGiven = await stat('/etc/credstore/user-key').then(Boolean, () => false);
  return (has('users.json') && !has('user-key')) || isGiven
    ? ['credential user-key of systemd (/etc/credstore/user-key): without it no code of a user is known on the new box']
    : [];
}

async function mustHold(control: Control): Promise<void> {
  if (await step(control, 'hold')) return;
  throw new SitewardError(
    'backup_refused',
    'a database is away or damaged, so that siteward cannot keep it still; "siteward status" says more. With siteward stopped the backup is made of what there is',
  );
}

async function renew(control: Control | undefined, held: { isOn: boolean }, signal: AbortSignal): Promise<void> {
  while (control !== undefined) {
    const isOver = await sleep(renewMs, signal).then(
      () => false,
      () => true,
    );
    if (isOver || !held.isOn) return;
    // One that is lost shows by the times of the files.
    await step(control, 'hold').catch(() => undefined);
  }
}

async function step(control: Control | undefined, wanted: 'hold' | 'release' | 'done'): Promise<boolean> {
  if (control === undefined) return false;
  const answer = await control.client.backupStep({ body: { step: wanted }, signal: patience() });
  return backupAnswer.parse(answered(answer).json).held;
}

interface Target {
  write(piece: Uint8Array): Promise<unknown>;
  /** Forgets what was written. */
  again(): Promise<unknown>;
}

const standardOutput: Target = {
  write: (piece) =>
    new Promise<void>((resolve, reject) => {
      process.stdout.write(piece, (error) => (error == null ? resolve() : reject(error)));
    }),
  async again() {
    throw new SitewardError(
      'backup_refused',
      'a file changed while it was read; throw away what was written, and try again',
    );
  },
};

/** Nothing is under the name before all of it is on disk, and what failed leaves nothing. */
async function written<T>(
  out: string,
  force: boolean,
  signal: AbortSignal,
  fill: (target: Target) => Promise<T>,
): Promise<T> {
  if (out === '-') return fill(standardOutput);
  const part = `${out}.part`;
  try {
    await rm(part, { force: true });
    const file = await open(part, 'ax', 0o600);
    let made: T;
    try {
      made = await fill({ write: (piece) => file.appendFile(piece), again: () => file.truncate(0) });
      await file.sync();
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await refuseTaken(out, force);
    await rename(part, out);
    await syncFolder(dirname(resolve(out)));
    return made;
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw fileFailure(out, error);
  }
}

/** `siteward backup --show FILE`. */
export async function showBackup(
  path: string,
  options: PassphraseOptions & { readonly json: boolean },
): Promise<ExitCode> {
  using stopped = untilStopped();
  const file = await open(path, 'r').catch((error: unknown) => {
    throw fileFailure(path, error);
  });
  try {
    const passphrase = await knownPassphrase(options);
    let manifest: Manifest | undefined;
    const take = async (entry: { name: string; size: number; body: AsyncIterable<Uint8Array> }) => {
      manifest = await manifestIn(entry);
      return 'enough' as const;
    };
    await readArchive(file, passphrase, take, stopped.signal);
    if (manifest === undefined) throw unreadable('it holds nothing');
    console.log(options.json ? JSON.stringify(manifest) : manifestText(manifest));
    return exitCodes.ok;
  } finally {
    await file.close();
  }
}

/** Of the first entry. */
export async function manifestIn(entry: {
  name: string;
  size: number;
  body: AsyncIterable<Uint8Array>;
}): Promise<Manifest> {
  if (entry.name !== manifestName || entry.size > manifestBytes)
    throw unreadable('it does not begin as one of siteward');
  const pieces: Uint8Array[] = [];
  for await (const piece of entry.body) pieces.push(piece);
  return readManifest(Buffer.concat(pieces).toString('utf8'));
}
