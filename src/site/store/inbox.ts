import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { StoreRequest, ToWorker } from './protocol.ts';

/** What has reached the store thread and was not taken into a group yet. */
export class Inbox {
  readonly #port: MessagePort;
  #requests: StoreRequest[] = [];
  /** Highest seq in use; set once the main thread wants the store closed. */
  close: number | undefined;

  constructor(port: MessagePort) {
    this.#port = port;
  }

  put(message: ToWorker): void {
    if (message.kind === 'close') this.close = message.maxSeq;
    else if (this.#requests.length === 0) this.#requests = [...message.requests];
    else this.#requests.push(...message.requests);
  }

  /** Everything that is here now. */
  all(): StoreRequest[] {
    this.#poll();
    const requests = this.#requests;
    this.#requests = [];
    return requests;
  }

  /** Requests from the front as long as `fits` takes them; looks at the port only when none is left. */
  matching(fits: (request: StoreRequest) => boolean): StoreRequest[] {
    if (this.#requests.length === 0) this.#poll();
    const end = this.#requests.findIndex((request) => !fits(request));
    return this.#requests.splice(0, end === -1 ? this.#requests.length : end);
  }

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  #poll(): void {
    let received = receiveMessageOnPort(this.#port);
    while (received !== undefined) {
      this.put(received.message);
      received = receiveMessageOnPort(this.#port);
    }
  }
}
