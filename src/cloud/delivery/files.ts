import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { MediaFiles } from './uploader.ts';

/** Files of a spool that tells the path of a name. `discard` is called when the cloud has the file. */
export function mediaFilesOf(spool: { path(file: string): string; discard?(file: string): Promise<void> }): MediaFiles {
  return {
    async open(file) {
      const path = spool.path(file);
      const { size } = await stat(path);
      return { bytes: size, stream: () => createReadStream(path) };
    },
    ...(spool.discard === undefined ? {} : { discard: (file: string) => spool.discard?.(file) ?? Promise.resolve() }),
  };
}
