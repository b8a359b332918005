import { readConfigText, shownConfig } from '#config/index.ts';
import type { ConfigChecked, ConfigPort } from '#lan/http/index.ts';
import { sha256 } from '#lib/digest.ts';
import type { Redactor } from '#lib/secret.ts';
import { never, withDeadline } from '#lib/wait.ts';
import { alone } from './alone.ts';
import type { ConfigSaver } from './config-saver.ts';
import { judged } from './config-thread.ts';

/** The configuration that is in force, and what became of the file at the last try. */
export interface ConfigInForce {
  readonly path: string;
  readonly lastGood: boolean;
  readonly text: string;
  readonly warnings: readonly string[];
  readonly error: string | undefined;
}

const readMs = 5000;

/** The configuration as the LAN API shows it. */
export function configPort(
  inForce: () => ConfigInForce,
  redactor: Pick<Redactor, 'redact'>,
  saver: ConfigSaver,
): ConfigPort {
  const judging = alone('another text is being checked');
  /** Of the text in force: reading it takes some milliseconds. */
  let known: { readonly text: string; readonly config: Record<string, unknown> } | undefined;

  function shown(text: string): Record<string, unknown> {
    const clean = (_: string, member: unknown) => (typeof member === 'string' ? redactor.redact(member) : member);
    // A secret that somebody wrote in another place is blanked all the same.
    if (known?.text !== text) known = { text, config: JSON.parse(JSON.stringify(shownConfig(text)), clean) };
    return known.config;
  }

  return {
    async show() {
      const { path, lastGood, text, warnings, error } = inForce();
      return {
        path,
        last_good: lastGood,
        ...(error !== undefined && { error }),
        warnings: [...warnings],
        version: await versionOf(path),
        in_force: sha256(text),
        config: shown(text),
      };
    },

    change: ({ version, changes, dry_run: dryRun }, by, signal) =>
      saver.save({ action: 'config_saved', changes, version, dryRun }, by, signal),

    check: (yaml, signal) =>
      judging(async () => {
        const { path, text } = inForce();
        return (await judged({ yaml, inForce: text, configPath: path }, signal)) ?? tooMuch;
      }),
  };
}

const tooMuch: ConfigChecked = {
  ok: false,
  problems: [{ severity: 'error', path: '', message: 'it takes too long or too much memory to be checked' }],
};

/** Of the file as it is now; a disk that hangs is not waited for. */
const versionOf = (path: string): Promise<string | null> =>
  withDeadline(readMs, never(), async () => sha256(await readConfigText(path)), 'reading the configuration').catch(
    () => null,
  );
