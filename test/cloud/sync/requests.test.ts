import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createCloudClient } from '#cloud/client/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
// The mapping of answers has no other door: what the rules make of each outcome is tested with them.
import { readStatus, writeStatus } from '../../../src/cloud/sync/requests.ts';
import { html, json, quiet, type Scripted, type Seen, scripted } from '../support.ts';

type Answer = (response: ServerResponse, seen: Seen) => void;

let server: Scripted;
let client: ReturnType<typeof createCloudClient>;
afterEach(async () => {
  await client?.close();
  await server?.close();
});

/** A cloud that answers the token and then this. */
async function cloud(
  answer: Answer,
  token: Answer = (response) => json(response, 200, { access_token: 'a-token-of-the-test', expires_in: 3600 }),
) {
  server = await scripted((seen, response) => (seen.path.includes('arming-status') ? answer : token)(response, seen));
  const { url } = server;
  client = createCloudClient({
    ...{ baseUrl: url, authUrl: url, clientId: 'none', keys: { current: { pem: new Secret('') } } },
    partner: { clientId: 'p', secret: new Secret('s') },
    ...{ clock: manualClock(), log: quiet },
  });
  return {
    ...{ api: client.api, place: { dealerId: '1', siteId: '2' }, form: 'status' as const },
    ...{ wall: () => 0, signal: new AbortController().signal },
  };
}
const status =
  (code: number, body: unknown = { message: 'no' }, headers: Record<string, string> = {}): Answer =>
  (response) =>
    json(response, code, body, headers);
const reset: Answer = (response) => void response.destroy();
const page: Answer = (response) => html(response, 200);

describe('What a read of the arming status means', () => {
  const date = 'Sat, 28 Nov 2026 11:00:10 GMT';
  it.each<[string, Answer, object]>([
    [
      'its value, its version and how old it is, by the clock of the cloud',
      status(200, { status: 'armed', updated_at: '2026-11-28T11:00:00.000Z' }, { date }),
      {
        ...{ kind: 'polled', value: 'armed', version: '2026-11-28T11:00:00.000Z' },
        ...{ writtenAt: Date.UTC(2026, 10, 28, 11), answeredAt: Date.UTC(2026, 10, 28, 11, 0, 10) },
      },
    ],
    [
      'the same, wrapped',
      status(200, { data: { is_armed: 0, updated_at: 'v7' } }, { date }),
      { value: 'disarmed', version: 'v7' },
    ],
    [
      'no age where a cache answers',
      status(200, { status: 'armed', updated_at: '2026-11-28T11:00:00.000Z' }, { date, age: '7' }),
      { value: 'armed', version: '2026-11-28T11:00:00.000Z' },
    ],
    ['no version from an ETag', status(200, { status: 'armed' }, { etag: '"a"', date }), { value: 'armed' }],
    [
      'unknown for a word nobody knows, never disarmed',
      status(200, { status: 'perhaps' }),
      { kind: 'polled', value: 'unknown' },
    ],
    ['unknown for null', status(200, null), { kind: 'polled', value: 'unknown' }],
    ['nothing for a page of a captive portal', page, { kind: 'pollFailed', why: 'unreachable' }],
    [
      'nothing for an empty answer',
      (response) => void response.writeHead(204).end(),
      { kind: 'pollFailed', why: 'unreachable' },
    ],
    ['nothing for a reset', reset, { kind: 'pollFailed', why: 'unreachable' }],
    ['nothing for a 500', status(500), { kind: 'pollFailed', why: 'unreachable' }],
    ['no such site', status(404), { kind: 'pollFailed', why: 'gone' }],
    ['no permission', status(403), { kind: 'pollFailed', why: 'refused' }],
    ['no permission with a second token either', status(401), { kind: 'pollFailed', why: 'refused' }],
    [
      'quiet as long as it asks',
      status(429, {}, { 'retry-after': '77' }),
      { kind: 'pollFailed', why: 'throttled', retryAfterMs: 77_000 },
    ],
    ['quiet', status(429), { kind: 'pollFailed', why: 'throttled' }],
    [
      'quiet while it is busy',
      status(503, {}, { 'retry-after': '5' }),
      { kind: 'pollFailed', why: 'throttled', retryAfterMs: 5000 },
    ],
  ])('%s', async (_, answer, outcome) => {
    const found = await readStatus(await cloud(answer));
    expect(found).toMatchObject(outcome);
    if (!('version' in outcome)) expect(found).not.toHaveProperty('version');
    if (!('answeredAt' in outcome) && 'version' in outcome && outcome.version !== 'v7')
      expect(found).not.toHaveProperty('answeredAt');
  });

  it('is asked for anew, not of what somebody on the way has kept', async () => {
    await readStatus(await cloud(status(200, { status: 'armed' })));
    const read = server.seen.find(({ path }) => path.includes('arming-status'));
    expect(read?.headers['cache-control']).toBe('no-cache');
  });

  it('no permission where the client is not taken', async () => {
    expect(await readStatus(await cloud(status(200), status(401)))).toMatchObject({
      kind: 'pollFailed',
      why: 'refused',
    });
  });
});

