import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { clientCredentialsSource, createHttp, givenToken } from '#cloud/client/index.ts';
import { cloudOperations } from '#cloud/contract/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { bindClient } from '#lib/contract/client.ts';
import { Secret } from '#lib/secret.ts';
import { json, scripted } from '../support.ts';

const { signal } = new AbortController();
const secret = 's3cr+t/%:x';

/** A token server that answers so, and the source that asks it. */
async function setUp(status: number, body: object) {
  const clock = manualClock();
  const server = await scripted((_, response) => json(response, status, body));
  const http = createHttp({ clock, bases: { base: { url: server.url, key: 'cloud.base_url' } } });
  onTestFinished(async () => {
    await http.close();
    await server.close();
  });
  const client = bindClient(cloudOperations, http.transport);
  const options = { clientId: 'partner-1', secret: new Secret(secret), client, clock, log: pino({ level: 'silent' }) };
  return { clock, server, source: clientCredentialsSource({ ...options, random: () => 0.5, signal }) };
}

it('partner tokens are asked for once for many callers, with id and secret in the body', async () => {
  const { server, source } = await setUp(200, { access_token: 't', token_type: 'bearer', expires_in: '3600' });
  const tokens = await Promise.all(Array.from({ length: 20 }, () => source.get(signal)));
  expect(tokens.every((token) => token.kind === 'token' && token.value.reveal() === 't')).toBe(true);
  expect(server.seen).toHaveLength(1);
  expect(Object.fromEntries(new URLSearchParams(server.seen[0]?.body))).toEqual({
    grant_type: 'client_credentials',
    client_id: 'partner-1',
    client_secret: secret,
  });
});

it('a refusal names what to check, never the secret, and is not repeated for a minute', async () => {
  const { clock, server, source } = await setUp(401, { error: 'invalid_client' });
  const first = await source.get(signal);
  expect(first).toMatchObject({ kind: 'failure', failure: 'token_refused', retryAfterMs: 60_000 });
  expect(JSON.stringify(first)).toContain('partner-1');
  expect(JSON.stringify(first)).not.toContain(secret);
  await source.get(signal);
  expect(server.seen).toHaveLength(1);
  clock.advance(60_000);
  await source.get(signal);
  expect(server.seen).toHaveLength(2);
});

it('a given token serves until it is forgotten', async () => {
  const given = givenToken(new Secret('u-1'), 'the user token');
  expect(await given.get(signal)).toMatchObject({ kind: 'token', generation: 1 });
  given.forget();
  expect(await given.get(signal)).toMatchObject({
    failure: 'token_refused',
    message: expect.stringContaining('forgotten'),
  });
});
