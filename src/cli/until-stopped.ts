import { SitewardError } from '#errors.ts';

/** Aborts at Ctrl-C, at SIGTERM, and after `seconds` where they are given. */
export function untilStopped(seconds?: number): { readonly signal: AbortSignal } & Disposable {
  const stop = new AbortController();
  const abort = () => stop.abort(new SitewardError('stopped', 'stopped'));
  process.once('SIGINT', abort);
  process.once('SIGTERM', abort);
  const timer = seconds === undefined ? undefined : setTimeout(abort, seconds * 1000);
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      process.off('SIGINT', abort);
      process.off('SIGTERM', abort);
    },
  };
}
