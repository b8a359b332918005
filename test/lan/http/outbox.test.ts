import { pino } from 'pino';
import { expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { identifyLocal, lanApp } from '#lan/http/app.ts';
import { maxSeqs, type OutboxPort } from '#lan/http/index.ts';
import { fakeLanPort, fakeOutbox, fakeOutboxDocument, fakeParked } from '#lan/http/port.fake.ts';

interface Asked {
  readonly status: number;
  readonly json: { readonly [name: string]: unknown };
}

/** One request to the app, without a socket. */
async function ask(outbox: OutboxPort, path: string, body?: unknown, method = 'POST'): Promise<Asked> {
  const app = lanApp(fakeLanPort(0, { outbox }), { log: pino({ level: 'silent' }), identify: identifyLocal });
  const init = {
    method,
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
  const answer = await app.request(`/api/v1/outbox${path}`, body === undefined ? {} : init);
  return { status: answer.status, json: (await answer.json()) as Asked['json'] };
}

test('the document, the lists and one event are answered as they are', async () => {
  expect(await ask(fakeOutbox(), '')).toEqual({ status: 200, json: fakeOutboxDocument });
  expect((await ask(fakeOutbox(), '/parked/2')).json).toEqual(fakeParked(2));
  expect((await ask(fakeOutbox(), '/waiting?limit=2')).json).toMatchObject({
    items: [{ seq: 1 }, { seq: 2 }],
    next_after: 2,
  });
  expect((await ask(fakeOutbox(), '/parked?limit=2')).json).toMatchObject({
    items: [{ seq: 3 }, { seq: 2 }],
    next_before: 2,
  });
  expect((await ask(fakeOutbox(0), '/parked')).json).toEqual({ items: [], next_before: null });
});

test('retry and drop answer how many, and gaps list what was dropped', async () => {
  const outbox = fakeOutbox(3);
  expect(await ask(outbox, '/parked/retry', { seqs: [1] })).toEqual({ status: 200, json: { retried: 1 } });
  expect(await ask(outbox, '/parked/drop', { seqs: [2, 3] })).toEqual({ status: 200, json: { dropped: 2 } });
  expect((await ask(outbox, '/gaps')).json).toMatchObject({ items: [{ seq_from: 3 }, { seq_from: 2 }] });
});

test('the outbox is told who asked for a change', async () => {
  const actors: string[] = [];
  const note: OutboxPort['retry'] = async ({ seqs, by }) => {
    actors.push(by.client);
    return seqs.length;
  };
  const outbox = fakeOutbox(1, { retry: note, drop: note });
  await ask(outbox, '/parked/retry', { seqs: [1] });
  await ask(outbox, '/parked/drop', { seqs: [1] });
  expect(actors).toEqual(['control socket', 'control socket']);
});

test.each([
  ['/parked/retry', {}],
  ['/parked/retry', { seqs: [] }],
  ['/parked/retry', { seqs: [0] }],
  ['/parked/retry', { seqs: ['1'] }],
  ['/parked/drop', { seqs: Array.from({ length: maxSeqs + 1 }, (_, index) => index + 1) }],
  ['/parked/drop', { seqs: [1], all: true }],
  ['/parked/drop', '{"seqs": [1'],
])('POST %s with a wrong body is refused and changes nothing', async (path, body) => {
  const outbox = fakeOutbox(3);
  expect(await ask(outbox, path, body)).toMatchObject({ status: 400, json: { code: 'request_invalid' } });
  expect(await outbox.parked({ limit: 10 })).toHaveLength(3);
});

test('as many events as may be named fit into one request', async () => {
  const seqs = Array.from({ length: maxSeqs }, (_, index) => Number.MAX_SAFE_INTEGER - index);
  const retry: OutboxPort['retry'] = async ({ seqs: named }) => named.length;
  expect((await ask(fakeOutbox(0, { retry }), '/parked/retry', { seqs })).json).toEqual({ retried: maxSeqs });
});

test.each([
  '/waiting?lane=red',
  '/waiting?limit=201',
  '/waiting?after=-1',
  '/parked?before=0',
  '/gaps?limit=0',
  '/gaps?x=1',
])('a wrong query (%s) is refused', async (path) => {
  expect(await ask(fakeOutbox(), path)).toMatchObject({ status: 400, json: { code: 'request_invalid' } });
});

test('what is not parked is 404 with its own code, whether read or changed', async () => {
  for (const answer of [
    await ask(fakeOutbox(1), '/parked/7'),
    await ask(fakeOutbox(1), '/parked/retry', { seqs: [1, 7] }),
    await ask(fakeOutbox(1), '/parked/drop', { seqs: [7] }),
  ]) {
    expect(answer).toMatchObject({ status: 404, json: { code: 'not_parked', detail: 'not parked: 7' } });
  }
});

test('a number that is none is 404, another method 405', async () => {
  expect((await ask(fakeOutbox(), '/parked/x')).status).toBe(404);
  expect((await ask(fakeOutbox(), '/parked/1', {}, 'DELETE')).status).toBe(405);
});

test('a store that is away is 503', async () => {
  const drop = () => Promise.reject(new SitewardError('store_unavailable', 'it is being repaired'));
  const answer = await ask(fakeOutbox(1, { drop }), '/parked/drop', { seqs: [1] });
  expect(answer).toMatchObject({ status: 503, json: { code: 'store_unavailable', detail: 'it is being repaired' } });
});
