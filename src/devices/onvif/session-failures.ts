import { type ErrorCode, SitewardError } from '#errors.ts';

/** Failures of a step that say nothing about the next one. */
export const mild: readonly ErrorCode[] = ['camera_fault', 'camera_bad_answer', 'deadline'];

export function otherwise<T>(value: T, codes: readonly ErrorCode[]): (error: unknown) => T {
  return (error) => {
    if (error instanceof SitewardError && codes.includes(error.code)) return value;
    throw error;
  };
}

/** For steps that may fail in any way. */
export function unlessStopped(signal: AbortSignal): () => undefined {
  return () => {
    signal.throwIfAborted();
    return undefined;
  };
}