describe('What a write of the arming status means', () => {
  it.each<[string, Answer, object]>([
    [
      'done, and what the cloud holds now',
      status(200, { status: 'armed', updated_at: 'v8' }),
      { kind: 'putAnswered', value: 'armed', version: 'v8' },
    ],
    [
      'done, and when',
      status(200, { updated_at: '2026-11-28T11:00:00.250Z' }),
      { kind: 'putAnswered', version: '2026-11-28T11:00:00.250Z', writtenAt: Date.UTC(2026, 10, 28, 11, 0, 0, 250) },
    ],
    ['done, on a day', status(200, { updated_at: '2026-11-28' }), { kind: 'putAnswered', version: '2026-11-28' }],
    ['done, and something else holds', status(200, { status: 'disarmed' }), { kind: 'putAnswered', value: 'disarmed' }],
    ['done, with an empty answer', (response) => void response.writeHead(204).end(), { kind: 'putAnswered' }],
    ['perhaps done, for a page of a captive portal', page, { kind: 'putFailed', why: 'lost' }],
    ['perhaps done, for a reset', reset, { kind: 'putFailed', why: 'lost' }],
    ...[500, 502, 503, 504, 408].map((code): [string, Answer, object] => [
      `perhaps done, for ${code}`,
      status(code),
      { kind: 'putFailed', why: 'lost' },
    ]),
    ...[400, 413, 415, 422].map((code): [string, Answer, object] => [
      `a form it does not take, for ${code}`,
      status(code),
      { kind: 'putFailed', why: 'body' },
    ]),
    ['no permission', status(403), { kind: 'putFailed', why: 'refused' }],
    ...[402, 405, 407, 410, 421, 426, 431, 451].map((code): [string, Answer, object] => [
      `${code}, which says nothing about the body`,
      status(code),
      { kind: 'putFailed', why: 'refused' },
    ]),
    ['no such site', status(404), { kind: 'putFailed', why: 'gone' }],
    ['another one was there before', status(409), { kind: 'putFailed', why: 'changed' }],
    ['a condition that failed', status(412), { kind: 'putFailed', why: 'changed' }],
    [
      'quiet as long as it asks',
      status(429, {}, { 'retry-after': '9' }),
      { kind: 'putFailed', why: 'throttled', retryAfterMs: 9000 },
    ],
  ])('%s', async (_, answer, outcome) => {
    const { answeredAt, ...found } = (await writeStatus(await cloud(answer), 'armed')) as Record<string, unknown>;
    expect(found).toEqual(outcome);
    if (found.kind === 'putAnswered') expect(answeredAt).toEqual(expect.any(Number));
    // A connection that was reset may have been an old one: the same write goes once more, on a new one.
    const bodies = server.seen.flatMap(({ method, body }) => (method === 'PUT' ? [body] : []));
    expect(new Set(bodies)).toEqual(new Set(['{"status":"armed"}']));
    expect(bodies.length).toBeLessThanOrEqual(answer === reset ? 2 : 1);
  });

  it('not sent, where nobody takes connections or there is no token', async () => {
    const options = await cloud(status(200), status(503));
    expect(await writeStatus(options, 'armed')).toEqual({ kind: 'putFailed', why: 'unsent' });
    await server.close();
    expect(await writeStatus(options, 'armed')).toEqual({ kind: 'putFailed', why: 'unsent' });
  });

  it('in the form that the dialect names', async () => {
    const options = await cloud(status(200, {}));
    await writeStatus({ ...options, form: 'is_armed_number' }, 'disarmed');
    expect(server.seen.at(-1)?.body).toBe('{"is_armed":0}');
  });
});
