import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { unreadable } from './unreadable.ts';

const capBytes = 1024 * 1024;

/** The text of the configuration as `loadConfig` would take it, without holding up the loop. Throws `config_unreadable`. */
export async function readConfigText(path: string): Promise<string> {
  try {
    // O_NONBLOCK: a FIFO would be waited for.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > capBytes) throw new Error(`it is larger than ${capBytes} bytes`);
    // With its mark, if it has one: what is put in its place must find it as it is.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readFile());
  } catch (cause) {
    throw unreadable(path, cause);
  }
}
