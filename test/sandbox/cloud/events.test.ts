import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { event, eventToken, form, postEvent, postForm, type Service, send, startService } from './service.ts';

let service: Service;
let token: string;
beforeAll(async () => {
  service = await startService();
});
beforeEach(async () => {
  service.cloud.reset();
  token = await eventToken(service);
});
afterAll(() => service.cloud.close());

const put = (url: string, body: Uint8Array, headers: Record<string, string> = {}) =>
  send(url, { method: 'PUT', headers: { 'content-type': 'image/jpeg', ...headers }, body });

describe('event endpoint', () => {
  it('S-160 takes an event of 14 fields and stores it', async () => {
    const body = event();
    const answer = await postEvent(service, token, body);
    expect(answer).toMatchObject({ status: 200, json: { event_id: body.event_id, uploads: [] } });
    expect(service.cloud.events()).toMatchObject([{ event_id: body.event_id, client_id: 'bridge-1', seq: 1, body }]);
  });
  it('S-161 takes an unknown event type and status, and says so in the log', async () => {
    const answer = await postEvent(service, token, event({ event_type: 'weather', event_status: 'cloudy' }));
    expect(answer.status).toBe(200);
    expect(service.cloud.log().at(-1)?.note).toContain('unknown type');
  });
  it.each(['version', 'location_id', 'event_id', 'event_type', 'event_time', 'sent_at'])(
    'S-162 asks for %s',
    async (field) => {
      const answer = await postEvent(service, token, event({ [field]: undefined }));
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ error: 'bad_request', message: `${field}: is required`, field });
      expect(service.cloud.events()).toEqual([]);
    },
  );
  it.each([
    ['upload_snapshot_count', 51],
    ['upload_snapshot_count', -1],
    ['upload_snapshot_count', 1.5],
    ['upload_snapshot_count', '2'],
    ['upload_short_mp4', 'yes'],
    ['payload', 'text'],
    ['payload', []],
    ['event_id', ' '],
    ['event_time', 'yesterday'],
    ['should_signal_to_monitoring_center', 1],
  ])('S-162 refuses %s = %j and names it', async (field, value) => {
    const answer = await postEvent(service, token, event({ [field]: value }));
    expect(answer).toMatchObject({ status: 400, json: { error: 'bad_request', field } });
  });
  it('S-162 takes null as an absent payload', async () => {
    expect((await postEvent(service, token, event({ payload: null }))).status).toBe(200);
  });
  it.each(['', '[]', '"x"', 'null', '{', '\u0000'])('S-011 refuses the body %j', async (body) => {
    expect(await postEvent(service, token, body)).toMatchObject({ status: 400, json: { error: 'bad_request' } });
  });
  it('S-011 refuses another content type with 400', async () => {
    const answer = await send(`${service.cloud.url}/partner/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
      body: JSON.stringify(event()),
    });
    expect(answer).toMatchObject({ status: 400, json: { field: 'content-type' } });
  });
  it('S-014 refuses a body over 1 MiB with 413', async () => {
    const answer = await postEvent(service, token, event({ payload: { filler: 'x'.repeat(1024 * 1024) } }));
    expect(answer).toMatchObject({ status: 413, json: { error: 'payload_too_large' } });
  });
  it('refuses JSON nested too deep without failing', async () => {
    const text = JSON.stringify(event()).replace(
      '"payload":{}',
      `"payload":{"a":${'['.repeat(5e5)}${']'.repeat(5e5)}}`,
    );
    expect((await postEvent(service, token, text)).status).toBe(400);
  });
  it('S-163 S-164 hands out one address for each announced picture and clip, for 15 minutes', async () => {
    const body = event({ upload_snapshot_count: 3, upload_short_mp4: true, upload_event_mp4: true });
    const { json } = await postEvent(service, token, body);
    expect(json.uploads.map((upload: { kind: string; index: number }) => `${upload.kind} ${upload.index}`)).toEqual([
      'snapshot 0',
      'snapshot 1',
      'snapshot 2',
      'short_mp4 0',
      'event_mp4 0',
    ]);
    for (const upload of json.uploads) {
      expect(upload.method).toBe('PUT');
      expect(upload.url).toMatch(new RegExp(`^${service.cloud.url}/uploads/`));
      expect(Date.parse(upload.expires_at) - Date.now()).toBeGreaterThan(14 * 60_000);
    }
    expect(new Set(json.uploads.map((upload: { url: string }) => upload.url)).size).toBe(5);
  });
  it('S-165 stores one event for a repeated event_id, with fresh addresses', async () => {
    const body = event({ upload_snapshot_count: 1 });
    const first = await postEvent(service, token, body);
    const second = await postEvent(service, token, { ...body, sent_at: '2027-01-01T00:00:00Z' });
    expect(second.status).toBe(200);
    expect(second.json.event_id).toBe(body.event_id);
    expect(second.json.uploads[0].url).not.toBe(first.json.uploads[0].url);
    expect(service.cloud.events()).toMatchObject([
      {
        try_count: 2,
        identical: true,
        tries: [{ sent_at: body.sent_at }, { sent_at: '2027-01-01T00:00:00Z', identical: true }],
      },
    ]);
  });
  it('S-165 remembers that a repeated event was not identical', async () => {
    const body = event();
    await postEvent(service, token, body);
    await postEvent(service, token, { ...body, event_time: '2026-01-02T03:04:06.000Z' });
    expect(service.cloud.events()).toMatchObject([{ identical: false, body: { event_time: body.event_time } }]);
  });
  it('S-166 answers 401 with error, message and a challenge', async () => {
    for (const authorization of [undefined, 'Bearer nonsense', `Basic ${token}`, 'Bearer', `Bearer ${token} x`]) {
      const answer = await send(`${service.cloud.url}/partner/v1/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
        body: JSON.stringify(event()),
      });
      expect(answer).toMatchObject({ status: 401, json: { error: expect.any(String), message: expect.any(String) } });
      expect(answer.headers['www-authenticate']).toContain('Bearer realm="partner"');
      expect(answer.headers['www-authenticate']?.includes('error=')).toBe(/^Bearer nonsense/.test(authorization ?? ''));
    }
  });
  it('S-166 answers 403 with error and message where the application may not post events', async () => {
    const answer = await postEvent(service, await eventToken(service, 'no-events'), event());
    expect(answer).toMatchObject({ status: 403, json: { error: 'forbidden', message: expect.any(String) } });
  });
  it('S-002 takes the scheme name in any case', async () => {
    const answer = await send(`${service.cloud.url}/partner/v1/events`, {
      method: 'POST',
      headers: { authorization: `bEARER ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(event()),
    });
    expect(answer.status).toBe(200);
  });
  it('S-008 looks at no body before it knows the caller', async () => {
    const answer = await send(`${service.cloud.url}/partner/v1/events`, { method: 'POST', body: '{' });
    expect(answer.status).toBe(401);
  });
  it('S-168 takes an event whose time is days ago', async () => {
    expect((await postEvent(service, token, event({ event_time: '2020-01-01T00:00:00Z' }))).status).toBe(200);
  });
  it('S-003 S-020 answers with a request id and the trace id, never to be stored', async () => {
    const trace = randomUUID();
    const answer = await send(`${service.cloud.url}/partner/v1/events`, {
      method: 'POST',
      headers: { 'x-partner-trace-id': trace },
    });
    expect(answer.headers).toMatchObject({
      'x-partner-trace-id': trace,
      'x-request-id': expect.any(String),
      'cache-control': 'no-store',
    });
    expect(service.cloud.log().at(-1)).toMatchObject({ traceId: trace, status: 401 });
  });
  it('S-015 answers 404 for an unknown path and 405 with Allow for a wrong method', async () => {
    expect(await send(`${service.cloud.url}/partner/v1/nothing`)).toMatchObject({
      status: 404,
      json: { statusCode: 404 },
    });
    const answer = await send(`${service.cloud.url}/partner/v1/events`, { method: 'DELETE' });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' }, json: { statusCode: 405 } });
  });
});

describe('upload addresses', () => {
  const announce = async (fields: Record<string, unknown> = { upload_snapshot_count: 1 }) =>
    (await postEvent(service, token, event(fields))).json.uploads as { url: string }[];

  it('S-164 stores what is put, with digest and without asking for a token', async () => {
    const [slot] = await announce();
    const picture = randomBytes(5000);
    expect((await put(slot!.url, picture)).status).toBe(200);
    const [upload] = service.cloud.uploads();
    const sha256 = createHash('sha256').update(picture).digest('hex');
    expect(upload).toMatchObject({ kind: 'snapshot', index: 0, bytes: 5000, sha256, authorization_sent: false });
    expect(service.cloud.content(upload!.id)).toEqual(picture);
    expect(JSON.stringify(service.cloud.log())).not.toContain(slot!.url.split('/').at(-1));
  });
  it('S-164 takes the same address again and keeps the last content', async () => {
    const [slot] = await announce();
    await put(slot!.url, Buffer.from('one'));
    await put(slot!.url, Buffer.from('second'));
    expect(service.cloud.uploads()).toMatchObject([{ bytes: 6, put_count: 2 }]);
  });
  it('S-164 answers 403 after 15 minutes', async () => {
    const [slot] = await announce();
    service.cloud.setClockOffset(15 * 60 + 1);
    expect((await put(slot!.url, Buffer.from('late'))).status).toBe(403);
    expect(service.cloud.uploads()).toEqual([]);
  });
  it('S-164 wants a picture for a snapshot and video for a clip', async () => {
    const [snapshot, clip] = await announce({ upload_snapshot_count: 1, upload_short_mp4: true });
    expect((await put(snapshot!.url, Buffer.from('x'), { 'content-type': 'video/mp4' })).status).toBe(400);
    expect((await put(clip!.url, Buffer.from('x'))).status).toBe(400);
    expect((await put(clip!.url, Buffer.from('x'), { 'content-type': 'video/mp4' })).status).toBe(200);
  });
  it('S-167 remembers that an Authorization header came with an upload', async () => {
    const [slot] = await announce();
    await put(slot!.url, Buffer.from('x'), { authorization: `Bearer ${token}` });
    expect(service.cloud.uploads()).toMatchObject([{ authorization_sent: true }]);
  });
  it('refuses more than 20 MiB with 413, also when the size is not told', async () => {
    const [slot] = await announce();
    const big = Buffer.alloc(20 * 1024 * 1024 + 1);
    expect((await put(slot!.url, big)).status).toBe(413);
    expect((await put(slot!.url, big, { 'transfer-encoding': 'chunked' })).status).toBe(413);
    expect(service.cloud.uploads()).toEqual([]);
  });
  it('answers 404 for an address it never gave, and 405 for reading one', async () => {
    const [slot] = await announce();
    expect((await put(`${service.cloud.url}/uploads/pictures/unknown`, Buffer.from('x'))).status).toBe(404);
    expect((await put(slot!.url.replace('pictures', 'clips'), Buffer.from('x'))).status).toBe(404);
    expect((await send(slot!.url)).status).toBe(405);
  });
});

it('S-023 a partner token does not open the event endpoint', async () => {
  const answer = await postForm(
    service,
    form({ grant_type: 'client_credentials', client_id: 'partner-1', client_secret: 's3cr+t/%:x' }),
  );
  expect((await postEvent(service, answer.json.access_token, event())).status).toBe(403);
});
