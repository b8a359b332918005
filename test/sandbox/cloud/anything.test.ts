import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { event, eventToken, grantType, postEvent, type Service, send, startService } from './service.ts';

let service: Service;
let token: string;
beforeAll(async () => {
  service = await startService();
  token = await eventToken(service);
});
afterAll(() => service.cloud.close());

const paths = fc.oneof(
  fc.constantFrom(
    '/oauth/token',
    '/partner/v1/events',
    '/uploads/pictures/x',
    '/uploads/clips/..%2f',
    '/__sandbox/faults',
  ),
  fc.webPath().map((path) => (path.startsWith('/') ? path : `/${path}`)),
  fc
    .array(fc.constantFrom('%00', '%zz', '..', '//', ';', '__proto__', 'events', '%E0%A4%A'), { maxLength: 6 })
    .map((parts) => `/${parts.join('/')}`),
);
const mutatedEvent = fc
  .dictionary(fc.constantFrom(...Object.keys(event()), '__proto__', 'constructor'), fc.jsonValue({ maxDepth: 3 }))
  .map((changes) => JSON.stringify({ ...event(), ...changes }));
const formBody = fc
  .array(
    fc.tuple(
      fc.constantFrom('grant_type', 'assertion', 'client_id', 'client_secret', '__proto__', 'x'),
      fc.oneof(fc.constant(grantType), fc.string(), fc.constant('client_credentials')),
    ),
    { maxLength: 5 },
  )
  .map((pairs) => new URLSearchParams(pairs).toString());
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  mutatedEvent.map((text) => Buffer.from(text)),
  formBody.map((text) => Buffer.from(text)),
);
const requests = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PURGE'),
  path: paths,
  query: fc.option(fc.webQueryParameters(), { nil: undefined }),
  type: fc.constantFrom(
    'application/json',
    'application/x-www-form-urlencoded',
    'image/jpeg',
    'video/mp4',
    '',
    'a;b=c',
  ),
  authorization: fc.constantFrom('token', '', 'Bearer', 'Bearer x', 'Basic Og==', 'Basic %%%', 'Digest a="b'),
  trace: fc.string({ maxLength: 40, unit: 'grapheme-ascii' }),
  body: bodies,
});

it('answers any request in JSON, never with a 5xx, and keeps what it stored', async () => {
  const witness = event();
  expect((await postEvent(service, token, witness)).status).toBe(200);
  await fc.assert(
    fc.asyncProperty(requests, async ({ method, path, query, type, authorization, trace, body }) => {
      const bare = method === 'GET' || method === 'HEAD';
      const answer = await send(service.cloud.url + path + (query === undefined ? '' : `?${query}`), {
        method,
        headers: {
          'content-type': type,
          'x-partner-trace-id': trace,
          ...(authorization === ''
            ? {}
            : { authorization: authorization === 'token' ? `Bearer ${token}` : authorization }),
        },
        ...(bare ? {} : { body }),
      });
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers['content-type']).toBe('application/json');
      if (method !== 'HEAD') expect(answer.json).toBeTypeOf('object');
      service.cloud.clearFaults();
    }),
    { numRuns: 600 },
  );
  const kept = service.cloud.events().find((stored) => stored.event_id === witness.event_id);
  expect(kept).toMatchObject({ body: witness, try_count: 1 });
  expect((await postEvent(service, token, witness)).status).toBe(200);
});
