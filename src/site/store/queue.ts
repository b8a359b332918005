import { SitewardError } from '#errors.ts';
import type { StoreLimits } from './limits.ts';
import type { StoreCall, StoreReply, StoreRequest } from './protocol.ts';

/** Takes the place of what was asked and answered. */
const answered: StoreRequest = { id: 0, op: 'stats' };
const ignore = () => {};

export interface Waiting {
  request: StoreRequest;
  readonly bytes: number;
  /** Workers that died while they held it. */
  deaths: number;
  settle: (reply: StoreReply) => void;
}

/**
 * Requests without an answer yet, in the order they were made. Bounded in count and bytes; the last part of both is
 * for commits with alarm rows, so that a flood of anything else never shuts out an alarm.
 */
export class RequestQueue {
  readonly #waiting = new Map<number, Waiting>();
  readonly #limits: StoreLimits;
  #bytes = 0;
  #lastId = 0;

  constructor(limits: StoreLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#waiting.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `queue_full` at the cap. */
  add(call: StoreCall, bytes: number, urgent: boolean, settle: Waiting['settle']): Waiting {
    const { queueCount, queueBytes, queueReserve } = this.#limits;
    const share = urgent ? 1 : 1 - queueReserve;
    if (this.#waiting.size + 1 > queueCount * share || this.#bytes + bytes > queueBytes * share) {
      throw new SitewardError('queue_full', 'The store cannot keep up: its queue is full. Is the disk very slow?', {
        facts: { waiting: this.#waiting.size, bytes: this.#bytes },
      });
    }
    this.#lastId += 1;
    const waiting: Waiting = { request: { ...call, id: this.#lastId }, bytes, deaths: 0, settle };
    this.#waiting.set(this.#lastId, waiting);
    this.#bytes += bytes;
    return waiting;
  }

  answer(reply: StoreReply): void {
    const waiting = this.#waiting.get(reply.id);
    // Answered twice: a dead worker's last message arrived after its requests were sent again.
    if (waiting === undefined) return;
    this.#waiting.delete(reply.id);
    this.#bytes -= waiting.bytes;
    const { settle } = waiting;
    // The tables a Map has grown out of keep what was in them until a full collection: it must not be the rows.
    waiting.request = answered;
    waiting.settle = ignore;
    settle(reply);
  }

  all(): Waiting[] {
    return [...this.#waiting.values()];
  }
}
