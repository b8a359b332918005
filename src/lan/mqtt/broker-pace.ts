import type { Duplex } from 'node:stream';
import type { Aedes, Client } from 'aedes';

/**
 * Two mends of aedes 1.2, which holds what a client has sent in memory without a bound and calls itself once for each message that
 * nobody takes, until the stack is full and the process ends. They reach into it: `test/lan/mqtt/bad-clients.test.ts` fails
 * where another version is made otherwise.
 */

/** aedes reads on as soon as data has come, though what it has read before is not done yet; here only then. */
export function inTurns(conn: Duplex, client: Client): void {
  const inside = client as unknown as { readonly _parsingBatch: number; readonly _nextBatch: () => void };
  const { _nextBatch: next } = inside;
  if (!conn.listeners('readable').includes(next)) throw new TypeError('this aedes reads in another way');
  let hasBegun = false;
  conn.off('readable', next);
  conn.on('readable', () => {
    if (hasBegun && inside._parsingBatch > 0) return;
    hasBegun = true;
    next();
  });
}

/** So many ends of messages may come within the beginning of the next. */
const depth = 64;

/** Now and then there is somebody to wait for, so that the stack empties. */
export function neverAtOnce(broker: Aedes): void {
  const { mq } = broker as unknown as {
    mq: { on(filter: string, take: (message: unknown, done: () => void) => void): void };
  };
  let count = 0;
  mq.on('#', (_, done) => {
    count = (count + 1) % depth;
    if (count === 0) setImmediate(done);
    else done();
  });
}
