import { eventually } from '#sandbox/demo/processes.ts';
import type { Site } from '../harness/site.ts';

interface Outbox {
  readonly waiting: Readonly<Record<string, number>>;
  readonly parked: number;
  readonly media_waiting: number;
}

/** Resolves when every event was accepted and every picture has its fate; nothing is parked. */
export async function outboxIsEmpty(site: Site, options: { timeoutMs: number }): Promise<void> {
  let last: Outbox | undefined;
  const empty = async () => {
    last = ((await site.api('/api/v1/status')) as { outbox: Outbox }).outbox;
    const { waiting, parked, media_waiting } = last;
    return Object.values(waiting).reduce((sum, count) => sum + count, parked + media_waiting) === 0 ? true : undefined;
  };
  try {
    await eventually('an empty outbox', empty, options);
  } catch (error) {
    const log = site.daemon.lines().filter((line) => /"level":"(warn|error)"/.test(line));
    throw new Error(`${String(error)}; it holds ${JSON.stringify(last)}\n${log.slice(-20).join('\n')}`);
  }
}
