import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '#lib/durable-file.ts';
import { isoTime } from '#site/model/index.ts';

/** When a restart was asked for last; it must outlive that restart. */
const fileName = 'restart-asked';
/** During each, some seconds of alarms are not heard. */
const everyMs = 5 * 60_000;

/** How long until the next one, milliseconds; 0 from then on, where none is known, and where the clock was set back. */
export async function restartWaitMs(dir: string, wall: number): Promise<number> {
  const asked = Date.parse(await readFile(join(dir, fileName), 'utf8').catch(() => ''));
  const passed = wall - asked;
  return passed >= 0 && passed < everyMs ? everyMs - passed : 0;
}

/** Throws what the system throws. */
export const noteRestart = (dir: string, wall: number): Promise<void> =>
  writeDurably(join(dir, fileName), isoTime(wall));
