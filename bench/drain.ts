import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { Registry } from 'prom-client';
import { Pool } from 'undici';
import { type CloudClient, createCloudClient } from '#cloud/client/index.ts';
import { encodeEvent, withTimes } from '#cloud/contract/index.ts';
import { createDelivery, type Delivery } from '#cloud/delivery/index.ts';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import { sleep } from '#lib/wait.ts';
import { startProcess } from '#sandbox/demo/processes.ts';
import { isoTime, type Lane, type SiteEvent } from '#site/model/index.ts';
import { type OutboxRow, openStore, type Store } from '#site/store/index.ts';
import { type Figure, type Measurement, median, percentile, rounded } from './figure.ts';

export const backlog = 100_000;
const partitions = 32;
const bareEvents = 20_000;
const rounds = 3;
const alarmEveryMs = 50;
const goal = 0.8;
const alarmGoalMs = 250;

/** A full outbox against the sandbox cloud, beside bare undici with the same bodies. */
export const drain: Measurement = {
  name: 'drain',
  title: `Drain of ${backlog.toLocaleString('en')} waiting events`,
  about: `A store holds ${backlog.toLocaleString('en')} events of ${partitions} partitions in all four lanes. The delivery
sends them, one event per request, to the sandbox cloud in a process of its own on loopback, with the given number of
requests side by side; every ${alarmEveryMs} ms a new alarm comes in between, whose time runs from its commit to the
cloud's answer. Before and after each drain, bare undici in the same process posts ${bareEvents.toLocaleString('en')} of the same bodies with a token to the
same server at the same concurrency. ${rounds} rounds; the ratio is the median of the rounds' own.`,
  async run(tell) {
    const figures: Figure[] = [];
    for (const slots of [4, 8]) figures.push(...(await measure(slots, tell)));
    return figures;
  },
};

async function measure(slots: number, tell: (progress: string) => void): Promise<Figure[]> {
  const found: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    tell(`${slots} requests side by side, round ${round + 1} of ${rounds}`);
    found.push(await oneRound(slots));
  }
  const ratio = Math.round(median(found.map(({ drained, bare }) => drained / bare)) * 1000) / 1000;
  const alarms = found.flatMap(({ alarmMs }) => alarmMs);
  const p99 = rounded(percentile(alarms, 0.99));
  const of = `${slots} requests side by side`;
  return [
    { name: `bare undici, ${of}`, value: Math.round(median(found.map(({ bare }) => bare))), unit: 'events/s' },
    {
      name: `delivery, ${of}`,
      value: Math.round(median(found.map(({ drained }) => drained))),
      unit: 'events/s',
      ratio,
      goal: `at least ${goal} of bare undici`,
      met: ratio >= goal,
    },
    {
      name: `a fresh alarm meanwhile, ${of}, p99`,
      value: p99,
      unit: 'ms',
      goal: `under ${alarmGoalMs} ms`,
      met: p99 < alarmGoalMs,
    },
  ];
}

interface Round {
  readonly bare: number;
  readonly drained: number;
  readonly alarmMs: readonly number[];
}

async function oneRound(slots: number): Promise<Round> {
  return withBacklog(async ({ store, cloud, url, nextSeq }) => {
    const before = await bare(url, cloud, slots);
    const { rate, alarmMs } = await drainOf(store, cloud, { slots, nextSeq });
    const after = await bare(url, cloud, slots);
    return { bare: (before + after) / 2, drained: rate, alarmMs };
  });
}

/** A store with a full outbox, and the sandbox cloud it is for. */
export interface Backlog {
  readonly store: Store;
  readonly cloud: CloudClient;
  readonly url: string;
  /** The first number above the backlog. */
  readonly nextSeq: number;
}

