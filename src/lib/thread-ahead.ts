import { Worker } from 'node:worker_threads';

/** What a thread that is started ahead has for `workerData`: its work comes with its first message. */
export const workComes = 'work comes';

/** A thread that runs before it is needed. */
export interface ThreadAhead {
  /** The thread, given its work. Undefined where it has ended, or was taken before: whoever asks starts one of its own. */
  take(work: unknown): Worker | undefined;
}

/**
 * Starts a thread before anybody knows what it is to do, so that it loads its program beside the main thread, which loads its own. It keeps no
 * process alive until it is taken.
 */
export function threadAhead(file: URL, name: string): ThreadAhead {
  // Flags of the main thread (inspectors, test loaders) are not for this one.
  let waiting: Worker | undefined = new Worker(file, { workerData: workComes, execArgv: [], name });
  const ended = () => {
    waiting = undefined;
  };
  waiting.once('exit', ended).on('error', ended).unref();
  return {
    take(work) {
      const taken = waiting;
      waiting = undefined;
      taken?.ref();
      taken?.postMessage(work);
      return taken;
    },
  };
}
