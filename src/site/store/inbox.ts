import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { unpacker } from './pack.ts';
import type { StoreRequest, ToWorker } from './protocol.ts';

/** Longest wait for the rest of a rush that was announced. The main thread may be held up by something else. */
const restMs = 1;

/** What has reached the store thread and was not taken into a group yet. */
export class Inbox {
  readonly #port: MessagePort;
  readonly #sent: Int32Array;
  readonly #unpack = unpacker();
  #more = false;
  #requests: StoreRequest[] = [];
  /** Highest seq in use; set once the main thread wants the store closed. */
  close: number | undefined;

  /** `sent`: see `WorkerData`. */
  constructor(port: MessagePort, sent: Int32Array) {
    this.#port = port;
    this.#sent = sent;
  }

  put(message: ToWorker): void {
    this.#more = message.kind === 'requests' && message.more;
    if (message.kind === 'close') this.close = message.maxSeq;
    else if (this.#requests.length === 0) this.#requests = this.#unpack(message.requests);
    else this.#requests.push(...this.#unpack(message.requests));
  }

  /** Everything that is here now. */
  all(): StoreRequest[] {
    this.#poll();
    const requests = this.#requests;
    this.#requests = [];
    return requests;
  }

  /**
   * Requests from the front as long as `fits` takes them; looks at the port only when none is left. Waits for what
   * the main thread said it is about to send, and for nothing else: a commit costs more than that wait.
   */
  matching(fits: (request: StoreRequest) => boolean): StoreRequest[] {
    if (this.#requests.length === 0) this.#poll();
    if (this.#requests.length === 0 && this.#more) this.#await();
    const end = this.#requests.findIndex((request) => !fits(request));
    return this.#requests.splice(0, end === -1 ? this.#requests.length : end);
  }

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  #await(): void {
    const until = performance.now() + restMs;
    while (this.#more && this.#requests.length === 0) {
      const seen = Atomics.load(this.#sent, 0);
      this.#poll();
      const leftMs = until - performance.now();
      if (leftMs <= 0) this.#more = false;
      // The count may still be due for a message that is already here, so one waking is not enough.
      else if (this.#requests.length === 0 && this.#more) Atomics.wait(this.#sent, 0, seen, leftMs);
    }
  }

  #poll(): void {
    let received = receiveMessageOnPort(this.#port);
    while (received !== undefined) {
      this.put(received.message);
      received = receiveMessageOnPort(this.#port);
    }
  }
}
