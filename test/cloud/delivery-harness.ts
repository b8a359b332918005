import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { Registry } from 'prom-client';
import { type CloudClient, type CloudClientOptions, createCloudClient } from '#cloud/client/index.ts';
import { createDelivery, type Delivery, type DeliveryOptions } from '#cloud/delivery/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import type { OutboxRow, Store } from '#site/store/index.ts';
import {
  commitRows,
  json,
  keyPair,
  type Line,
  lineTo,
  quiet,
  type Scripted,
  type Seen,
  scripted,
  testStore,
  until,
} from './support.ts';

const key = keyPair();

export interface Post {
  readonly id: string;
  readonly seq: number;
  readonly body: string;
  readonly event: Record<string, unknown>;
  readonly headers: Seen['headers'];
}

/** What the server does with the n-th request (from 1) that carries an event id. */
export type OnEvent = (post: Post, nth: number, response: ServerResponse, socket: Socket) => void | Promise<void>;

export interface Harness {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly storeDir: string;
  readonly server: Scripted;
  readonly cloud: CloudClient;
  readonly delivery: Delivery;
  readonly metrics: Registry;
  readonly links: [up: boolean, trouble: string | undefined][];
  /** Every event request in the order of arrival. */
  readonly posts: Post[];
  /** Between delivery and server. */
  readonly line: Line;
  readonly files: Map<string, Buffer>;
  readonly puts: Seen[];
  tokenRequests(): number;
  commit(rows: readonly OutboxRow[]): Promise<void>;
  waiting(): Promise<number>;
  /** Lets time pass while delivery waits for it and nothing is under way, until the condition holds. */
  passTime(what: string, condition: () => boolean | Promise<boolean>, stepMs?: number): Promise<void>;
  close(): Promise<void>;
}

export interface HarnessOptions {
  readonly onEvent?: OnEvent;
  readonly onToken?: (response: ServerResponse, nth: number) => void;
  /** What becomes of a look whether the cloud answers; a 404 unless given. */
  readonly onProbe?: (response: ServerResponse, socket: Socket) => void;
  readonly onPut?: (seen: Seen, response: ServerResponse, nth: number) => void;
  readonly delivery?: Partial<DeliveryOptions>;
  readonly cloud?: Partial<CloudClientOptions>;
  readonly start?: boolean;
  /** The store as delivery sees it. */
  readonly withStore?: (store: Store) => Store;
  /** The cloud's addresses lead through `line`. */
  readonly withLine?: boolean;
}

export const accept: OnEvent = (post, _nth, response) => json(response, 200, { event_id: post.id, uploads: [] });

export async function harness(options: HarnessOptions = {}): Promise<Harness> {
  const clock = manualClock();
  const { store, dir: storeDir, close: closeStore } = await testStore(clock);
  const posts: Post[] = [];
  const puts: Seen[] = [];
  const files = new Map<string, Buffer>();
  const counts = new Map<string, number>();
  let tokens = 0;
  let open = 0;
  const server = await scripted(async (seen, response, socket) => {
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
    response.setHeader('date', new Date(clock.wall()).toUTCString());
    if (seen.path === '/oauth/token') {
      tokens += 1;
      const grant = () =>
        json(response, 200, { access_token: `token-${tokens}`, token_type: 'Bearer', expires_in: 3600 });
      return options.onToken === undefined ? grant() : options.onToken(response, tokens);
    }
    if (seen.method === 'GET')
      return options.onProbe === undefined ? json(response, 404, {}) : options.onProbe(response, socket);
    if (seen.method === 'PUT') {
      puts.push(seen);
      return options.onPut === undefined ? json(response, 200, undefined) : options.onPut(seen, response, puts.length);
    }
    const event = JSON.parse(seen.body) as Record<string, unknown>;
    const post: Post = {
      id: String(event.event_id),
      seq: (event.payload as { seq: number }).seq,
      body: seen.body,
      event,
      headers: seen.headers,
    };
    posts.push(post);
    const nth = (counts.get(post.id) ?? 0) + 1;
    counts.set(post.id, nth);
    return (options.onEvent ?? accept)(post, nth, response, socket);
  });
  const line = await lineTo(server.url);
  const url = options.withLine === true ? line.url : server.url;
  const cloud = createCloudClient({
    baseUrl: url,
    authUrl: url,
    clientId: 'bridge-1',
    keys: { current: { pem: key.pem } },
    clock,
    log: quiet,
    random: () => 0.5,
    ...options.cloud,
  });
  const links: Harness['links'] = [];
  const metrics = new Registry();
  const delivery = createDelivery({
    store: options.withStore?.(store) ?? store,
    cloud,
    clock,
    log: quiet,
    metrics,
    random: () => 0.5,
    // And one more for alarms.
    slots: 3,
    onLink: (up, _reason, trouble) => links.push([up, trouble]),
    allowLoopbackHttp: true,
    uploadResume: 'off',
    files: {
      async open(file) {
        const bytes = files.get(file);
        if (bytes === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
        return { bytes: bytes.length, stream: (from = 0) => Readable.from([bytes.subarray(from)]) };
      },
      discard: async (file) => void files.delete(file),
      keep: async (file) => void files.delete(file),
    },
    ...options.delivery,
  });
  if (options.start !== false) await delivery.start(new AbortController().signal);
  return {
    clock,
    store,
    storeDir,
    server,
    line,
    cloud,
    delivery,
    metrics,
    links,
    posts,
    files,
    puts,
    tokenRequests: () => tokens,
    async commit(rows) {
      await commitRows(store, rows);
      delivery.wake();
    },
    async waiting() {
      const { pending } = await store.stats();
      return pending.alarm + pending.arming + pending.trouble + pending.activity;
    },
    async passTime(what, condition, stepMs = 1_000) {
      let arrived = -1;
      await until(what, async () => {
        if (await condition()) return true;
        const { state, facts } = delivery.health();
        const waits = state !== 'ok' || Number(facts?.aside) > 0 || facts?.inMemory === 0 || facts?.nextTryMs !== null;
        const { inFlight } = delivery.state();
        // What has left and has not arrived yet must not take seconds of this clock: its chain would be overtaken.
        const quietNow = open === 0 && inFlight === 0 && arrived === server.seen.length;
        arrived = server.seen.length;
        if (quietNow && waits) {
          clock.advance(stepMs);
          delivery.wake();
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        return false;
      });
    },
    async close() {
      await delivery.stop();
      await cloud.close();
      await line.close();
      await server.close();
      await closeStore();
    },
  };
}
