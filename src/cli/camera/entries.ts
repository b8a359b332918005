import { describe } from '#errors.ts';
import { type CameraEntry, cameraList } from '#lan/http/index.ts';
import { answered, openControl } from '../control.ts';
import { reloadUntil } from '../reload-daemon.ts';

/** `reloadUntil` its cameras are `as` wanted, after the file was changed. */
export async function reloadCameras(options: {
  readonly stateDir: string;
  readonly socket: string;
  readonly as: (cameras: readonly CameraEntry[]) => boolean | Promise<boolean>;
}): Promise<void> {
  await reloadUntil({ ...options, isWritten: true, isTaken: async () => options.as(await camerasOf(options.socket)) });
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
