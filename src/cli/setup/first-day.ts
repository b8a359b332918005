import { readFileSync } from 'node:fs';
import { firstDayId, isFirstDay } from '#config/index.ts';
import { isCode } from '#errors.ts';
import { sleep } from '#lib/wait.ts';
import { isInForce } from '../config-in-force.ts';
import { answered, openControl, patience } from '../control.ts';
import { otherOn } from '../runs-with.ts';

/** Whether there is nothing but what the package began, which names no site. */
export function isOfFirstDay(file: string): boolean {
  try {
    return isFirstDay(readFileSync(file, 'utf8'));
  } catch {
    return false;
  }
}

const waitMs = 30_000;
const everyMs = 250;

/**
 * Has a daemon that runs on the configuration of the first day start again on `text`, since nobody becomes another site while he runs. Returns what
 * there is to say of it. Throws as `answered` does.
 */
export async function startAgain(
  { file, text }: { readonly file: string; readonly text: string },
  socket: string,
): Promise<string> {
  const byHand = '; systemctl restart siteward has it taken';
  try {
    if ((await otherOn(socket, file)) !== undefined) return '';
    await using control = openControl(socket);
    const result = await control.client.restart({ body: { confirm: firstDayId }, signal: patience() });
    if (result.kind === 'failure' || result.status !== 202) answered(result);
  } catch (error) {
    if (isCode(error, 'control_unreachable')) return '';
    if (isCode(error, 'danger_refused')) return byHand;
    throw error;
  }
  const until = performance.now() + waitMs;
  while (performance.now() < until) {
    if (await isInForce(text, socket).catch(() => false)) return ', and siteward has started again with it';
    await sleep(everyMs, patience());
  }
  return byHand;
}
