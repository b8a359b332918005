import { existsSync } from 'node:fs';
import { runningDaemon } from '#box/lock.ts';
import { otherProblems } from '#box/other-problems.ts';
import { type CheckedConfig, checkConfig, type Settings } from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { type StatusDocument, statusDocument } from '#lan/http/index.ts';
import { answered, type Control, openControl } from '../control.ts';
import { otherFile } from '../runs-with.ts';

/** What is known before anything is looked at. */
export interface Scene {
  /** Whole path. */
  readonly file: string;
  readonly config: Pick<CheckedConfig, 'problems' | 'warnings'> & { readonly unreadable?: Unreadable };
  /** Undefined where the configuration has errors. */
  readonly settings: Settings | undefined;
  readonly daemon: DaemonSeen;
  /** The root of /proc and /sys; another one in tests. */
  readonly root: string;
}

/** Why the file cannot be read. */
export interface Unreadable {
  readonly text: string;
  /** As the system names it; undefined where it has no complaint: what the file holds is no configuration. */
  readonly code: string | undefined;
}

export interface DaemonSeen {
  /** Its process, as the note in the state directory says. */
  readonly pid: number | undefined;
  /** Undefined where it does not answer. */
  readonly status: StatusDocument | undefined;
  readonly control: Control | undefined;
  /** Why it does not answer. */
  readonly why: string | undefined;
  /** This user may not ask it, so nothing is known of it. */
  readonly isHidden?: boolean;
  /** One answers that runs with another configuration, so that nothing it says is of this one. */
  readonly other?: { readonly socket: string; readonly file: string; readonly other: string };
}

/** Longer than a daemon takes that is busy. */
const askMs = 10_000;

/** Where systemd lays the credentials of the service, which root may read while it runs. */
const credentials = '/run/credentials/siteward.service';

export async function openScene(at: { file: string; socket: string }, signal: AbortSignal): Promise<Scene> {
  // This process is of one call: from here on it reads secrets as the service does.
  if (existsSync(credentials)) process.env.CREDENTIALS_DIRECTORY ??= credentials;
  const { config, settings } = readConfig(at.file);
  const pid = settings === undefined ? undefined : runningDaemon(settings.store.dir);
  const control = openControl(at.socket);
  const daemon = await ask(control, at, signal);
  return { file: at.file, config, settings, daemon: { pid, ...daemon }, root: '/' };
}

function readConfig(file: string): Pick<Scene, 'config' | 'settings'> {
  try {
    const { problems, warnings, loaded } = checkConfig(file, {
      unreadableSecrets: 'degrade',
      alsoCheck: otherProblems(file),
    });
    return { config: { problems, warnings }, settings: loaded?.settings };
  } catch (error) {
    if (!(error instanceof SitewardError)) throw error;
    const code = typeof error.facts.code === 'string' ? error.facts.code : undefined;
    const unreadable = { text: describe(error), code };
    return { config: { problems: [], warnings: [], unreadable }, settings: undefined };
  }
}

async function ask(
  control: Control,
  at: { readonly file: string; readonly socket: string },
  signal: AbortSignal,
): Promise<Omit<DaemonSeen, 'pid'>> {
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(askMs)]);
    const status = statusDocument.parse(answered(await control.client.getStatus({ signal: soon })).json);
    const other = otherFile(status, at.file);
    if (other === undefined) return { status, control, why: undefined };
    await control[Symbol.asyncDispose]();
    return { status: undefined, control: undefined, why: undefined, other: { ...at, other } };
  } catch (error) {
    signal.throwIfAborted();
    await control[Symbol.asyncDispose]();
    const isHidden = error instanceof SitewardError && error.facts.code === 'EACCES';
    return { status: undefined, control: undefined, why: describe(error), isHidden };
  }
}
