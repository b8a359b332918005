import { createPrivateKey, randomUUID } from 'node:crypto';
import { gaxios, JWT } from 'google-auth-library';
import { SignJWT } from 'jose';
import * as openid from 'openid-client';
import { ClientCredentials } from 'simple-oauth2';
import { describe, expect, test } from 'vitest';
import { done } from './answers.ts';
import { keyPair } from './assertion.ts';
import { eventBody, makeDealer } from './fixtures.ts';
import { conformance, unique } from './server.ts';

/**
 * OAuth clients that nobody here wrote, against the sandbox as it is. Each is given what the specification asks for
 * and it does not send on its own; nothing of the sandbox is loosened.
 */
const service = conformance();
const pair = keyPair();
const stranger = keyPair();
const secret = 's3cr+t/%:x';

async function aSigner(): Promise<string> {
  const client_id = unique('bridge');
  await service.control('POST', '/clients', { client_id, public_key_pem: pair.publicPem });
  return client_id;
}

/** A client with a secret, and a dealer that it reaches. */
async function aPartner(): Promise<{ id: string; dealer: string }> {
  const [client_id, dealer] = [unique('partner'), await makeDealer(service)];
  await service.control('POST', '/clients', { client_id, client_secret: secret, dealers: [dealer] });
  return { id: client_id, dealer: `/partner/v1/dealers/${dealer}` };
}

const takesEvents = async (token: unknown): Promise<void> =>
  void done(await service.call('POST', '/partner/v1/events', { token: String(token), json: eventBody() }));
const reads = async (dealer: string, token: unknown): Promise<void> =>
  void done(await service.call('GET', dealer, { token: String(token) }));

const now = () => Math.floor(Date.now() / 1000);

const jwtGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** An assertion, which these two clients leave to their caller. */
async function signed(id: string, claims: object = {}, key = pair.privatePem): Promise<string> {
  const whole = { iss: id, sub: id, aud: service.target().audience, iat: now(), exp: now() + 300, jti: randomUUID() };
  const jwt = new SignJWT({ ...whole, ...claims }).setProtectedHeader({ alg: 'RS256' });
  return jwt.sign(createPrivateKey(key));
}

/** What is wrong with an assertion, and the claims or the key that make it so. */
interface Wrong {
  readonly claims?: (audience: string) => object;
  readonly key?: string;
}

const wrongs: readonly (readonly [string, Wrong])[] = [
  ['a wrong key', { key: stranger.privatePem }],
  ['an expired assertion', { claims: () => ({ iat: now() - 900, exp: now() - 600 }) }],
  ['an audience that is the token endpoint', { claims: (audience) => ({ aud: `${audience}/oauth/token` }) }],
  ['an audience that is another server', { claims: () => ({ aud: 'https://oauth2.googleapis.com/token' }) }],
];

describe('google-auth-library', () => {
  /** Its own token address is replaced on the way; so are its audience and the id it does not send. */
  function client(id: string, claims: object, key = pair.privatePem): JWT {
    const { authUrl, audience } = service.target();
    const transporter = new gaxios.Gaxios({ retry: false });
    transporter.interceptors.request.add({
      resolved: async (request) => ({ ...request, url: new URL(`${authUrl}/oauth/token`) }),
    });
    const additionalClaims = { aud: audience, jti: randomUUID(), ...claims };
    return new JWT({ email: id, subject: id, key, additionalClaims, transporter });
  }

  test('exchanges an assertion for a token that takes events', async () => {
    const credentials = await client(await aSigner(), {}).authorize();
    expect(credentials.token_type).toBe('Bearer');
    expect(credentials.expiry_date).toBeGreaterThan(Date.now() + 3_500_000);
    await takesEvents(credentials.access_token);
  });

  test.each(wrongs)('is refused with %s', async (_, { claims, key }) => {
    const id = await aSigner();
    const odd = client(id, claims?.(service.target().audience) ?? {}, key);
    await expect(odd.authorize()).rejects.toThrow(/invalid_grant/);
  });

  test('is refused with an id that was used, and without one', async () => {
    const id = await aSigner();
    const jti = randomUUID();
    await client(id, { jti }).authorize();
    await expect(client(id, { jti }).authorize()).rejects.toThrow(/invalid_grant/);
    await expect(client(id, { jti: undefined }).authorize()).rejects.toThrow(/invalid_grant/);
  });
});

