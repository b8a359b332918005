import { describe, SitewardError } from '#errors.ts';
import { type CameraEntry, cameraList, statusDocument } from '#lan/http/index.ts';
import { sleep } from '#lib/wait.ts';
import { runningDaemon } from '../daemon/lock.ts';
import { answered, openControl } from './control.ts';

const waitMs = 20_000;
const everyMs = 250;
/** After so long an error that was there before is one of the new file. */
const staleMs = 5000;

export const howToReload = 'siteward takes it with: systemctl reload siteward';

/**
 * Tells the running daemon to read its configuration again and waits until its cameras are `as` wanted. Throws
 * `control_unreachable` where none runs, `config_invalid` where it does not take the file, `deadline`.
 */
export async function reloadDaemon(options: {
  readonly stateDir: string;
  readonly socket: string;
  readonly as: (cameras: readonly CameraEntry[]) => boolean | Promise<boolean>;
}): Promise<void> {
  await reloadUntil({ ...options, isTaken: async () => options.as(await camerasOf(options.socket)) });
}

/** The same until `isTaken`. */
export async function reloadUntil(options: {
  readonly stateDir: string;
  readonly socket: string;
  readonly isTaken: () => Promise<boolean>;
}): Promise<void> {
  await using control = openControl(options.socket);
  const signal = () => AbortSignal.timeout(10_000);
  const errorNow = async () =>
    statusDocument.parse(answered(await control.client.getStatus({ signal: signal() })).json).config.error;
  const pid = runningDaemon(options.stateDir);
  if (pid === undefined)
    throw new SitewardError(
      'control_unreachable',
      'the change is written, but no siteward runs that this user can see',
    );
  const before = await errorNow();
  try {
    process.kill(pid, 'SIGHUP');
  } catch (cause) {
    throw new SitewardError(
      'control_unreachable',
      `the change is written, but this user may not tell siteward. ${howToReload}`,
      {
        cause,
      },
    );
  }
  const begun = performance.now();
  for (;;) {
    await sleep(everyMs, signal());
    const [error, sinceMs] = [await errorNow(), performance.now() - begun];
    if (error !== undefined && (error !== before || sinceMs > staleMs))
      throw new SitewardError('config_invalid', `the change is written, but siteward does not take it: ${error}`);
    if (await options.isTaken()) return;
    if (sinceMs > waitMs)
      throw new SitewardError(
        'deadline',
        `the change is written, but siteward has not taken it within ${waitMs / 1000} s; its log says why`,
      );
  }
}

/** What the daemon knows of its cameras. Throws as `answered` does. */
export async function camerasOf(socket: string): Promise<readonly CameraEntry[]> {
  await using control = openControl(socket);
  const { json } = answered(await control.client.listCameras({ signal: AbortSignal.timeout(10_000) }));
  return cameraList.parse(json).items;
}

/** Undefined where no daemon answers, and why. */
export async function camerasOrWhy(socket: string): Promise<readonly CameraEntry[] | string> {
  try {
    return await camerasOf(socket);
  } catch (error) {
    return describe(error);
  }
}
