import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReplayMemory } from '../../../src/sandbox/cloud/tokens.ts';
import {
  claims,
  event,
  eventToken,
  exchange,
  form,
  grantType,
  keyPair,
  pem,
  postEvent,
  postForm,
  type Service,
  send,
  sign,
  startService,
} from './service.ts';

const nowS = () => Math.floor(Date.now() / 1000);
const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.cloud.close());

async function refused(assertion: string | Promise<string>, reason: RegExp) {
  const answer = await exchange(service, await assertion);
  expect(answer.json).toMatchObject({ error: 'invalid_grant', error_description: expect.stringMatching(reason) });
  expect(answer.status).toBe(400);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json.error_description).toMatch(/^[\x20-\x7e]+$/);
}

describe('assertion grant', () => {
  it('S-034 S-035 exchanges a good assertion for a bearer token of an hour, not to be stored', async () => {
    const answer = await exchange(service, await sign(service));
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 3600 });
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
  });

  it('S-036 refuses a signature by another key', () =>
    refused(sign(service, {}, { key: keyPair().privateKey }), /signature/));
  it('S-036 refuses an expired assertion', () =>
    refused(sign(service, { iat: nowS() - 400, exp: nowS() - 100 }), /expired/));
  it('S-036 takes an assertion that expired within the tolerance', async () => {
    const answer = await exchange(service, await sign(service, { iat: nowS() - 300, exp: nowS() - 10 }));
    expect(answer.status).toBe(200);
  });
  it('S-036 refuses a numeric claim sent as text', () => refused(sign(service, { exp: String(nowS() + 300) }), /exp/));
  it('S-036 refuses an issuer it does not know', () =>
    refused(sign(service, { iss: 'stranger', sub: 'stranger' }), /issuer/));
  it('S-036 refuses a subject that is not the issuer', () => refused(sign(service, { sub: 'no-events' }), /subject/));
  it('S-036 refuses what is no JWT', () => refused('not.a.jwt', /not a signed JWT/));
  it.each([
    ['a trailing slash', '/'],
    ['the token path', '/oauth/token'],
  ])('S-036 refuses an audience with %s', (_, suffix) =>
    refused(sign(service, { aud: service.cloud.url + suffix }), /audience/),
  );
  it('S-036 refuses a missing audience', () => refused(sign(service, { aud: undefined }), /aud/));
  it('S-036 takes an audience list that holds the token server', async () => {
    expect((await exchange(service, await sign(service, { aud: ['x', service.cloud.url] }))).status).toBe(200);
  });
  it('S-036 honours nbf', () => refused(sign(service, { nbf: nowS() + 61 }), /not valid yet/));

  it('S-037 refuses a reused jti', async () => {
    const assertion = await sign(service);
    expect((await exchange(service, assertion)).status).toBe(200);
    await refused(assertion, /used before/);
    await refused(sign(service, { jti: JSON.parse(atob(assertion.split('.')[1]!)).jti }), /used before/);
  });
  it('S-037 does not let a bad signature use up a jti', async () => {
    const jti = randomUUID();
    await refused(sign(service, { jti }, { key: keyPair().privateKey }), /signature/);
    expect((await exchange(service, await sign(service, { jti }))).status).toBe(200);
  });
  it('S-037 takes one of twenty parallel requests with the same assertion', async () => {
    const assertion = await sign(service);
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(service, assertion)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
  });
  it('S-037 forgets no used id while it could still be valid', () => {
    const memory = new ReplayMemory(2);
    expect(memory.use('a', 1000, 0)).toBe('new');
    expect(memory.use('b', 2000, 0)).toBe('new');
    expect(memory.use('c', 3000, 500)).toBe('full');
    expect(memory.use('a', 1000, 500)).toBe('used');
    expect(memory.use('c', 3000, 1000)).toBe('new');
  });

  it('S-038 refuses alg none', () => refused(`${b64({ alg: 'none' })}.${b64(claims(service))}.`, /alg/));
  it('S-038 refuses HS256 signed with the public key', () =>
    refused(sign(service, {}, { alg: 'HS256', key: Buffer.from(pem(keyPair().publicKey)) }), /alg/));
  it('S-038 refuses PS256 by the right key', () => refused(sign(service, {}, { alg: 'PS256' }), /alg/));

  it('S-039 asks for the assertion', async () => {
    for (const body of [form({ grant_type: grantType }), form({ grant_type: grantType, assertion: '' })]) {
      expect(await postForm(service, body)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    }
  });
  it('S-039 refuses a life of more than an hour', () => refused(sign(service, { exp: nowS() + 3700 }), /3600/));
  it('S-039 refuses an assertion issued long ago', () =>
    refused(sign(service, { iat: nowS() - 3700, exp: nowS() - 3700 + 3600 + 90 }), /3600|too long ago/));
  it('S-039 takes iat 10 s ahead and refuses it 61 s ahead', async () => {
    expect((await exchange(service, await sign(service, { iat: nowS() + 10 }))).status).toBe(200);
    await refused(sign(service, { iat: nowS() + 61 }), /future/);
  });
  it('S-039 refuses a missing, empty or overlong jti', async () => {
    for (const jti of [undefined, '', 'x'.repeat(256)]) await refused(sign(service, { jti }), /jti/);
  });
  it('S-039 refuses a missing iat', () => refused(sign(service, { iat: undefined }), /iat/));

  it('S-043 uses only the named key when there is a kid, and every key when there is none', async () => {
    const next = keyPair();
    service.cloud.addClient({ clientId: 'bridge-1', publicKeyPem: pem(next.publicKey), kid: 'k2' });
    expect((await exchange(service, await sign(service, {}, { kid: 'k1' }))).status).toBe(200);
    expect((await exchange(service, await sign(service, {}, { kid: 'k2', key: next.privateKey }))).status).toBe(200);
    expect((await exchange(service, await sign(service, {}, { key: next.privateKey }))).status).toBe(200);
    await refused(sign(service, {}, { kid: 'k2' }), /signature/);
    await refused(sign(service, {}, { kid: 'k9' }), /kid/);
    await refused(sign(service, {}, { kid: 7 }), /kid/);
  });
  it('S-043 does not register a key of fewer than 2048 bits', () => {
    expect(() => service.cloud.addClient({ clientId: 'x', publicKeyPem: 'no key' })).toThrow(/PEM/);
  });
});

