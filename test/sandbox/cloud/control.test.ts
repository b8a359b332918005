import { createConnection } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isLoopback } from '#lib/host.ts';
import { control, event, eventToken, exchange, postEvent, type Service, send, sign, startService } from './service.ts';

let service: Service;
let token: string;
beforeAll(async () => {
  service = await startService();
  token = await eventToken(service);
});
afterEach(() => service.cloud.clearFaults());
afterAll(() => service.cloud.close());

const path = '/partner/v1/events';
const plant = (fault: Record<string, unknown>) => control(service, 'POST', 'faults', { path, ...fault });
const stored = (id: unknown) => service.cloud.events().filter((kept) => kept.event_id === id).length;

describe('control path', () => {
  it('lists events, uploads and the log as JSON', async () => {
    const body = event({ upload_snapshot_count: 1 });
    const { json } = await postEvent(service, token, body);
    const headers = { 'content-type': 'image/jpeg' };
    await send(json.uploads[0].url, { method: 'PUT', headers, body: Buffer.from('picture') });
    const events = await control(service, 'GET', 'events');
    expect(events.json).toMatchObject({
      events: [{ event_id: body.event_id, tries: [{ identical: true }] }],
      dropped: 0,
    });
    const uploads = await control(service, 'GET', 'uploads');
    expect(uploads.json.uploads).toMatchObject([{ event_id: body.event_id, bytes: 7 }]);
    expect(await control(service, 'GET', `uploads/${uploads.json.uploads[0].id}`)).toMatchObject({ text: 'picture' });
    const log = await control(service, 'GET', 'log');
    expect(log.json.log.at(-1)).toMatchObject({ method: 'PUT', status: 200, client: 'bridge-1' });
    expect((await control(service, 'GET', `events?after=${events.json.events[0].seq}`)).json.events).toEqual([]);
  });
  it('revokes every token', async () => {
    const doomed = await eventToken(service);
    expect((await control(service, 'POST', 'revoke')).json.revoked).toBeGreaterThan(0);
    expect((await postEvent(service, doomed, event())).status).toBe(401);
    token = await eventToken(service);
  });
  it('moves the clock, so that a good assertion becomes one of the future', async () => {
    expect((await control(service, 'POST', 'clock', { offset_s: -120 })).status).toBe(200);
    expect(await exchange(service, await sign(service))).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant' },
    });
    await control(service, 'POST', 'clock', { offset_s: 0 });
    expect((await exchange(service, await sign(service))).status).toBe(200);
  });
  it('tells when an event arrived by a clock it does not move, and before a planted delay', async () => {
    await control(service, 'POST', 'clock', { offset_s: -3600 });
    await plant({ mode: 'delay', delay_ms: 300, count: 1 });
    const before = Date.now();
    const body = event();
    await postEvent(service, token, body);
    await control(service, 'POST', 'clock', { offset_s: 0 });
    const kept = service.cloud.events().find(({ event_id }) => event_id === body.event_id);
    const [arrived, received] = [kept?.arrived_at, kept?.received_at].map((time) => Date.parse(String(time)));
    expect(arrived).toBeGreaterThanOrEqual(before);
    expect(Number(received) + 3_600_000 - Number(arrived)).toBeGreaterThan(250);
  });
  it('forgets everything at reset except the registered clients', async () => {
    await postEvent(service, token, event());
    expect((await control(service, 'POST', 'reset')).status).toBe(200);
    expect(service.cloud.events()).toEqual([]);
    expect((await postEvent(service, token, event())).status).toBe(401);
    token = await eventToken(service);
  });
  it('refuses a fault it does not know, and names the field', async () => {
    expect(await plant({ mode: 'explode' })).toMatchObject({ status: 400, json: { field: 'mode' } });
  });
  it('is an unknown path unless it was switched on', async () => {
    const closed = await startService({ control: false });
    for (const method of ['GET', 'POST']) {
      const answer = await control(closed, method, 'events');
      const unknown = await send(`${closed.cloud.url}/nothing`, { method });
      expect(answer).toMatchObject({ status: 404, json: unknown.json });
    }
    await closed.cloud.close();
  });
  it.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['192.0.2.1', false],
    ['::ffff:192.0.2.1', false],
    ['::', false],
    ['127.0.0.1.example', false],
    ['', false],
  ])('serves the peer %s: %s', (address, served) => expect(isLoopback(address)).toBe(served));
});

