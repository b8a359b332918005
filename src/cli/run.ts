import { runDaemon } from '#daemon.ts';

/** `siteward run`: the daemon until SIGTERM; exit code 78 for a configuration that cannot be used. */
export async function run(options: { config: string; strict: boolean }): Promise<number> {
  return runDaemon({ configPath: options.config, strict: options.strict });
}
