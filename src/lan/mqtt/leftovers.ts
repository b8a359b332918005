import type { Publisher } from './publisher.ts';

/**
 * Clears topics on which a command stands, or may stand: whoever reads it there later would find the code in it. At most once a
 * second each, so that a flood is not answered by one. An empty message is no command.
 */
export interface Leftovers {
  /** False where that was done a moment ago and is done again, or too many topics are: what stays is cleared with the next connection. */
  clear(topic: string): boolean;
  /** The connection is gone. */
  close(): void;
}

const everyMs = 1000;
const cap = 256;

export function createLeftovers(publisher: Pick<Publisher, 'send'>): Leftovers {
  /** Those of the last second, and whether one came since. */
  const recent = new Map<string, 'cleared' | 'due'>();
  let timer: NodeJS.Timeout | undefined;

  // A silent call for help may have come there (safety 4).
  const send = (topic: string) =>
    publisher.send({ topic, payload: '', qos: 1, retain: true, uncounted: true }) ? 'cleared' : 'due';

  function review(): void {
    for (const [topic, is] of recent) {
      if (is === 'due') recent.set(topic, send(topic));
      else recent.delete(topic);
    }
    timer = recent.size === 0 ? undefined : setTimeout(review, everyMs).unref();
  }

  return {
    clear(topic) {
      const isRecent = recent.has(topic);
      if (!isRecent && recent.size >= cap) return false;
      recent.set(topic, isRecent ? 'due' : send(topic));
      timer ??= setTimeout(review, everyMs).unref();
      return !isRecent;
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
      recent.clear();
    },
  };
}
