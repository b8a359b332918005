import { never, withDeadline } from '#lib/wait.ts';

const memoryMs = 1000;
/** For the first reading: the store answers late while a machine starts. Less than the time a connection may take. */
export const firstReadMs = 5000;

/**
 * Work with the memory port, best effort: undefined where it fails, throws or hangs, as a store that is gone must not keep a
 * camera from being watched.
 */
export async function patiently<T>(
  work: () => Promise<T>,
  options: { readonly ms?: number; readonly signal?: AbortSignal; readonly failed?: (error: unknown) => void } = {},
): Promise<{ readonly value: T } | undefined> {
  const { ms = memoryMs, signal = never(), failed } = options;
  try {
    return await withDeadline(ms, signal, async () => ({ value: await work() }), 'the memory');
  } catch (error) {
    failed?.(error);
    return undefined;
  }
}
