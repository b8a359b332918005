import { createPrivateKey, type KeyObject } from 'node:crypto';
import { expect } from 'vitest';
import { done, refused, text } from './answers.ts';
import { assertion, claims, keyPair } from './assertion.ts';
import { aDealer, eventBody, makeDealer } from './fixtures.ts';
import type { Answer } from './http.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;
const jwtGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const pair = keyPair();

interface Signer {
  readonly id: string;
  readonly key: KeyObject;
}

/** An application that signs: a new one, or the one that was given. */
async function aSigner(): Promise<Signer> {
  const { control, given } = service.target();
  if (!control) {
    const reason = 'needs a control path or --event-client-id and --event-key-file';
    return {
      id: service.need(given.eventClientId, reason),
      key: createPrivateKey(service.need(given.eventKey, reason)),
    };
  }
  const id = unique('bridge');
  await service.control('POST', '/clients', { client_id: id, public_key_pem: pair.publicPem });
  return { id, key: pair.privateKey };
}

/** An application with a secret; it reaches the dealers. */
async function aClient(dealers: readonly number[] = []): Promise<{ client_id: string; client_secret: string }> {
  const { control, given } = service.target();
  if (!control && dealers.length === 0) {
    const reason = 'needs a control path or --client-id and --client-secret-env';
    return {
      client_id: service.need(given.clientId, reason),
      client_secret: service.need(given.clientSecret, reason),
    };
  }
  const client = { client_id: unique('partner'), client_secret: 's3cr+t/%:x' };
  await service.control('POST', '/clients', { ...client, dealers });
  return client;
}

const exchange = (form: Record<string, string>): Promise<Answer> => call('POST', '/oauth/token', { to: 'auth', form });
const grant = (jwt: string): Promise<Answer> => exchange({ grant_type: jwtGrant, assertion: jwt });
const credentials = (client: object): Promise<Answer> =>
  call('POST', '/oauth/token', { form: { grant_type: 'client_credentials', ...client } });

/** An assertion of the signer with other claims; an undefined one is left out. */
const signed = (signer: Signer, members: object = {}, header: object = {}): string =>
  assertion(claims(signer.id, service.target().audience, members), signer.key, header);

