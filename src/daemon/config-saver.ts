import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { isInAlarm, partitionText, type Standing } from '#box/standing.ts';
import {
  beginSave,
  type Change,
  configChanged,
  endSave,
  readConfigText,
  replaceConfigText,
  type Settings,
  secretOwner,
  writeSecrets,
} from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import type { ConfigSaved } from '#lan/http/index.ts';
import { sha256 } from '#lib/digest.ts';
import type { Redactor } from '#lib/secret.ts';
import { auditNotes, type ConfigAction } from '#site/audit-notes.ts';
import type { Asker } from '#site/model/index.ts';
import { alone } from './alone.ts';
import type { Note } from './audit-wiring.ts';
import type { ChangeJudged, ChangeRefused, ChangeWish } from './config-change.ts';
import type { ConfigInForce } from './config-port.ts';
import { judged } from './config-thread.ts';

export interface SaveWish {
  readonly action: ConfigAction;
  readonly changes: readonly Change[];
  /** Of the file the changes were made for; undefined: of whatever stands there. */
  readonly version?: string;
  readonly dryRun: boolean;
}

/** Writes the configuration file, for whoever is asked over the LAN API to. */
export interface ConfigSaver {
  /** Rejects as `ConfigPort.change`. */
  save(wish: SaveWish, by: Asker, signal: AbortSignal): Promise<ConfigSaved>;
}

/** Only siteward's own words become labels. */
const outcomes = {
  config_invalid: 'invalid',
  config_changed: 'changed',
  config_refused: 'refused',
  config_readonly: 'readonly',
  queue_full: 'busy',
} as const;

export function configSaver(options: {
  inForce: () => ConfigInForce;
  settings: () => Settings;
  partitions: () => readonly Standing[];
  /** Whether a factory reset is under way. */
  isResetting: () => boolean;
  /** Reads the file again; `error` is why it was not taken. */
  reload: () => Promise<{ readonly error?: string | undefined }>;
  redactor: Pick<Redactor, 'redact'>;
  note: Note;
  log: Logger;
  metrics: Registry;
  /** For tests. */
  judge?: (wish: ChangeWish, signal: AbortSignal) => Promise<ChangeJudged | ChangeRefused | undefined>;
}): ConfigSaver {
  const { inForce, log, note, redactor, judge = judged } = options;
  const saves = new Counter({
    name: 'siteward_config_saves_total',
    help: 'Changes of the configuration file asked for over the LAN API, and refused dry runs, by what became of them',
    labelNames: ['outcome'],
    registers: [options.metrics],
  });
  const saving = alone('another change of the configuration is under way');

  function refuseAsThingsAre(): void {
    // It would forget what is saved, or leave a secret of it behind.
    if (options.isResetting()) throw refused('a factory reset is under way; nothing is saved any more');
    refuseWhileArmed(options.partitions());
  }

  async function save(wish: SaveWish, signal: AbortSignal): Promise<ConfigSaved> {
    refuseAsThingsAre();
    const { path } = inForce();
    const text = await readConfigText(path);
    const version = sha256(text);
    if (wish.version !== undefined && wish.version !== version) throw configChanged(path);
    const work = { changes: wish.changes, text, inForce: inForce().text, configPath: path };
    const found = await judge(work, signal);
    if (found === undefined)
      throw new SitewardError(
        'config_invalid',
        'it takes too long or too much memory to be checked; nothing was written',
      );
    if ('code' in found) {
      const code = found.code === 'file_unusable' ? 'config_readonly' : found.code;
      throw new SitewardError(code, found.message, { issues: found.issues });
    }
    const patch = found.patch.map((line) => ({ ...line, text: redactor.redact(line.text) }));
    const answer = { sections: [...found.sections], patch };
    if (wish.dryRun) return { version, ...answer, written: false, taken: false };
    if (found.text === text) return { version, ...answer, written: false, ...isTaken(text) };
    signal.throwIfAborted();
    // Somebody may have armed meanwhile.
    refuseAsThingsAre();
    await write(path, text, found);
    log.warn({ action: wish.action, sections: found.sections }, 'the configuration file was changed over the LAN API');
    const { error } = await options.reload();
    await tidy(path);
    const taken = error === undefined ? { taken: true } : { taken: false, reason: redactor.redact(error) };
    return { version: sha256(found.text), ...answer, written: true, ...taken };
  }

  /** Of a file that is as it was asked for already. */
  function isTaken(text: string): Pick<ConfigSaved, 'taken' | 'reason'> {
    const { text: running, error } = inForce();
    const taken = running === text && error === undefined;
    return { taken, ...(!taken && { reason: error ?? 'the file was not read again since it was changed' }) };
  }

  /** The secrets first: the file never names one that is not there. What is not written leaves none behind. */
  async function write(path: string, before: string, { text, secrets, unused }: ChangeJudged): Promise<void> {
    try {
      await mustBeOurs(path);
      await tidy(path);
      const named = [...secrets.map((secret) => secret.path), ...unused];
      if (named.length > 0) await beginSave(path, named);
      await writeSecrets(secrets, await secretOwner(options.settings().store.dir, path));
      await replaceConfigText(path, before, text, { backup: true });
    } catch (error) {
      // The file decides: it may have taken its place though the disk failed after.
      await tidy(path);
      throw unwritten(path, error);
    }
  }

  /** What is left for the next time is only a file too much. */
  async function tidy(path: string): Promise<void> {
    try {
      await endSave(path, { file: await readConfigText(path), inForce: inForce().text });
    } catch (error) {
      log.warn({ err: error }, 'secrets without use could not be removed');
    }
  }

  return {
    async save(wish, by, signal) {
      const sections = [...new Set(wish.changes.map(({ section }) => section))];
      const told = (outcome: string, entry?: Parameters<Note>[0]) => {
        saves.inc({ outcome });
        if (entry !== undefined) void note(entry);
      };
      try {
        const saved = await saving(() => save(wish, signal));
        if (saved.written) {
          told(
            saved.taken ? 'taken' : 'not_taken',
            auditNotes.configSaved(by, wish.action, saved.sections, saved.taken),
          );
        }
        return saved;
      } catch (error) {
        const code = error instanceof SitewardError ? error.code : 'internal';
        const outcome = code in outcomes ? outcomes[code as keyof typeof outcomes] : 'failed';
        // Who only came at the wrong moment wanted nothing that is not on record already.
        told(outcome, code === 'queue_full' ? undefined : auditNotes.configRefused(by, wish.action, sections, code));
        throw error;
      }
    },
  };
}

