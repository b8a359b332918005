import { constants } from 'node:fs';
import { access, lstat, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { lockName } from '#box/lock.ts';
import {
  configPlace,
  factoryText,
  holdsConfigText,
  isOurSecret,
  isWithin,
  overwriteConfigText,
  ownSecretFiles,
  removeConfigBackup,
  secretsBeside,
} from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { syncFolder, textOf, writeDurably } from '#lib/durable-file.ts';
import { systemCode, unlessMissing } from '#lib/system-code.ts';
import { sleep } from '#lib/wait.ts';

/**
 * A factory reset is asked for while siteward runs and done at the next start, before anything opens a file of the state
 * directory. Between both stands a marker. Until the configuration is replaced nothing has happened, and what is in the way
 * calls it off as a whole; from then on every start goes on with it until it is complete, and runs nothing before.
 */

const markerName = 'factory-reset.json';
const doneName = 'factory-reset-done.json';
/** Of a state directory that is a disk of its own. */
const systemName = 'lost+found';
const againMs = 10_000;

const wish = z.strictObject({
  /** `account:ID`, or the control socket. */
  by: z.string().max(100),
  at: z.iso.datetime(),
});
export type ResetWish = z.output<typeof wish>;

const marker = wish.extend({
  version: z.literal(1),
  /** Path of the configuration, and the site it is of: another one's is never reset. */
  config: z.string(),
  site: z.string(),
  /** The configuration of the first day. */
  text: z.string(),
  secrets: z.array(z.string()),
});
export type ResetMarker = z.output<typeof marker>;

export interface Subject {
  readonly configPath: string;
  /** The configuration in force. */
  readonly text: string;
  /** The state directory. */
  readonly dir: string;
  /** `site.external_id`. */
  readonly site: string;
}

/** What would be done. Throws `config_invalid`. */
export function resetMarker({ configPath, text, dir, site }: Subject, { by, at }: ResetWish): ResetMarker {
  const config = resolve(configPath);
  const isGone = (path: string) => isWithin(dir, path) || isWithin(secretsBeside(config), path);
  return {
    ...{ version: 1, by, at, config, site },
    // The time makes it another text than any before it, by which a start sees how far a reset has come.
    text: factoryText(config, text, { head: `siteward: the configuration after the factory reset of ${at}`, isGone }),
    secrets: ownSecretFiles(config, text),
  };
}

/** Why it cannot be done as a whole, and what to do; undefined when nothing is in the way. */
export async function obstacle(dir: string, { config, secrets }: ResetMarker): Promise<string | undefined> {
  const place = await configPlace(config);
  if ([config, place].some((path) => isWithin(dir, path)))
    return `${config} lies in the state directory, which a reset empties; move it to a folder of its own`;
  const folders = [dirname(place), ...(await foldersOf(secrets)), ...(await foldersBelow(dir))];
  for (const folder of new Set(folders)) {
    try {
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOENT') continue;
      const why = code === 'EROFS' ? `the disk under ${folder} is read-only` : `siteward may not write in ${folder}`;
      return `${why}; change that, or reset by hand as docs/operations.md tells`;
    }
  }
  return undefined;
}

async function foldersOf(paths: readonly string[]): Promise<string[]> {
  const there = await Promise.all(paths.map((path) => lstat(path).then(Boolean, () => false)));
  return paths.filter((_, index) => there[index]).map(dirname);
}

/** The folder and those in it, whatever is in them. One that cannot be read stands for what is below it. */
async function foldersBelow(dir: string): Promise<string[]> {
  const found = await readdir(dir, { withFileTypes: true }).catch(() => []);
  const below = found.filter((entry) => entry.isDirectory() && entry.name !== systemName);
  return [dir, ...(await Promise.all(below.map(({ name }) => foldersBelow(join(dir, name))))).flat()];
}

/** From when this resolves the next start resets. Throws what the system throws; then it may reset or not. */
export async function markReset(dir: string, wanted: ResetMarker): Promise<void> {
  await writeDurably(join(dir, markerName), JSON.stringify(wanted));
  crashPoint('reset.marked');
}

/** Takes it back, also where that takes several tries; `signal` ends them. Rejects for nothing. */
export const unmarkReset = (dir: string, { log, signal }: { log: Logger; signal: AbortSignal }): Promise<void> =>
  takeBack(join(dir, markerName), signal, log);

/**
 * Does the reset that was asked for, if one was; true when it is complete. Throws `state_dir_unusable` when it has begun and
 * cannot go on. `signal` ends the tries to take back a marker of one that is called off.
 */
export async function resetIfMarked(
  { dir, configPath, site }: Omit<Subject, 'text'>,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<boolean> {
  const path = join(dir, markerName);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? undefined : '',
  );
  if (text === undefined) return false;
  const found = parsed(text);
  const why =
    found === undefined
      ? `${path} is damaged`
      : found.config !== resolve(configPath) || found.site !== site
        ? `${path} is of another site or configuration`
        : await begin(dir, found);
  if (found === undefined || why !== undefined) {
    log.error({ reason: why }, 'the factory reset was NOT done: siteward runs on with all it has. Ask for it again');
    await takeBack(path, signal, log);
    return false;
  }
  await goOn(dir, found).catch((cause: unknown) => {
    const words = `a factory reset has begun and cannot be completed: ${describe(cause)}. Nothing runs until it is; remove what it names, or mend the disk`;
    throw new SitewardError('state_dir_unusable', words, { facts: { dir }, cause });
  });
  log.warn({ actor: found.by, at: found.at }, 'a factory reset was done');
  return true;
}

function parsed(text: string): ResetMarker | undefined {
  try {
    return marker.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** The step from which there is no way back. Says why it was not taken. */
async function begin(dir: string, { config, text, ...more }: ResetMarker): Promise<string | undefined> {
  if (await holdsConfigText(config, text)) return undefined;
  const inTheWay = await obstacle(dir, { config, text, ...more });
  if (inTheWay !== undefined) return inTheWay;
  try {
    await overwriteConfigText(config, text);
  } catch (error) {
    // It may have taken its place all the same.
    if (!(await holdsConfigText(config, text))) return `${config} cannot be written: ${describe(error)}`;
  }
  crashPoint('reset.config');
  return undefined;
}

/** All that follows, again and again until it is done. */
async function goOn(dir: string, { config, secrets, by, at }: ResetMarker): Promise<void> {
  await removeConfigBackup(config);
  const own = secretsBeside(config);
  // What a marker says is no reason to touch a file of somebody else.
  const made = secrets.filter((one) => isWithin(own, one) || isOurSecret(one));
  for (const path of made) {
    await rm(path, { force: true });
    crashPoint('reset.secret');
  }
  for (const folder of new Set([dirname(await configPlace(config)), own, ...made.map(dirname)]))
    await syncFolder(folder).catch(unlessMissing);
  const kept = [lockName, markerName, systemName];
  for (const name of (await readdir(dir)).filter((one) => !kept.includes(one))) {
    await removed(join(dir, name));
    crashPoint('reset.removed');
  }
  await syncFolder(dir);
  await writeDurably(join(dir, doneName), JSON.stringify({ by, at }));
  crashPoint('reset.noted');
  await rm(join(dir, markerName));
  await syncFolder(dir);
  crashPoint('reset.finished');
}

async function removed(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    // A folder on a disk of its own stays, empty.
    const isMount = systemCode(error) === 'EBUSY';
    if (!isMount || (await readdir(path)).length > 0) throw error;
  }
}

/** A reset that was called off must not come with some later start, when somebody relies on siteward again. */
async function takeBack(path: string, signal: AbortSignal, log: Logger): Promise<void> {
  const once = async () => {
    await rm(path, { force: true });
    await syncFolder(dirname(path));
  };
  try {
    await once();
  } catch (error) {
    log.error({ err: error, file: path }, 'remove this file: with it there siteward may reset at a later start');
    void (async () => {
      while (!signal.aborted) {
        await sleep(againMs, signal).catch(() => undefined);
        if (
          await once().then(
            () => true,
            () => false,
          )
        )
          return;
      }
    })();
  }
}

/** Who has asked for the reset that made this state directory, until `forget`: told in the first entry of its audit log. */
export function lastReset(dir: string): (ResetWish & { forget(): Promise<void> }) | undefined {
  const path = join(dir, doneName);
  const text = textOf(path);
  if (text === undefined) return undefined;
  const forget = () => rm(path, { force: true }).catch(() => undefined);
  try {
    return { ...wish.parse(JSON.parse(text)), forget };
  } catch {
    void forget();
    return undefined;
  }
}
