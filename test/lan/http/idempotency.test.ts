import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { createIdempotency, idempotencyLimits, takesKey } from '#lan/http/idempotency.ts';
import { lanOperations } from '#lan/http/index.ts';
import { fakeOutbox } from '#lan/http/port.fake.ts';
import type { OutboxPort } from '#lan/http/port.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { type Streams, startStreams } from './stream-rig.ts';

let api: Streams;
afterEach(() => api.close());

const clock = manualClock();
let metrics: Registry;
/** What was done. */
let done: (readonly number[])[];
let retry: OutboxPort['retry'];

/** The next retry begins, and ends with this answer when it is told to. */
function held(answer: number): { begun: Promise<void>; finish: () => void } {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<number>();
  retry = ({ seqs }) => {
    done.push(seqs);
    begun.resolve();
    return end.promise;
  };
  return { begun: begun.promise, finish: () => end.resolve(answer) };
}

async function start(limits = idempotencyLimits): Promise<void> {
  metrics = new Registry();
  done = [];
  retry = async ({ seqs }) => {
    done.push(seqs);
    return done.length;
  };
  api = await startStreams({
    port: {
      idempotency: createIdempotency({ clock, metrics, limits }),
      outbox: fakeOutbox(3, { retry: (change) => retry(change) }),
    },
  });
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

async function post(
  key: string | undefined,
  {
    body = { seqs: [1] },
    path = '/api/v1/outbox/parked/retry',
    who = 'anna',
  }: { body?: unknown; path?: string; who?: string } = {},
): Promise<Answer> {
  const call = request({
    ...{ host: '127.0.0.1', port: api.port, path, method: 'POST', agent: false },
    headers: { 'content-type': 'application/json', 'x-who': who, ...(key !== undefined && { 'idempotency-key': key }) },
  });
  call.end(JSON.stringify(body));
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of answer) text += piece;
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: JSON.parse(text) };
}

const result = async (name: string): Promise<number> => {
  const line = (await metrics.metrics()).split('\n').find((one) => one.startsWith(`siteward_idempotency_${name} `));
  return Number(line?.split(' ').at(-1) ?? 0);
};

