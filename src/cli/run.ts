import { resolve } from 'node:path';
import { runDaemon } from '#daemon.ts';
import type { ThreadAhead } from '#lib/thread-ahead.ts';
import { outcome } from './outcome.ts';

interface RunOptions {
  readonly config: string;
  readonly strict: boolean;
}

/** `siteward run`: the daemon until SIGTERM; exit code 78 for a configuration that cannot be used. */
export async function run({ config, strict }: RunOptions, storeThread?: ThreadAhead): Promise<number> {
  return runDaemon({ configPath: resolve(config), strict, storeThread });
}

/** The same for a process that does nothing else. */
export const runAlone = (options: RunOptions, storeThread: ThreadAhead): Promise<number> =>
  outcome(() => run(options, storeThread));
