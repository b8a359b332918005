#!/usr/bin/env node
import { threadAhead } from '#lib/thread-ahead.ts';
import { nodeProblem } from './node-guard.ts';

// Everything else is imported only once it is known that this Node can load it.
const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  const args = process.argv.slice(2);
  process.exitCode = (await daemonAlone(args)) ?? (await (await import('./program.ts')).runProgram(args));
} else {
  console.error(problem);
  process.exitCode = 1;
}

/**
 * `siteward run` as the unit calls it: without the table of verbs, and the store's thread loads while this one does. Undefined for what only the table understands.
 */
async function daemonAlone(args: readonly string[]): Promise<number | undefined> {
  const [verb, option, config] = args;
  if (verb !== 'run' || option !== '--config' || config === undefined || args.length > 3) return undefined;
  const file = import.meta.url.endsWith('.ts') ? '../site/store/worker.ts' : './store.js';
  const storeThread = threadAhead(new URL(file, import.meta.url), 'siteward-store');
  const { runAlone } = await import('./run.ts');
  return runAlone({ config, strict: false }, storeThread);
}