describe('a request with an Idempotency-Key', () => {
  test('is done once: the same again has the same answer, and says so', async () => {
    await start();
    const first = await post('a');
    const second = await post('a');
    expect([first.status, first.body, first.headers['idempotency-replayed']]).toEqual([200, { retried: 1 }, undefined]);
    expect([second.status, second.body, second.headers['idempotency-replayed']]).toEqual([200, { retried: 1 }, 'true']);
    expect(done).toEqual([[1]]);
    expect(await result('total{result="replayed"}')).toBe(1);
  });

  test('without the key is done each time', async () => {
    await start();
    expect((await post(undefined)).body).toEqual({ retried: 1 });
    expect((await post(undefined)).body).toEqual({ retried: 2 });
  });

  test('is of its caller: the same key of another is another request', async () => {
    await start();
    await post('a');
    expect((await post('a', { who: 'bert' })).body).toEqual({ retried: 2 });
    expect((await post('a', { who: 'bert' })).headers['idempotency-replayed']).toBe('true');
  });

  test('with another body, or for another operation, is refused', async () => {
    await start();
    await post('a');
    const other = await post('a', { body: { seqs: [2] } });
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
    const drop = await post('a', { path: '/api/v1/outbox/parked/drop' });
    expect([drop.status, drop.body.code]).toEqual([409, 'idempotency_conflict']);
    expect(done).toEqual([[1]]);
  });

  test.each(['', 'a b', 'ä', 'x'.repeat(129)])('is refused for a key that is none: "%s"', async (key) => {
    await start();
    const { status, body } = await post(Buffer.from(key).toString('latin1'));
    expect([status, body.code]).toEqual([400, 'request_invalid']);
    expect(done).toEqual([]);
  });

  test('waits for nobody: the same while the first is under way is told to come again', async () => {
    await start();
    const { begun, finish } = held(7);
    const first = post('a');
    await begun;
    const second = await post('a');
    expect([second.status, second.body.code, second.headers['retry-after']]).toEqual([409, 'idempotency_pending', '1']);
    finish();
    expect((await first).body).toEqual({ retried: 7 });
    expect((await post('a')).body).toEqual({ retried: 7 });
    expect(done).toHaveLength(1);
  });

  test('goes on when its client leaves, which has the answer when it comes again', async () => {
    await start();
    const { begun, finish } = held(9);
    const call = request({
      ...{ host: '127.0.0.1', port: api.port, path: '/api/v1/outbox/parked/retry', method: 'POST', agent: false },
      headers: { 'content-type': 'application/json', 'x-who': 'anna', 'idempotency-key': 'a' },
    });
    call.on('error', () => undefined);
    call.end('{"seqs":[1]}');
    await begun;
    const closed = new Promise((resolve) => call.once('close', resolve));
    call.destroy();
    await closed;
    expect((await post('a')).body.code).toBe('idempotency_pending');
    finish();
    await expect.poll(async () => (await post('a')).body).toEqual({ retried: 9 });
    expect(done).toHaveLength(1);
  });

  test('that was refused is refused again; one that failed is tried anew', async () => {
    await start();
    let tries = 0;
    retry = async () => {
      tries += 1;
      throw new SitewardError(tries === 1 ? 'not_parked' : 'store_failed', 'no');
    };
    expect((await post('refused')).status).toBe(404);
    const again = await post('refused');
    expect([again.status, again.headers['idempotency-replayed'], tries]).toEqual([404, 'true', 1]);
    expect((await post('failed')).status).toBe(503);
    expect((await post('failed')).status).toBe(503);
    expect(tries).toBe(3);
  });

  test('is forgotten after a day', async () => {
    await start();
    await post('a');
    clock.advance(24 * 3_600_000 - 1);
    clock.step(-365 * 24 * 3_600_000);
    expect((await post('a')).body).toEqual({ retried: 1 });
    clock.advance(1);
    expect((await post('a')).body).toEqual({ retried: 2 });
  });
});

describe('what is kept', () => {
  test('is bounded in number for one caller and for all; the oldest gives way', async () => {
    await start({ ...idempotencyLimits, keys: 5, keysOfOne: 3 });
    for (const key of ['a', 'b', 'c', 'd']) await post(key);
    expect((await post('a')).body).toEqual({ retried: 5 });
    expect((await post('d')).headers['idempotency-replayed']).toBe('true');
    for (const key of ['a', 'b', 'c']) await post(key, { who: 'bert' });
    expect(await result('keys')).toBe(5);
    expect(await result('total{result="given_way"}')).toBeGreaterThan(0);
  });

  test('is bounded in bytes, and what is large is not kept at all', async () => {
    await start({ ...idempotencyLimits, bytes: 2000, answerBytes: 20 });
    for (const key of ['a', 'b', 'c', 'd', 'e']) await post(key);
    expect(await result('keys')).toBe(0);
    await api.close();
    await start({ ...idempotencyLimits, bytes: 2000 });
    for (const key of ['a', 'b', 'c', 'd', 'e']) await post(key);
    expect(await result('keys')).toBe(3);
  });

  test('is nothing of what lets somebody in or shows a secret', async () => {
    await start();
    const ids = [
      'claim',
      'login',
      'logout',
      'addKey',
      'resetAccess',
      'openAudit',
      'exportAudit',
      'readMedia',
      'importMessage',
    ];
    for (const id of ids) {
      const operation = Object.values(lanOperations).find((one) => one.id === id);
      expect(operation && takesKey(operation), id).toBe(false);
    }
    expect(takesKey(lanOperations.giveCommand)).toBe(true);
    expect(takesKey(lanOperations.getStatus)).toBe(false);
  });
});