describe('token request', () => {
  it('S-031 refuses a JSON body', async () => {
    const answer = await postForm(service, JSON.stringify({ grant_type: grantType }), {
      'content-type': 'application/json',
    });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
  it('S-034 refuses parameters in the address', async () => {
    const assertion = await sign(service);
    const answer = await send(`${service.cloud.url}/oauth/token?assertion=${assertion}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form({ grant_type: grantType, assertion }),
    });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(JSON.stringify(service.cloud.log())).not.toContain(assertion);
  });
  it('S-034 refuses a parameter given twice', async () => {
    const assertion = await sign(service);
    const body = form([
      ['grant_type', grantType],
      ['assertion', assertion],
      ['assertion', assertion],
    ]);
    expect(await postForm(service, body)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
  it('S-031 refuses another grant type', async () => {
    const answer = await postForm(service, form({ grant_type: 'password' }));
    expect(answer).toMatchObject({ status: 400, json: { error: 'unsupported_grant_type' } });
  });
  it('S-015 refuses another method with 405 and Allow', async () => {
    const answer = await send(`${service.cloud.url}/oauth/token`);
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });
});

describe('client credentials grant', () => {
  const secret = 's3cr+t/%:x';
  const credentials = { grant_type: 'client_credentials', client_id: 'partner-1', client_secret: secret };
  const basic = (id: string, password: string) =>
    `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`).toString('base64')}`;

  it('S-030 gives a token for id and secret in the body', async () => {
    const answer = await postForm(service, form(credentials));
    expect(answer).toMatchObject({ status: 200, json: { token_type: 'Bearer', expires_in: 3600 } });
    expect(answer.json).not.toHaveProperty('scope');
  });
  it('S-030 gives a token for id and secret in the header', async () => {
    const body = form({ grant_type: 'client_credentials' });
    const answer = await postForm(service, body, { authorization: basic('partner-1', secret) });
    expect(answer.status).toBe(200);
  });
  it('S-031 refuses a wrong secret with 401, with a challenge only for the header', async () => {
    const inBody = await postForm(service, form({ ...credentials, client_secret: 'wrong' }));
    expect(inBody).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    expect(inBody.headers['www-authenticate']).toBeUndefined();
    const body = form({ grant_type: 'client_credentials' });
    const inHeader = await postForm(service, body, {
      authorization: basic('partner-1', randomBytes(5).toString('hex')),
    });
    expect(inHeader).toMatchObject({ status: 401, headers: { 'www-authenticate': expect.stringContaining('Basic') } });
  });
  it('S-031 refuses credentials in both places', async () => {
    const answer = await postForm(service, form(credentials), { authorization: basic('partner-1', secret) });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
  it('S-023 does not open the event endpoint', async () => {
    const token = (await postForm(service, form(credentials))).json.access_token;
    expect(await postEvent(service, token, event())).toMatchObject({ status: 403 });
  });
});

describe('life of tokens', () => {
  it('S-002 S-040 a token ends at its expiry by the service clock, and a new one works', async () => {
    const token = await eventToken(service);
    expect((await postEvent(service, token, event())).status).toBe(200);
    service.cloud.setClockOffset(3601);
    const late = await postEvent(service, token, event());
    expect(late).toMatchObject({ status: 401, json: { error: 'invalid_token' } });
    const stamp = Date.parse(String(late.headers.date)) / 1000 - nowS();
    expect(Math.abs(stamp - 3601)).toBeLessThan(60);
    const shifted = { iat: nowS() + 3601, exp: nowS() + 3601 + 300 };
    const fresh = await exchange(service, await sign(service, shifted));
    expect((await postEvent(service, fresh.json.access_token, event())).status).toBe(200);
    service.cloud.setClockOffset(0);
  });
});
