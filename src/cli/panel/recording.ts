import { createWriteStream, openSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { systemCode } from '#lib/system-code.ts';

export interface Recording {
  /** `payload` without its secrets; undefined for what is no text, which is only counted. */
  add(row: { readonly topic: string; readonly payload: string | undefined; readonly retain: boolean }): void;
  /** Resolves when everything is written. Throws what the disk said. */
  close(): Promise<void>;
  said(): string;
}

const fileBytes = 64 * 1024 * 1024;
const waitingBytes = 8 * 1024 * 1024;

/**
 * A new file of mode 0600 for `siteward panel try --replay`. At 64 MiB, or while the disk is behind, rows are counted and
 * not written. Throws when the file is there already.
 */
export function openRecording(path: string): Recording {
  const stream = createWriteStream(path, { fd: openNew(path) });
  let failure: unknown;
  stream.on('error', (error) => {
    failure = error;
  });
  let [rows, left, noText, bytes] = [0, 0, 0, 0];
  return {
    add({ topic, payload, retain }) {
      if (payload === undefined) {
        noText += 1;
        return;
      }
      const line = `${JSON.stringify({ topic, payload, retain })}\n`;
      if (failure !== undefined || bytes + line.length > fileBytes || stream.writableLength > waitingBytes) {
        left += 1;
        return;
      }
      rows += 1;
      bytes += line.length;
      stream.write(line);
    },
    async close() {
      stream.end();
      await finished(stream).catch((error: unknown) => {
        throw new Error(`${path} cannot be written`, { cause: failure ?? error });
      });
    },
    said() {
      const more = [...(left > 0 ? [`${left} were too many`] : []), ...(noText > 0 ? [`${noText} were no text`] : [])];
      return `${rows} messages in ${path}, codes and tokens blanked${more.length > 0 ? `; ${more.join(', ')}` : ''}`;
    },
  };
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (cause) {
    if (systemCode(cause) === 'EEXIST') throw new Error(`${path} is there already; name another file`);
    throw new Error(`${path} cannot be written`, { cause });
  }
}
