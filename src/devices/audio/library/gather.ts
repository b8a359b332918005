import { unlessAborted, withDeadline } from '#lib/wait.ts';
import { invalidFile, limits } from './limits.ts';

export type Source = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const deadlineMs = 60_000;

/** A file that comes in pieces. Rejects with `audio_invalid` where it is too large, `deadline`, or the signal's reason. */
export const gather = (source: Source, signal: AbortSignal): Promise<Buffer> =>
  withDeadline(deadlineMs, signal, (timely) => collect(source, timely), 'receiving the sound file');

async function collect(source: Source, signal: AbortSignal): Promise<Buffer> {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await unlessAborted(Promise.resolve(pieces.next()), signal);
      if (done === true) return Buffer.concat(chunks);
      bytes += value.length;
      if (bytes > limits.fileBytes) throw invalidFile('too_large', `${limits.fileBytes / 1e6} MB is the most. Cut it`);
      chunks.push(value);
    }
  } catch (error) {
    // Whoever sends may let go; one that hangs is not waited for.
    void Promise.resolve(pieces.return?.()).catch(() => undefined);
    throw error;
  }
}
