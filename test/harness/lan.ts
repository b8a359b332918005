import { randomUUID } from 'node:crypto';
import { connectAsync } from 'mqtt';
import { eventually } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';

export interface SeenEvent {
  /** When it was seen, wall clock milliseconds. */
  readonly at: number;
  readonly event: SiteEvent;
}

export interface Reply {
  readonly id: string;
  readonly outcome: string;
  readonly final: boolean;
  readonly partition?: string;
  readonly state?: string;
  readonly seq?: number;
  readonly error?: { readonly code: string };
}

export interface SeenReply {
  readonly at: number;
  readonly reply: Reply;
}

/** A client of the site's LAN that writes down what it sees and plays the person at the keypad. */
export interface Lan {
  /** Every `event/<class>`, in the order seen. */
  readonly events: readonly SeenEvent[];
  /** Every final reply to any client, in the order seen. */
  readonly replies: readonly SeenReply[];
  /** The last payload of a topic below the site's root. */
  retained(path: string): string | undefined;
  /** Resolves when a topic below the root shows this payload. */
  shows(path: string, payload: string, timeoutMs?: number): Promise<void>;
  /** Sends a command and does not wait; returns its id. */
  send(verb: string, body: Readonly<Record<string, unknown>>): Promise<string>;
  /**
   * Sends a command and waits for its final reply. Sent again under the same id every two seconds, since a broker that
   * restarts may lose a command; siteward answers a repeat without doing it twice.
   */
  ask(verb: string, body: Readonly<Record<string, unknown>>, timeoutMs?: number): Promise<Reply>;
  /** Publishes as any device would, QoS 1; resolves when the broker has it. */
  publish(topic: string, payload: string, options?: { retain?: boolean }): Promise<void>;
  close(): Promise<void>;
}

const repeatMs = 2000;
const patterns = [
  'status',
  'info',
  'outbox',
  'partition/#',
  'zone/#',
  'link/#',
  'camera/#',
  'event/+',
  'reply/+/+',
  'verification/+',
];

/** Its session outlives its connection, so that it misses nothing while the broker restarts in order. */
export async function watchLan(options: { url: string; root: string; clientId?: string }): Promise<Lan> {
  const { root, clientId = `watch-${randomUUID().slice(0, 8)}` } = options;
  const client = await connectAsync(options.url, {
    clientId,
    protocolVersion: 4,
    clean: false,
    reconnectPeriod: 100,
    queueQoSZero: false,
  });
  client.on('error', () => undefined);
  const topics = new Map<string, string>();
  const events: SeenEvent[] = [];
  const replies: SeenReply[] = [];
  client.on('message', (topic, bytes) => {
    const path = topic.slice(root.length + 1);
    const payload = bytes.toString('utf8');
    const at = Date.now();
    // Home Assistant is told the same again in its own words.
    if (path === 'event/ha') return;
    if (path.startsWith('event/')) events.push({ at, event: JSON.parse(payload) as SiteEvent });
    else if (path.startsWith('reply/')) {
      const reply = JSON.parse(payload) as Reply;
      if (reply.final) replies.push({ at, reply });
    } else topics.set(path, payload);
  });
  await client.subscribeAsync(
    patterns.map((path) => `${root}/${path}`),
    { qos: 1 },
  );

  function command(verb: string, body: Readonly<Record<string, unknown>>) {
    const id = randomUUID();
    const reply_to = `${root}/reply/${clientId}/${id}`;
    const payload = JSON.stringify({ id, issued_at: new Date().toISOString(), reply_to, ...body });
    const send = async () => void (await client.publishAsync(`${root}/cmd/${verb}`, payload, { qos: 1 }));
    return { id, send };
  }

  return {
    events,
    replies,
    retained: (path) => topics.get(path),
    async shows(path, payload, timeoutMs = 15_000) {
      await eventually(`${path} is ${payload}`, () => (topics.get(path) === payload ? true : undefined), {
        timeoutMs,
        everyMs: 10,
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}; it is ${topics.get(path) ?? 'not there'}`);
      });
    },
    async send(verb, body) {
      const { id, send } = command(verb, body);
      await send();
      return id;
    },
    async ask(verb, body, timeoutMs = 15_000) {
      const { id, send } = command(verb, body);
      const found = () => replies.findLast(({ reply }) => reply.id === id)?.reply;
      const again = setInterval(() => void send().catch(() => undefined), repeatMs);
      try {
        await send();
        return await eventually(`the final reply to ${verb}`, found, { timeoutMs, everyMs: 10 });
      } finally {
        clearInterval(again);
      }
    },
    async publish(topic, payload, { retain = false } = {}) {
      await client.publishAsync(topic, payload, { qos: 1, retain });
    },
    async close() {
      await client.endAsync(true);
    },
  };
}