/** RFC 6749 5.2 and section 7: printable ASCII without quotation mark and backslash. */
function invalidGrant(answer: Answer): void {
  const body = refused(answer, 400);
  expect(body).toEqual({ error: 'invalid_grant', error_description: text });
  expect(body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
}

const inSeconds = (offset: number): number => Math.floor(Date.now() / 1000) + offset;

rule('S-030 client id and secret in a form give an access token', async () => {
  const body = done(await credentials(await aClient()));
  expect(body.access_token).toMatch(/^[\w.~+/=-]+$/);
});

rule('S-031 the answer has token_type Bearer and a lifetime, neither a refresh token nor a scope', async () => {
  const answer = await credentials(await aClient());
  const body = done(answer);
  expect(body).toEqual({ access_token: text, token_type: 'Bearer', expires_in: 3600 });
  expect(answer.headers['cache-control']).toBe('no-store');
});

rule('S-031 a wrong client gives 401 invalid_client, another grant 400, a JSON body 400', async () => {
  const client = await aClient();
  const wrong = await credentials({ ...client, client_secret: 'wrong' });
  expect(refused(wrong, 401)).toMatchObject({ error: 'invalid_client' });
  expect(refused(await credentials({ ...client, client_id: unique('nobody') }), 401)).toMatchObject({
    error: 'invalid_client',
  });
  const password = await exchange({ ...client, grant_type: 'password' });
  expect(refused(password, 400)).toMatchObject({ error: 'unsupported_grant_type' });
  const json = { grant_type: 'client_credentials', ...client };
  expect(refused(await call('POST', '/oauth/token', { json }), 400)).toMatchObject({ error: 'invalid_request' });
  expect(refused(await exchange({ ...client }), 400)).toMatchObject({ error: 'invalid_request' });
});

rule('S-032 a token reaches the dealers of its client and no others', async () => {
  const [a, b, other] = [await makeDealer(service), await makeDealer(service), await makeDealer(service)];
  const { access_token } = done(await credentials(await aClient([a, b])));
  const token = String(access_token);
  for (const id of [a, b]) done(await call('GET', `/partner/v1/dealers/${id}`, { token }));
  refused(await call('GET', `/partner/v1/dealers/${other}`, { token }), 403);
});

rule('S-033 connecting a dealer takes a token that is tied to a user', async () => {
  const id = await makeDealer(service, { connected: false });
  const token = await service.token('user', { dealers: [id] });
  const json = { external_dealer_id: unique('dealer'), company_name: 'Guards' };
  const dealer = done(await call('PUT', '/partner/v1/dealers/connect', { token, json }));
  expect(dealer.dealer_id).toBe(id);
});

rule('S-034 a signed assertion gives a token that takes events', async () => {
  const body = done(await grant(signed(await aSigner())));
  done(await call('POST', '/partner/v1/events', { token: String(body.access_token), json: eventBody() }));
});

rule('S-034 issuer and subject are both the client id', async () => {
  const signer = await aSigner();
  invalidGrant(await grant(signed(signer, { sub: 'somebody-else' })));
  invalidGrant(await grant(signed(signer, { iss: 'somebody-else' })));
});

rule('S-035 the answer holds access_token, token_type Bearer and expires_in, typically 3600', async () => {
  const body = done(await grant(signed(await aSigner())));
  expect(body).toEqual({ access_token: text, token_type: 'Bearer', expires_in: 3600 });
});

rule('S-036 a wrong key gives invalid_grant', async () => {
  const signer = await aSigner();
  invalidGrant(await grant(signed({ ...signer, key: keyPair().privateKey })));
});

rule('S-036 an expired assertion gives invalid_grant', async () => {
  invalidGrant(await grant(signed(await aSigner(), { iat: inSeconds(-900), exp: inSeconds(-600) })));
});

rule('S-036 malformed claims give invalid_grant', async () => {
  const signer = await aSigner();
  const malformed = [
    { exp: 'tomorrow' },
    { iat: true },
    { exp: undefined },
    { iat: undefined },
    { sub: undefined },
    { iss: 7 },
    { aud: undefined },
    { aud: 7 },
    { jti: 7 },
  ];
  for (const members of malformed) invalidGrant(await grant(signed(signer, members)));
  for (const jwt of ['no.jwt', 'a.b.c', '{}', signed(signer).slice(0, -4)]) invalidGrant(await grant(jwt));
});

rule('S-036 an audience that is not the token server gives invalid_grant', async () => {
  const signer = await aSigner();
  const { audience } = service.target();
  for (const aud of ['https://elsewhere.example', `${audience}/`, `${audience}/oauth/token`, audience.toUpperCase()]) {
    invalidGrant(await grant(signed(signer, { aud })));
  }
});

rule('S-037 an assertion id that was used gives invalid_grant, also in another assertion', async () => {
  const signer = await aSigner();
  const jti = unique('jti');
  const first = signed(signer, { jti });
  done(await grant(first));
  invalidGrant(await grant(first));
  invalidGrant(await grant(signed(signer, { jti, exp: inSeconds(200) })));
  done(await grant(signed(signer)));
});

rule('S-037 an assertion that was refused does not use up its id', async () => {
  const signer = await aSigner();
  const jti = unique('jti');
  invalidGrant(await grant(signed({ ...signer, key: keyPair().privateKey }, { jti })));
  done(await grant(signed(signer, { jti })));
});

rule('S-038 an algorithm other than RS256 gives invalid_grant', async () => {
  const signer = await aSigner();
  for (const alg of ['none', 'RS384', 'PS256']) invalidGrant(await grant(signed(signer, {}, { alg })));
  if (service.target().control) {
    invalidGrant(await grant(signed({ ...signer, key: pair.publicKey }, {}, { alg: 'HS256' })));
  }
});

rule('S-039 no assertion gives invalid_request', async () => {
  await aSigner();
  for (const form of [{ grant_type: jwtGrant }, { grant_type: jwtGrant, assertion: '' }]) {
    expect(refused(await exchange(form), 400)).toMatchObject({ error: 'invalid_request' });
  }
});

rule('S-039 more than an hour, an issue time ahead and no id give invalid_grant', async () => {
  const signer = await aSigner();
  invalidGrant(await grant(signed(signer, { exp: inSeconds(3700) })));
  invalidGrant(await grant(signed(signer, { iat: inSeconds(90) })));
  invalidGrant(await grant(signed(signer, { jti: undefined })));
  invalidGrant(await grant(signed(signer, { jti: '' })));
  done(await grant(signed(signer, { exp: inSeconds(3590) })));
  done(await grant(signed(signer, { iat: inSeconds(10) })));
});

rule('S-040 after a 401 a new assertion gives a token that works', async () => {
  const signer = await aSigner();
  const post = (token: unknown) => call('POST', '/partner/v1/events', { token: String(token), json: eventBody() });
  const first = done(await grant(signed(signer)));
  done(await post(first.access_token));
  await service.control('POST', '/revoke');
  expect(refused(await post(first.access_token), 401)).toMatchObject({ error: text, message: text });
  done(await post(done(await grant(signed(signer))).access_token));
});

rule('S-040 a token ends with its lifetime', async () => {
  const signer = await aSigner();
  const { access_token } = done(await grant(signed(signer)));
  const post = () => call('POST', '/partner/v1/events', { token: String(access_token), json: eventBody() });
  await service.withClock(3590, async () => void done(await post()));
  await service.withClock(3601, async () => void refused(await post(), 401));
});

rule('S-042 no scopes are shown', async () => {
  const partner = done(await credentials(await aClient()));
  const event = done(await grant(signed(await aSigner())));
  for (const body of [partner, event]) expect(body).not.toHaveProperty('scope');
});

rule('S-043 a client may have several keys at once', async () => {
  const id = unique('bridge');
  const next = keyPair();
  await service.control('POST', '/clients', { client_id: id, public_key_pem: pair.publicPem, kid: 'old' });
  await service.control('POST', '/clients', { client_id: id, public_key_pem: next.publicPem, kid: 'new' });
  for (const [key, kid] of [
    [pair.privateKey, 'old'],
    [next.privateKey, 'new'],
  ] as const) {
    done(await grant(signed({ id, key })));
    done(await grant(signed({ id, key }, {}, { kid })));
    invalidGrant(await grant(signed({ id, key }, {}, { kid: kid === 'old' ? 'new' : 'old' })));
    invalidGrant(await grant(signed({ id, key }, {}, { kid: 'unknown' })));
  }
});

rule('S-041 an API key is presented as it is', async () => {
  const { id } = await aDealer(service);
  const key = await service.token('api_key', { dealers: [id] });
  refused(await call('POST', '/v1/partitions/no-such-partition/arm', { token: key }), 404);
  refused(await call('POST', '/v1/partitions/no-such-partition/arm', { token: `${key}x` }), 401);
});
