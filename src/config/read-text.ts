import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { SitewardError } from '#errors.ts';

const capBytes = 1024 * 1024;

/** The text of the configuration as `loadConfig` would take it, without holding up the loop. Throws `config_unreadable`. */
export async function readConfigText(path: string): Promise<string> {
  const unreadable = (reason: string, cause?: unknown) =>
    new SitewardError('config_unreadable', `the configuration ${path} cannot be read: ${reason}`, { cause });
  // O_NONBLOCK: a FIFO would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(cause.message, cause);
  });
  try {
    const found = await file.stat();
    if (!found.isFile()) throw unreadable('it is not a regular file');
    if (found.size > capBytes) throw unreadable(`it is larger than ${capBytes} bytes`);
    // With its mark, if it has one: what is put in its place must find it as it is.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readFile());
  } catch (cause) {
    if (cause instanceof SitewardError) throw cause;
    throw unreadable(cause instanceof TypeError ? 'it is not UTF-8 text' : String(cause), cause);
  } finally {
    await file.close();
  }
}
