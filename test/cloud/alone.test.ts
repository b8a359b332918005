import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { Queue } from '../../src/cloud/delivery/queue.ts';
import { accept, type Harness, type HarnessOptions, harness, type OnEvent } from './delivery-harness.ts';
import { html, json, rowOf, until } from './support.ts';

let h: Harness;
afterEach(() => h?.close());
async function setUp(options: HarnessOptions = {}) {
  h = await harness(options);
}
const seqs = () => h.posts.map((post) => post.seq);
const recordOf = async (seq: number) => (await h.store.events({ limit: 1, beforeSeq: seq + 1 }))[0];
const isDelivered = async (seq: number) => (await recordOf(seq))?.delivery === 'delivered';

describe('an event on which alone the cloud fails', () => {
  const faults: [what: string, fault: OnEvent][] = [
    ['is not permitted', (_p, _n, response) => json(response, 403, { error: 'forbidden' })],
    ['has an unknown address', (_p, _n, response) => json(response, 404, {})],
    ['is refused with a fresh token', (_p, _n, response) => json(response, 401, {})],
    ['meets a gateway that gives up', (_p, _n, response) => json(response, 504, {})],
    ['meets a busy server', (_p, _n, response) => json(response, 503, {})],
    ['meets a page of a filter', (_p, _n, response) => html(response, 200)],
    ['loses its connection each time', (_p, _n, _r, socket) => void socket.resetAndDestroy()],
  ];
  it.each(faults)('holds up no other that %s', async (_what, fault) => {
    let isAlone = false;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        (post.seq === 2 && !isAlone ? fault : accept)(post, nth, response, socket),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the first is delivered', () => isDelivered(1));
    const began = h.clock.monotonic();
    await h.commit([2, 3, 4].map((seq) => rowOf(h.clock, seq, { orderKey: seq === 4 ? 'p2' : 'p1' })));
    await h.passTime('the others are delivered', async () => (await isDelivered(3)) && (await isDelivered(4)), 5_000);
    expect(h.clock.monotonic() - began).toBeLessThan(20 * 60_000);
    // It does not hold up what comes later.
    await h.commit([rowOf(h.clock, 5, { orderKey: 'p3' })]);
    const later = h.clock.monotonic();
    await h.passTime('a later one is delivered', () => isDelivered(5), 1_000);
    expect(h.clock.monotonic() - later).toBeLessThan(65_000);
    expect(await recordOf(2)).toMatchObject({ delivery: 'waiting' });
    isAlone = true;
    await h.passTime('it is delivered itself', () => isDelivered(2), 60_000);
    expect(seqs().length).toBeLessThan(80);
  });
});