describe('planted faults', () => {
  it.each(['before', 'after'])('status, %s the service acts', async (when) => {
    await plant({ mode: 'status', status: 429, headers: { 'retry-after': '7' }, body: { error: 'slow' }, when });
    const body = event();
    const answer = await postEvent(service, token, body);
    expect(answer).toMatchObject({ status: 429, json: { error: 'slow' }, headers: { 'retry-after': '7' } });
    expect(stored(body.event_id)).toBe(when === 'after' ? 1 : 0);
    expect((await postEvent(service, token, body)).status).toBe(200);
  });
  it.each(['before', 'after'])('reset, %s the service acts', async (when) => {
    await plant({ mode: 'reset', when });
    const body = event();
    await expect(postEvent(service, token, body)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(stored(body.event_id)).toBe(when === 'after' ? 1 : 0);
    expect(service.cloud.log().at(-1)).toMatchObject({ status: null, fault: `reset ${when}` });
  });
  it('garbage is no JSON', async () => {
    await plant({ mode: 'garbage' });
    const answer = await postEvent(service, token, event());
    expect(answer).toMatchObject({ status: 200, json: undefined });
    await plant({ mode: 'garbage', body: '<html>', headers: { 'content-type': 'text/html' } });
    expect(await postEvent(service, token, event())).toMatchObject({ text: '<html>' });
  });
  it('delay answers in the end', async () => {
    await plant({ mode: 'delay', delay_ms: 50 });
    expect((await postEvent(service, token, event())).status).toBe(200);
  });
  it('hang gives no answer until the server stops', async () => {
    const other = await startService();
    other.cloud.plant({ path: '/oauth/token', mode: 'hang' });
    const waiting = sign(other).then((assertion) => exchange(other, assertion));
    const outcome = waiting.then(
      () => 'answered',
      () => 'cut',
    );
    await expect.poll(async () => (await control(other, 'GET', 'faults')).json.faults).toEqual([]);
    await other.cloud.close();
    expect(await outcome).toBe('cut');
  });
  it('are used up by their count, or stay until removed', async () => {
    await plant({ mode: 'status', count: 2 });
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await postEvent(service, token, event())).status);
    expect(statuses).toEqual([503, 503, 200]);
    await plant({ mode: 'status', count: -1 });
    for (let n = 0; n < 3; n += 1) expect((await postEvent(service, token, event())).status).toBe(503);
    expect((await control(service, 'GET', 'faults')).json.faults).toMatchObject([{ met: 3 }]);
    expect((await control(service, 'DELETE', 'faults')).json).toEqual({ removed: 1 });
    expect((await postEvent(service, token, event())).status).toBe(200);
  });
  it('meet only their method and path, and a prefix ending with a star', async () => {
    await plant({ mode: 'status', method: 'PUT' });
    expect((await postEvent(service, token, event())).status).toBe(200);
    await plant({ path: '/partner/*', mode: 'status', status: 500 });
    expect((await postEvent(service, token, event())).status).toBe(500);
  });
});

describe('broken requests', () => {
  const raw = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = createConnection(service.cloud.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += chunk.toString('latin1');
        socket.end();
      });
      socket.on('close', () => resolve(answer));
      socket.on('error', reject);
    });

  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['a header without end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(40_000)}`, 431],
    ['no Host header', 'GET /nothing HTTP/1.1\r\n\r\n', 404],
    ['a Host header that is no host', 'GET / HTTP/1.1\r\nHost: a b<>\r\n\r\n', 400],
    ['CONNECT', 'CONNECT example.net:443 HTTP/1.1\r\nHost: example.net\r\n\r\n', 405],
    ['an unknown expectation', 'GET /nothing HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n', 404],
    ['an upgrade', 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n', 404],
    ['an odd path', 'GET //%zz/%ff?%= HTTP/1.1\r\nHost: x\r\n\r\n', 404],
    [
      'both lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
  ])('%s gets a JSON answer', async (_, text, status) => {
    const answer = await raw(text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain('content-type: application/json');
    expect(answer).toContain('"statusCode"');
  });
});