/**
 * What is armed, in alarm or perhaps armed by now is not to be changed over the network: a zone that goes would be one that is not
 * watched (safety 2). How a panel stands that was never heard says nothing: it is just being set up.
 */
function refuseWhileArmed(partitions: readonly Standing[]): void {
  for (const partition of partitions) {
    const { state, stale } = partition;
    const why = `the configuration is not changed while ${partitionText(partition)}`;
    if (isInAlarm(partition))
      throw refused(`${why} is in alarm: wait until it is over, or disarm first, then try again`);
    if (state === 'unknown') continue;
    if (state !== 'disarmed') throw refused(`${why} is armed, arming or in alarm: disarm first, then try again`);
    if (stale) throw refused(`${why} is not known to be disarmed: bring its panel back, or change the file on the box`);
  }
}

const refused = (message: string) => new SitewardError('config_refused', message);

/** Only root can give a file away: one of somebody else could not stay theirs. */
async function mustBeOurs(path: string): Promise<void> {
  const uid = process.getuid?.() ?? 0;
  const { uid: owner } = await stat(path);
  if (uid !== 0 && owner !== uid) throw readonly(path, 'it belongs to somebody else');
}

function unwritten(path: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof SitewardError) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'EROFS') return readonly(path, 'the file system is read-only for it');
  if (code === 'EACCES' || code === 'EPERM') return readonly(path, 'it has no right to');
  if (code === '') return error;
  return new SitewardError('config_readonly', `${path} was not written: ${describe(error)}. Nothing was changed`);
}

function readonly(path: string, why: string): SitewardError {
  const user = userName();
  const folder = dirname(path);
  return new SitewardError(
    'config_readonly',
    `siteward may not write ${path}: ${why}. Nothing was written. On the box: "chown ${user} ${folder} ${path}"; in a service of systemd the folder must be in its ReadWritePaths=, too`,
  );
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'siteward');
  }
}
