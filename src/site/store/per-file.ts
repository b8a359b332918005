import { fileNames, fileOf } from './lanes.ts';
import type { EventAt } from './types.ts';

/**
 * One request for each file, so that what one of them did is not called failed because of the other: the sum of what
 * was done, or the first error when that is nothing.
 */
export async function perFile(
  events: readonly EventAt[],
  ask: (some: readonly EventAt[]) => Promise<number>,
): Promise<number> {
  const at = events.map(({ seq, lane }) => ({ seq, lane }));
  const parts = fileNames.map((name) => at.filter(({ lane }) => fileOf(lane) === name));
  const answers = await Promise.allSettled(parts.filter((some) => some.length > 0).map(ask));
  const done = answers.reduce((sum, answer) => sum + (answer.status === 'fulfilled' ? answer.value : 0), 0);
  const failed = answers.find(({ status }) => status === 'rejected');
  if (done === 0 && failed?.status === 'rejected') throw failed.reason;
  return done;
}
