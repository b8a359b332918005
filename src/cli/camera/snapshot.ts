import { open } from 'node:fs/promises';
import { answered, openControl } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { unusable, withFile } from '../named-file.ts';

/** Longer than the camera may take (10 s) and who asks it (11 s). */
const patienceMs = 15_000;

/**
 * `siteward camera snapshot ID`: a picture through the daemon, which asks the camera only where its `pictures` setting
 * allows one (safety 11). The file is new and for this user alone; a picture on a terminal would be noise.
 */
export async function snapshot(
  id: string,
  options: { out: string; force: boolean; json: boolean; socket: string },
): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const call = { params: { id }, signal: AbortSignal.timeout(patienceMs), deadlineMs: patienceMs };
  const { body } = answered(await control.client.cameraSnapshot(call));
  await withFile(options.out, async () => {
    const file = await open(options.out, options.force ? 'w' : 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      throw unusable(`${options.out} is there already; name another file, or replace it with --force`);
    });
    try {
      await file.writeFile(body);
    } finally {
      await file.close();
    }
  });
  if (options.json) console.log(JSON.stringify({ camera: id, file: options.out, bytes: body.length }));
  else console.log(`${options.out}: a picture of ${id}, ${body.length} bytes`);
  return exitCodes.ok;
}
