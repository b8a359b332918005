import type { IClientPublishOptions } from 'mqtt';
import { Counter, Gauge, type Registry } from 'prom-client';

/** A connection that is up. `publish` resolves when the broker has it (QoS 1) or when it is written (QoS 0). */
export interface Session {
  readonly protocol: 4 | 5;
  publish(topic: string, payload: string | Buffer, options: IClientPublishOptions): Promise<void>;
}

export interface Message {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly qos: 0 | 1;
  readonly retain: boolean;
  readonly properties?: IClientPublishOptions['properties'];
  /** No metric tells of it (safety 4). */
  readonly uncounted?: boolean;
}

/**
 * Two ways out, in this order: messages (events, replies) once and only while connected, and retained state, where the latest
 * value of each topic is remembered and sent anew with every connection. Nothing stale can wait here.
 */
export interface Publisher {
  /** Sets a retained topic; sent if it differs from what was last set, or always with `force`. */
  state(topic: string, payload: string, options?: { readonly qos?: 0 | 1; readonly force?: boolean }): void;
  /** Clears a retained topic and forgets it. */
  retract(topic: string): void;
  /** False when it was dropped: not connected, or 1,000 messages wait already. */
  send(message: Message): boolean;
  /** The same, and whether the broker has it (QoS 1) or it was written (QoS 0): false when it was dropped or lost. */
  deliver(message: Message): Promise<boolean>;
  /** Retained topics set so far. */
  topics(): readonly string[];
  has(topic: string): boolean;
  /** Sends state anew though nothing changed. */
  again(which: (topic: string) => boolean): void;
  /** Begins a connection: all state, then `last` at the very end. */
  open(session: Session, last: readonly Message[]): void;
  close(): void;
  /** Resolves when nothing is on its way any more or the connection is gone. */
  drained(): Promise<void>;
  /**
   * Sends the messages that wait, then this one in place of all state that is left or still comes, and of what was to come last. Resolves
   * when the broker has it, or the connection is gone.
   */
  leave(message: Message): Promise<boolean>;
}

/** As many unacknowledged publishes as a broker surely takes; the order on the wire is kept. */
const inflightCap = 32;
const queueCap = 1000;

export function createPublisher({ metrics }: { readonly metrics: Registry }): Publisher {
  const sent = new Counter({
    name: 'siteward_mqtt_published_total',
    help: 'MQTT messages handed to the broker, by kind.',
    labelNames: ['kind'],
    registers: [metrics],
  });
  const dropped = new Counter({
    name: 'siteward_mqtt_publish_dropped_total',
    help: 'MQTT events and replies that could not be sent, by reason.',
    labelNames: ['reason'],
    registers: [metrics],
  });
  new Gauge({
    name: 'siteward_mqtt_publish_waiting',
    help: 'MQTT messages and state topics that wait to be sent.',
    registers: [metrics],
    collect() {
      this.set(countable().length + dirty.size);
    },
  });

  // Bounded by the plan: each of its partitions, zones, cameras and panels has a fixed handful of topics.
  const wanted = new Map<string, { payload: string; qos: 0 | 1 }>();
  const dirty = new Map<string, { payload: string; qos: 0 | 1 }>();
  let queue: Message[] = [];
  let tail: Message[] = [];
  let session: Session | undefined;
  let inflight = 0;
  /** Of state only what is remembered counts from here on. */
  let isLeaving = false;
  const waiters: (() => void)[] = [];
  /** Bounded by the queue and what is on its way. */
  const awaited = new Map<Message, (told: boolean) => void>();
  const countable = () => queue.filter(({ uncounted }) => uncounted !== true);

  function next(): Message | undefined {
    const message = queue.shift();
    if (message !== undefined) return message;
    for (const [topic, value] of dirty) {
      dirty.delete(topic);
      return { topic, ...value, retain: true };
    }
    return tail.shift();
  }

  function pump(): void {
    while (session !== undefined && inflight < inflightCap) {
      const message = next();
      if (message === undefined) break;
      void publish(session, message);
    }
    if (inflight > 0 && session !== undefined) return;
    for (const wake of waiters.splice(0)) wake();
  }

  function settle(message: Message, told: boolean): void {
    awaited.get(message)?.(told);
    awaited.delete(message);
  }

  function send(message: Message): boolean {
    if (session === undefined || queue.length >= queueCap) {
      if (message.uncounted !== true) dropped.inc({ reason: session === undefined ? 'not_connected' : 'queue_full' });
      return false;
    }
    queue.push(message);
    pump();
    return true;
  }

  async function publish(over: Session, message: Message): Promise<void> {
    inflight += 1;
    const { topic, payload, qos, retain, properties } = message;
    try {
      await over.publish(topic, payload, { qos, retain, ...(properties === undefined ? {} : { properties }) });
      if (message.uncounted !== true) sent.inc({ kind: retain ? 'state' : 'message' });
      settle(message, true);
    } catch {
      settle(message, false);
      // The connection is going away: state is sent anew with the next one, a message is lost and counted.
      if (!retain && message.uncounted !== true) dropped.inc({ reason: 'connection_lost' });
    }
    if (over !== session) return;
    inflight -= 1;
    pump();
  }

  return {
    state(topic, payload, { qos = 1, force = false } = {}) {
      const known = wanted.get(topic);
      if (!force && known?.payload === payload) return;
      wanted.set(topic, { payload, qos });
      if (session === undefined || isLeaving) return;
      dirty.set(topic, { payload, qos });
      pump();
    },
    retract(topic) {
      wanted.delete(topic);
      if (session === undefined || isLeaving) return;
      dirty.set(topic, { payload: '', qos: 1 });
      pump();
    },
    send,
    deliver: (message) =>
      new Promise((resolve) => {
        awaited.set(message, resolve);
        if (!send(message)) settle(message, false);
      }),
    topics: () => [...wanted.keys()],
    has: (topic) => wanted.has(topic),
    again(which) {
      if (session === undefined || isLeaving) return;
      for (const [topic, value] of wanted) if (which(topic)) dirty.set(topic, value);
      pump();
    },
    open(next, last) {
      session = next;
      inflight = 0;
      isLeaving = false;
      queue = [];
      dirty.clear();
      for (const [topic, value] of wanted) dirty.set(topic, value);
      tail = [...last];
      pump();
    },
    close() {
      session = undefined;
      dropped.inc({ reason: 'connection_lost' }, countable().length);
      queue = [];
      tail = [];
      dirty.clear();
      inflight = 0;
      for (const message of awaited.keys()) settle(message, false);
      pump();
    },
    leave(message) {
      if (session === undefined) return Promise.resolve(false);
      isLeaving = true;
      dirty.clear();
      tail = [message];
      const left = new Promise<boolean>((resolve) => awaited.set(message, resolve));
      pump();
      return left;
    },
    drained() {
      const idle = session === undefined || (inflight === 0 && queue.length + dirty.size + tail.length === 0);
      return idle ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve));
    },
  };
}
