import { lookup } from 'node:dns';
import { connect, type LookupFunction } from 'node:net';
import { bareHost } from '#lib/host.ts';

/** The servers a delivery depends on: the service itself, and the one that gives tokens. */
export type Place = 'base' | 'auth';

/** Whether a TCP connection to the server can be made now. No byte is sent, and no certificate is asked for. */
export type Look = (place: Place, signal: AbortSignal) => Promise<boolean>;

const lookMs = 3_000;

export function createLook(urls: Readonly<Record<Place, string>>): Look {
  /** Names being resolved. A silent resolver holds a thread for many seconds, so that only one may ask it. */
  let resolving = 0;
  const lookupOnce: LookupFunction = (host, options, done) => {
    resolving += 1;
    lookup(host, options, (...result) => {
      resolving -= 1;
      done(...(result as Parameters<typeof done>));
    });
  };

  return (place, signal) => {
    const { hostname, port, protocol } = new URL(urls[place]);
    if (resolving > 0 || signal.aborted) return Promise.resolve(false);
    const socket = connect({
      host: bareHost(hostname),
      port: Number(port || (protocol === 'http:' ? 80 : 443)),
      lookup: lookupOnce,
    });
    return new Promise((resolve) => {
      const end = (reachable: boolean) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', give);
        socket.destroy();
        resolve(reachable);
      };
      const give = () => end(false);
      const timer = setTimeout(give, lookMs);
      signal.addEventListener('abort', give, { once: true });
      socket.once('connect', () => end(true));
      // Stays, for what comes after the end.
      socket.on('error', give);
    });
  };
}