describe('openid-client', () => {
  function configuration(id: string, metadata?: string, auth?: openid.ClientAuth): openid.Configuration {
    const { authUrl, audience } = service.target();
    const server = { issuer: audience, token_endpoint: `${authUrl}/oauth/token` };
    const config = new openid.Configuration(server, id, metadata, auth);
    openid.allowInsecureRequests(config);
    return config;
  }

  const grant = async (id: string, claims?: object, key?: string) =>
    openid.genericGrantRequest(configuration(id), jwtGrant, { assertion: await signed(id, claims, key) });

  const invalidGrant = { error: 'invalid_grant', status: 400, error_description: expect.any(String) };

  test('exchanges an assertion for a token that takes events', async () => {
    const answer = await grant(await aSigner());
    expect(answer.expires_in).toBe(3600);
    await takesEvents(answer.access_token);
  });

  test.each(wrongs)('is refused with %s', async (_, { claims, key }) => {
    const id = await aSigner();
    await expect(grant(id, claims?.(service.target().audience), key)).rejects.toMatchObject(invalidGrant);
  });

  test('is refused with an id that was used', async () => {
    const id = await aSigner();
    const jti = randomUUID();
    await grant(id, { jti });
    await expect(grant(id, { jti })).rejects.toMatchObject(invalidGrant);
  });

  test.each([
    ['in the body', openid.ClientSecretPost],
    ['in the header', openid.ClientSecretBasic],
  ])('exchanges id and secret %s for a token that reads the dealer', async (_, how) => {
    const { id, dealer } = await aPartner();
    const answer = await openid.clientCredentialsGrant(configuration(id, undefined, how(secret)));
    expect(answer.token_type).toBe('bearer');
    await reads(dealer, answer.access_token);
  });

  test('is refused with a wrong secret', async () => {
    const { id } = await aPartner();
    const config = configuration(id, undefined, openid.ClientSecretPost('wrong'));
    const refusal = { error: 'invalid_client', status: 401 };
    await expect(openid.clientCredentialsGrant(config)).rejects.toMatchObject(refusal);
  });
});

describe('simple-oauth2', () => {
  const client = (id: string, password: string, authorizationMethod: 'header' | 'body') =>
    new ClientCredentials({
      client: { id, secret: password },
      auth: { tokenHost: service.target().baseUrl, tokenPath: '/oauth/token' },
      options: { authorizationMethod },
    });

  test.each(['body', 'header'] as const)('exchanges id and secret in the %s for a token', async (how) => {
    const { id, dealer } = await aPartner();
    const answer = await client(id, secret, how).getToken({});
    expect(answer.token).toMatchObject({ token_type: 'Bearer', expires_in: 3600 });
    expect(answer.expired()).toBe(false);
    await reads(dealer, answer.token.access_token);
  });

  test.each(['body', 'header'] as const)('is refused with a wrong secret in the %s', async (how) => {
    const { id } = await aPartner();
    await expect(client(id, 'wrong', how).getToken({})).rejects.toMatchObject({
      output: { statusCode: 401 },
      data: { payload: { error: 'invalid_client' } },
    });
  });

  /** Its one grant takes other parameters, another grant type among them. */
  async function exchange(claims: object = {}, key = pair.privatePem) {
    const id = unique('bridge');
    const registration = { client_id: id, client_secret: secret, public_key_pem: pair.publicPem };
    await service.control('POST', '/clients', registration);
    return client(id, secret, 'body').getToken({ grant_type: jwtGrant, assertion: await signed(id, claims, key) });
  }

  test('exchanges an assertion for a token that takes events', async () => {
    await takesEvents((await exchange()).token.access_token);
  });

  test.each(wrongs)('is refused with %s', async (_, { claims, key }) => {
    await expect(exchange(claims?.(service.target().audience), key)).rejects.toMatchObject({
      output: { statusCode: 400 },
      data: { payload: { error: 'invalid_grant' } },
    });
  });
});
