import { expect } from 'vitest';
import { done, number, refused, text, time } from './answers.ts';
import { eventBody, nowText } from './fixtures.ts';
import { type Answer, type Loose, send } from './http.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

/** One token for a test. */
async function sender(): Promise<(json: unknown) => Promise<Answer>> {
  const token = await service.token('event');
  return (json) => call('POST', '/partner/v1/events', { token, json });
}

const uploadsOf = (body: Loose): readonly Loose[] => (body.uploads ?? []) as unknown as readonly Loose[];
const announcing = { upload_snapshot_count: 2, upload_short_mp4: true, upload_event_mp4: true };
const stored = async (event_id: unknown): Promise<readonly Loose[]> => {
  const { events } = await service.control('GET', '/events');
  return (events as unknown as readonly Loose[]).filter((event) => event.event_id === event_id);
};

rule('S-160 an event with its fourteen members is taken', async () => {
  const post = await sender();
  const event = eventBody(announcing);
  expect(Object.keys(event)).toHaveLength(14);
  const answer = await post(event);
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(200);
  expect(answer.status, answer.text).toBeLessThan(300);
});

rule('S-160 a member of a wrong type refuses the event and names the member', async () => {
  const post = await sender();
  const texts = Object.keys(eventBody()).slice(0, 9);
  const flags = ['should_signal_to_monitoring_center', 'upload_short_mp4', 'upload_event_mp4'];
  for (const field of texts) refused(await post(eventBody({ [field]: 7 })), 400, field);
  for (const field of flags) refused(await post(eventBody({ [field]: 'yes' })), 400, field);
  refused(await post(eventBody({ upload_snapshot_count: '2' })), 400, 'upload_snapshot_count');
  for (const payload of ['text', 7, []]) refused(await post(eventBody({ payload })), 400, 'payload');
});

rule('S-160 times are ISO 8601', async () => {
  const post = await sender();
  for (const field of ['event_time', 'sent_at']) {
    for (const odd of ['now', '1700000000', '2030-02-30T00:00:00Z']) {
      refused(await post(eventBody({ [field]: odd })), 400, field);
    }
  }
});

rule('S-161 alarm, trouble and arming are taken, and so are kinds that are not known', async () => {
  const post = await sender();
  for (const event_type of ['alarm', 'trouble', 'arming', 'something-new']) done(await post(eventBody({ event_type })));
  for (const event_status of ['active', 'restored', 'whatever']) done(await post(eventBody({ event_status })));
  refused(await post(eventBody({ event_type: '' })), 400, 'event_type');
});

rule('S-162 six members are required; without one the body names it', async () => {
  const post = await sender();
  const required = ['version', 'location_id', 'event_id', 'event_type', 'event_time', 'sent_at'];
  for (const field of required) {
    const body = refused(await post(eventBody({ [field]: undefined })), 400, field);
    expect(body).toMatchObject({ error: 'bad_request', message: expect.stringContaining(field) });
  }
  const whole = eventBody();
  const least = Object.fromEntries(Object.entries(whole).filter(([name]) => required.includes(name)));
  done(await post(least));
});

rule('S-162 snapshots are counted 0 to 50; a payload of null is none', async () => {
  const post = await sender();
  for (const count of [-1, 51, 1.5]) {
    refused(await post(eventBody({ upload_snapshot_count: count })), 400, 'upload_snapshot_count');
  }
  const most = done(await post(eventBody({ upload_snapshot_count: 50 })));
  expect(uploadsOf(most)).toHaveLength(50);
  done(await post(eventBody({ payload: null })));
});

rule('S-163 the answer holds an address for each snapshot and clip', async () => {
  const post = await sender();
  const answer = await post(eventBody(announcing));
  const addresses = answer.text.match(/https?:\/\/[^"\\ ]+/g) ?? [];
  expect(new Set(addresses).size, answer.text).toBe(4);
});

rule('S-164 uploads tell kind, index, address, method and expiry; as many as announced', async () => {
  const post = await sender();
  const event = eventBody(announcing);
  const body = done(await post(event));
  expect(body.event_id).toBe(event.event_id);
  const shape = { index: number, url: text, method: 'PUT', expires_at: time };
  expect(uploadsOf(body)).toEqual([
    { ...shape, kind: 'snapshot', index: 0 },
    { ...shape, kind: 'snapshot', index: 1 },
    { ...shape, kind: 'short_mp4' },
    { ...shape, kind: 'event_mp4' },
  ]);
  expect(uploadsOf(done(await post(eventBody())))).toEqual([]);
});

const picture = Buffer.from([0xff, 0xd8, 0xff, 0xd9]);
const put = (upload: Loose | undefined, type = 'image/jpeg') =>
  send('PUT', String(upload?.url), { body: picture, headers: { 'content-type': type } });

rule('S-164 the addresses take pictures and clips for 15 minutes, then give 403', async () => {
  const post = await sender();
  const uploads = uploadsOf(done(await post(eventBody(announcing))));
  for (const upload of uploads) {
    expect((await put(upload, String(upload.kind) === 'snapshot' ? 'image/jpeg' : 'video/mp4')).status).toBe(200);
  }
  await service.withClock(14 * 60, async () => expect((await put(uploads[0])).status).toBe(200));
  await service.withClock(15 * 60 + 5, async () => expect((await put(uploads[0])).status).toBe(403));
});

rule('S-165 the same event again is one event, with fresh addresses', async () => {
  const post = await sender();
  const event = eventBody(announcing);
  const first = uploadsOf(done(await post(event)));
  const again = done(await post({ ...event, sent_at: nowText() }));
  expect(again.event_id).toBe(event.event_id);
  const urls = [...first, ...uploadsOf(again)].map((upload) => upload.url);
  expect(new Set(urls).size).toBe(8);
  expect(await stored(event.event_id)).toMatchObject([{ try_count: 2 }]);
});

rule('S-166 a bad token gives 401 with error and message', async () => {
  for (const token of [undefined, 'nobody-issued-this']) {
    const answer = await call('POST', '/partner/v1/events', { token, json: eventBody() });
    expect(refused(answer, 401)).toMatchObject({ error: text, message: text });
  }
});

rule('S-166 an application without the permission gets 403 with error and message', async () => {
  const token = await service.token('event', { may_ingest: false });
  const event = eventBody();
  const answer = await call('POST', '/partner/v1/events', { token, json: event });
  expect(refused(answer, 403)).toMatchObject({ error: text, message: text });
  expect(await stored(event.event_id)).toEqual([]);
});

rule('S-167 an upload needs no token: its address is the permission', async () => {
  const post = await sender();
  const [upload] = uploadsOf(done(await post(eventBody({ upload_snapshot_count: 1 }))));
  const answer = await put(upload);
  expect(answer.status).toBeGreaterThanOrEqual(200);
  expect(answer.status).toBeLessThan(300);
});

rule('S-168 an event that is older than a day is taken; another sent_at makes it no other event', async () => {
  const post = await sender();
  const event = eventBody({ event_time: nowText(-3 * 86_400_000), event_id: unique('old') });
  done(await post(event));
  done(await post({ ...event, sent_at: nowText(5000) }));
  expect(await stored(event.event_id)).toMatchObject([{ try_count: 2, identical: true }]);
});
