import { runningDaemon } from '#box/lock.ts';
import { type ErrorCode, SitewardError } from '#errors.ts';
import { statusDocument } from '#lan/http/index.ts';
import { sleep } from '#lib/wait.ts';
import { answered, openControl } from './control.ts';

const waitMs = 20_000;
const everyMs = 250;
/** After so long an error that was there before is one of the new file. */
const staleMs = 5000;

export const howToReload = 'siteward takes it with: systemctl reload siteward';

/**
 * Tells the running daemon to read its configuration again and waits until `isTaken`. `isWritten`: the file was changed before, which
 * an error says first. Throws `control_unreachable` where none runs, `config_invalid` where it does not take the file, `deadline`.
 */
export async function reloadUntil(options: {
  readonly stateDir: string;
  readonly socket: string;
  readonly isTaken: () => Promise<boolean>;
  readonly isWritten?: boolean;
}): Promise<void> {
  await using control = openControl(options.socket);
  const failed = (code: ErrorCode, why: string, cause?: unknown) =>
    new SitewardError(code, `${options.isWritten === true ? 'the change is written, but ' : ''}${why}`, { cause });
  const signal = () => AbortSignal.timeout(10_000);
  const errorNow = async () =>
    statusDocument.parse(answered(await control.client.getStatus({ signal: signal() })).json).config.error;
  const pid = runningDaemon(options.stateDir);
  if (pid === undefined) throw failed('control_unreachable', 'no siteward runs that this user can see');
  const before = await errorNow();
  try {
    process.kill(pid, 'SIGHUP');
  } catch (cause) {
    throw failed('control_unreachable', `this user may not tell siteward. ${howToReload}`, cause);
  }
  const begun = performance.now();
  for (;;) {
    await sleep(everyMs, signal());
    const [error, sinceMs] = [await errorNow(), performance.now() - begun];
    if (error !== undefined && (error !== before || sinceMs > staleMs))
      throw failed('config_invalid', `siteward does not take the configuration: ${error}`);
    if (await options.isTaken()) return;
    if (sinceMs > waitMs)
      throw failed('deadline', `siteward has not taken the configuration within ${waitMs / 1000} s; its log says why`);
  }
}