describe('events that fail at the same moment', () => {
  it('are compared with one event that the cloud has, once', async () => {
    const held: ServerResponse[] = [];
    const comparisons: ServerResponse[] = [];
    let isFirst = true;
    await setUp({
      onEvent: (post, nth, response, socket) => {
        if (post.seq !== 1) held.push(response);
        else if (!isFirst) comparisons.push(response);
        else {
          isFirst = false;
          return accept(post, nth, response, socket);
        }
      },
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the first is delivered', () => isDelivered(1));
    await h.commit([2, 3, 4].map((seq) => rowOf(h.clock, seq, { orderKey: `p${seq}` })));
    await until('all are on their way', () => held.length === 3);
    for (const response of held) json(response, 403, {});
    await until('one is compared', () => comparisons.length > 0);
    // The others have their answers; nothing is told of them but that they wait for the same comparison.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(comparisons).toHaveLength(1);
    for (const response of comparisons) json(response, 403, {});
    await until('it is told', () => h.links.at(-1)?.[1] === 'forbidden');
    expect(comparisons).toHaveLength(1);
  });
});

describe('a cloud that knows what it has and takes nothing new', () => {
  const faults: [what: string, status: number][] = [
    ['fails on what is new', 500],
    ['is busy with what is new', 503],
    ['does not permit what is new', 403],
  ];
  it.each(faults)('parks nothing while it %s, and has all soon after', async (_what, status) => {
    let writes = true;
    await setUp({
      onEvent: (post, nth, response, socket) =>
        writes || post.seq === 1 ? accept(post, nth, response, socket) : json(response, status, {}),
    });
    await h.commit([rowOf(h.clock, 1)]);
    await until('the first is delivered', () => isDelivered(1));
    writes = false;
    const waiting = [2, 3, 4, 5];
    await h.commit(waiting.map((seq) => rowOf(h.clock, seq, { orderKey: `p${seq}` })));
    const began = h.clock.monotonic();
    await h.passTime('an hour is over', () => h.clock.monotonic() - began > 3_600_000, 20_000);
    for (const seq of waiting) expect(await recordOf(seq)).toMatchObject({ delivery: 'waiting' });
    expect(seqs().length).toBeLessThan(300);
    writes = true;
    const well = h.clock.monotonic();
    await h.passTime(
      'all are delivered',
      async () => (await Promise.all(waiting.map(isDelivered))).every(Boolean),
      20_000,
    );
    expect(h.clock.monotonic() - well).toBeLessThan(6 * 60_000);
  });
});

it('an alarm that was not permitted once leaves before its own end', async () => {
  let refusals = 0;
  await setUp({
    onEvent(post, nth, response, socket) {
      if (post.seq !== 2 || refusals === 1) return accept(post, nth, response, socket);
      refusals += 1;
      json(response, 403, {});
    },
  });
  await h.commit([rowOf(h.clock, 1)]);
  await until('the first is delivered', () => isDelivered(1));
  await h.commit([rowOf(h.clock, 2), rowOf(h.clock, 3)]);
  await until('both are delivered', async () => (await isDelivered(2)) && (await isDelivered(3)));
  expect(seqs()).toEqual([1, 2, 1, 2, 3]);
});

it('a silent event waits a minute at most after the cloud did not permit it', async () => {
  let permits = false;
  await setUp({
    onEvent: (post, nth, response, socket) => (permits ? accept(post, nth, response, socket) : json(response, 403, {})),
  });
  await h.commit([{ ...rowOf(h.clock, 1), silent: true }]);
  await h.passTime('it was tried for a while', () => h.posts.length >= 4, 10_000);
  permits = true;
  const well = h.clock.monotonic();
  await h.passTime('it is settled', async () => (await h.store.take('alarm', 0, 1)).length === 0, 1_000);
  expect(h.clock.monotonic() - well).toBeLessThan(120_000);
});

it('a fresh alarm finds a slot free though alarms of a backlog hang on all others', async () => {
  await setUp({
    onEvent: (post, nth, response, socket) => (post.seq > 40 ? accept(post, nth, response, socket) : undefined),
    start: false,
  });
  await h.commit(Array.from({ length: 40 }, (_, i) => rowOf(h.clock, i + 1, { orderKey: `p${i}` })));
  await h.delivery.start(new AbortController().signal);
  await until('the slots are taken', () => h.posts.length >= 3);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await h.commit([rowOf(h.clock, 41, { orderKey: 'quiet' })]);
  await until('the fresh alarm is delivered', () => isDelivered(41));
});

it('a fresh alarm goes alone after three seconds though the cloud takes older ones of its partition, slowly', async () => {
  let taken = 0;
  await setUp({
    onEvent(post, nth, response, socket) {
      taken += 1;
      if (taken % 2 === 0) return json(response, 429, {}, { 'retry-after': '1' });
      return accept(post, nth, response, socket);
    },
    start: false,
  });
  await h.commit(Array.from({ length: 200 }, (_, i) => rowOf(h.clock, i + 1)));
  await h.delivery.start(new AbortController().signal);
  await h.passTime('some are delivered', () => isDelivered(3), 200);
  await h.commit([rowOf(h.clock, 201)]);
  const began = h.clock.monotonic();
  await h.passTime('the fresh alarm is delivered', () => isDelivered(201), 200);
  expect(h.clock.monotonic() - began).toBeLessThan(40_000);
  expect(await isDelivered(100)).toBe(false);
});

it('a fresh alarm held up behind more of its partition than fits into memory is sent, and so is all else', async () => {
  await setUp({
    onEvent: (post, nth, response, socket) => (post.seq === 1 ? undefined : accept(post, nth, response, socket)),
    start: false,
  });
  await h.commit(Array.from({ length: 3000 }, (_, i) => rowOf(h.clock, i + 1, { lane: 'trouble' })));
  await h.delivery.start(new AbortController().signal);
  await until('the first hangs', () => h.posts.length > 0);
  await h.commit([rowOf(h.clock, 3001), rowOf(h.clock, 3002, { orderKey: 'p2' })]);
  await until('the alarm elsewhere is delivered', () => isDelivered(3002));
  h.clock.advance(3_500);
  h.delivery.wake();
  await until('the alarm held up is delivered', () => isDelivered(3001));
  expect(await isDelivered(3000)).toBe(false);
});

it('a connection to the wrong server is given up at once for a new one', async () => {
  const sockets = new Set<unknown>();
  await setUp({
    onEvent(post, nth, response, socket) {
      if (post.seq === 1) sockets.add(socket);
      if (post.seq > 1 && sockets.has(socket)) json(response, 421, {});
      else void accept(post, nth, response, socket);
    },
  });
  await h.commit([rowOf(h.clock, 1)]);
  await until('the first is delivered', () => isDelivered(1));
  await h.commit([rowOf(h.clock, 2)]);
  await until('the second is delivered without a rest', () => isDelivered(2));
  expect(h.links).toEqual([[true, undefined]]);
});

it('a page that answers for the cloud cannot ask for a pause', async () => {
  let portal = true;
  await setUp({
    onEvent(post, nth, response, socket) {
      if (!portal) return accept(post, nth, response, socket);
      response.writeHead(200, { 'content-type': 'text/html', 'retry-after': '86400' });
      response.end('<html>');
    },
  });
  await h.commit([rowOf(h.clock, 1)]);
  await until('it is held back', () => h.links.some(([up]) => !up));
  portal = false;
  const began = h.clock.monotonic();
  await h.passTime('it is delivered', () => isDelivered(1), 1_000);
  expect(h.clock.monotonic() - began).toBeLessThan(65_000);
});

it('an alarm of one partition gets its turn though the cloud takes only one event at a time from a long line of another', async () => {
  let taken = 0;
  await setUp({
    onEvent(post, nth, response, socket) {
      taken += 1;
      if (taken % 2 === 0) return json(response, 429, {}, { 'retry-after': '1' });
      return accept(post, nth, response, socket);
    },
  });
  await h.commit(Array.from({ length: 100 }, (_, i) => rowOf(h.clock, i + 1)));
  await h.passTime('some are delivered', () => isDelivered(3), 200);
  await h.commit([rowOf(h.clock, 101, { orderKey: 'p2' })]);
  await h.passTime('the alarm is delivered', () => isDelivered(101), 200);
  expect(await isDelivered(20)).toBe(false);
});

it('an alarm leaves within a minute or so after the token server is well again, however long it was not', async () => {
  let isWell = false;
  await setUp({
    onToken: (response) =>
      isWell
        ? json(response, 200, { access_token: 'token', token_type: 'Bearer', expires_in: 3600 })
        : json(response, 503, {}),
    start: false,
  });
  await h.commit([rowOf(h.clock, 1)]);
  await h.delivery.start(new AbortController().signal);
  const began = h.clock.monotonic();
  await h.passTime('the server has been away for long', () => h.clock.monotonic() - began > 2_000_000, 10_000);
  isWell = true;
  const well = h.clock.monotonic();
  await h.passTime('it is delivered', () => isDelivered(1), 2_000);
  expect(h.clock.monotonic() - well).toBeLessThan(90_000);
});

it('a fresh alarm that was held up for three seconds goes before the older ones of its partition, which go on waiting', () => {
  const clock = manualClock();
  const queue = new Queue();
  const [older, newer] = [1, 2].map((seq) => queue.add(rowOf(clock, seq), { direct: false, fresh: false }));
  const alarm = queue.add(rowOf(clock, 3), { direct: false, fresh: true });
  const next = () => queue.next(clock.monotonic(), Number.POSITIVE_INFINITY);
  expect(next()).toBe(older);
  clock.advance(3_000);
  expect(next()).toBe(alarm);
  queue.started(alarm, clock.monotonic());
  queue.decided(alarm);
  expect(next()).toBe(older);
  if (older !== undefined) queue.drop(older);
  expect(next()).toBe(newer);
});
