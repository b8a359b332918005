import { Worker } from 'node:worker_threads';
import type { ConfigChecked } from '#lan/http/index.ts';
import { unlessAborted } from '#lib/wait.ts';
import type { ChangeJudged, ChangeRefused, ChangeWish } from './config-change.ts';
import type { CheckWish } from './config-judge.ts';

/** Most of it for a slow box that is busy: a file of the largest site takes a tenth of it. */
const judgeMs = 10_000;
/** Of a change, whose text is read again with each member that changes. */
const changeMs = 30_000;
const limits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 } as const;

const threadFile = () =>
  new URL(import.meta.url.endsWith('.ts') ? './config-judge.ts' : './config-judge.js', import.meta.url);

/** What a thread of its own makes of it; undefined where it does not come to an end. */
export function judged(work: CheckWish, signal: AbortSignal): Promise<ConfigChecked | undefined>;
export function judged(work: ChangeWish, signal: AbortSignal): Promise<ChangeJudged | ChangeRefused | undefined>;
export async function judged(work: CheckWish | ChangeWish, signal: AbortSignal): Promise<unknown> {
  const thread = new Worker(threadFile(), {
    ...{ workerData: work, execArgv: [], resourceLimits: limits, name: 'siteward-config' },
  });
  const { promise, resolve } = Promise.withResolvers<unknown>();
  thread.once('message', resolve);
  thread.once('error', () => resolve(undefined));
  thread.once('exit', () => resolve(undefined));
  const timer = setTimeout(() => resolve(undefined), 'changes' in work ? changeMs : judgeMs);
  try {
    return await unlessAborted(promise, signal);
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}