export async function withBacklog<T>(work: (backlog: Backlog) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-bench-'));
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const sandbox = startProcess({
    name: 'sandbox',
    args: [join(import.meta.dirname, 'cloud.ts')],
    env: { PUBLIC_KEY: pair.publicKey },
  });
  const store = openStore({ dir: folder, clock, log, metrics: new Registry() });
  try {
    const url = await sandbox.until((line) => (line.startsWith('http') ? line : undefined), 'start');
    const keys = { current: { pem: new Secret(pair.privateKey) } };
    const cloud = createCloudClient({ baseUrl: url, authUrl: url, clientId: 'bridge-1', keys, clock, log });
    await store.start(never);
    const first = store.recovery().nextSeq;
    await fill(store, first);
    const result = await work({ store, cloud, url, nextSeq: first + backlog });
    await cloud.close();
    return result;
  } finally {
    await store.stop();
    await sandbox.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(store: Store, first: number): Promise<void> {
  const group = 1_000;
  for (let index = 0; index < backlog; index += group) {
    const rows = Array.from({ length: group }, (_, offset) => rowOf(first + index + offset));
    await store.commit({ rows, arming: [], inputs: [] });
  }
}

/** Events per second of plain undici: a request per event, its answer read as JSON. */
async function bare(url: string, cloud: CloudClient, slots: number): Promise<number> {
  const token = await cloud.eventTokens.get(never);
  if (token.kind !== 'token') throw new Error(token.message);
  const headers = { authorization: `Bearer ${token.value.reveal()}`, 'content-type': 'application/json' };
  const pool = new Pool(url, { connections: slots });
  let next = 0;
  const sender = async () => {
    while (next < bareEvents) {
      const { body: text, wall } = rowOf(1_000_000_000 + next);
      next += 1;
      const body = withTimes(text, isoTime(wall), isoTime(Date.now()));
      const answer = await pool.request({
        path: '/partner/v1/events',
        method: 'POST',
        headers,
        body,
        idempotent: true,
      });
      if (answer.statusCode !== 200) throw new Error(`the sandbox answered ${answer.statusCode}`);
      await answer.body.json();
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: slots }, sender));
  const rate = (bareEvents / (performance.now() - began)) * 1000;
  await pool.close();
  return rate;
}

async function drainOf(
  store: Store,
  cloud: CloudClient,
  { slots, nextSeq }: { slots: number; nextSeq: number },
): Promise<{ rate: number; alarmMs: number[] }> {
  const alarmMs: number[] = [];
  const since = new Map<string, number>();
  const { delivery, done } = delivering(store, cloud, {
    slots,
    onAccepted(id) {
      const begun = since.get(id);
      if (begun !== undefined) alarmMs.push(performance.now() - begun);
    },
  });
  const end = new AbortController();
  const began = performance.now();
  await delivery.start(never);
  const alarms = (async () => {
    for (let seq = nextSeq; ; seq += 1) {
      await sleep(alarmEveryMs, end.signal);
      const row = rowOf(seq, 'alarm', 'fresh');
      since.set(row.eventId, performance.now());
      await store.commit({ rows: [row], arming: [], inputs: [] });
      delivery.wake();
    }
  })().catch(() => {});
  await done;
  const rate = (backlog / (performance.now() - began)) * 1000;
  end.abort();
  await alarms;
  await delivery.stop();
  return { rate, alarmMs };
}

/** The delivery of a backlog, not started; `done` when the cloud has taken as many events as the backlog had. */
export function delivering(
  store: Store,
  cloud: CloudClient,
  options: { slots: number; onAccepted?: (eventId: string) => void },
): { delivery: Delivery; done: Promise<void> } {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let accepted = 0;
  const postEvent: CloudClient['api']['postEvent'] = async (input) => {
    const answer = await cloud.api.postEvent(input);
    accepted += 1;
    options.onAccepted?.(input.headers?.['x-partner-trace-id'] ?? '');
    if (accepted === backlog) resolve();
    return answer;
  };
  const delivery = createDelivery({
    store,
    cloud: { ...cloud, api: { ...cloud.api, postEvent } },
    files: {
      open: () => Promise.reject(new Error('there are no files')),
      discard: async () => undefined,
      keep: async () => undefined,
    },
    clock,
    log,
    metrics: new Registry(),
    slots: options.slots,
    allowLoopbackHttp: true,
    uploadResume: 'off',
    onLink: () => undefined,
  });
  return { delivery, done };
}

const clock = systemClock();
const log = pino({ level: 'silent' });
const never = new AbortController().signal;
const identity = { locationId: 'bench', recorderId: 'sw-bench', cameraIds: {}, version: '1.0' };
const lanes: readonly Lane[] = ['alarm', 'arming', 'trouble', 'activity'];
const classOf = { alarm: 'alarm', arming: 'arming', trouble: 'trouble', activity: 'camera' } as const;

function rowOf(
  seq: number,
  lane: Lane = lanes[Math.floor(seq / partitions) % lanes.length] ?? 'alarm',
  orderKey = `p${seq % partitions}`,
): OutboxRow {
  const eventId = `00000000-0000-8000-8000-${String(seq).padStart(12, '0')}`;
  const event: SiteEvent = {
    event_id: eventId,
    event_type: 'burglary',
    kind: 'burglary',
    class: classOf[lane],
    status: 'active',
    partition: orderKey,
    zone: '7',
    seq,
    source: 'panel:main',
    at: isoTime(clock.wall()),
    data: { version: 1, epoch: 1, clock: 'synced' },
  };
  const draft = {
    kind: 'burglary',
    status: 'active',
    source: 'panel:main',
    signalToStation: true,
    toCloud: true,
  } as const;
  const body = encodeEvent(event, { ...draft, class: classOf[lane], lane, media: [] }, identity);
  const times = { mono: clock.monotonic(), wall: clock.wall(), boot: clock.bootId, clock: 'synced' } as const;
  return { seq, lane, eventId, orderKey, ...times, body, event, media: [], toCloud: true };
}
