import { randomBytes } from 'node:crypto';
import { type Wakeup, wakeup } from '#lib/wait.ts';
import type { Notification } from './topics.ts';

/** Messages one pull point holds; the oldest gives way. */
const queueCap = 200;
export const longestLifeMs = 10 * 60_000;

export interface PullPoint {
  readonly id: string;
  /** Camera time, milliseconds. */
  expiresAt: number;
  readonly queue: Notification[];
  readonly wakeup: Wakeup;
}

/** The camera's pull points, at most `limit`; expired ones leave when someone looks. */
export class Subscriptions {
  readonly #points = new Map<string, PullPoint>();
  readonly #limit: number;
  readonly #now: () => number;

  constructor(options: { limit: number; now: () => number }) {
    this.#limit = options.limit;
    this.#now = options.now;
  }

  /** Undefined when all slots are taken. */
  open(lifeMs: number, initial: readonly Notification[]): PullPoint | undefined {
    this.#expire();
    if (this.#points.size >= this.#limit) return undefined;
    const expiresAt = this.#now() + Math.min(lifeMs, longestLifeMs);
    const point: PullPoint = { id: randomBytes(6).toString('hex'), expiresAt, queue: [], wakeup: wakeup() };
    this.#points.set(point.id, point);
    this.#push(point, initial);
    return point;
  }

  find(id: string): PullPoint | undefined {
    this.#expire();
    return this.#points.get(id);
  }

  /** Whether there was one. */
  close(id: string): boolean {
    const point = this.#points.get(id);
    this.#points.delete(id);
    point?.wakeup.wake();
    return point !== undefined;
  }

  closeAll(): void {
    for (const id of [...this.#points.keys()]) this.close(id);
  }

  /** The camera's clock goes this much further on, and they live as long as they would have. */
  moveBy(ms: number): void {
    for (const point of this.#points.values()) point.expiresAt += ms;
  }

  get count(): number {
    this.#expire();
    return this.#points.size;
  }

  notify(messages: readonly Notification[], point?: PullPoint): void {
    for (const target of point === undefined ? this.#points.values() : [point]) this.#push(target, messages);
  }

  /** Waits until a message is there, the time is over or the pull point is gone; takes at most `limit` messages. */
  async pull(point: PullPoint, timeoutMs: number, limit: number, signal: AbortSignal): Promise<Notification[]> {
    const deadline = this.#now() + timeoutMs;
    while (point.queue.length === 0 && this.#points.has(point.id)) {
      const left = deadline - this.#now();
      if (left <= 0) break;
      await point.wakeup.wait(left, signal);
    }
    return point.queue.splice(0, limit);
  }

  #push(point: PullPoint, messages: readonly Notification[]): void {
    point.queue.push(...messages);
    const over = point.queue.length - queueCap;
    if (over > 0) point.queue.splice(0, over);
    if (messages.length > 0) point.wakeup.wake();
  }

  #expire(): void {
    for (const point of this.#points.values()) if (point.expiresAt <= this.#now()) this.close(point.id);
  }
}
