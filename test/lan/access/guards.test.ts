import { describe, expect, it } from 'vitest';
import { guard, isOurHost, type RequestHead } from '#lan/access/guards.ts';
import { credentialsOf, endedCookie, securityHeaders, sessionCookie } from '#lan/access/headers.ts';

const names = new Set(['bridge.example.net']);
const rules = { names, scheme: 'https' } as const;

const head = (more: Partial<RequestHead> = {}): RequestHead => ({
  method: 'POST',
  host: '192.0.2.10:8443',
  origin: 'https://192.0.2.10:8443',
  secFetchSite: 'same-origin',
  contentType: 'application/json',
  hasBody: true,
  isBearer: false,
  query: new URLSearchParams(),
  ...more,
});
const reason = (more: Partial<RequestHead>) => guard(head(more), rules)?.reason;

describe('the Host header', () => {
  it.each([
    '192.0.2.10',
    '192.0.2.10:8443',
    '127.0.0.1:8443',
    '[::1]:8443',
    '[2001:db8::10]',
    'localhost',
    'LOCALHOST:8443',
    'sw-1.local',
    'SW-1.Local.:8443',
    'bridge.example.net',
    'Bridge.Example.Net.:8443',
  ])('is ours: %s', (host) => expect(isOurHost(host, names)).toBe(true));

  it.each([
    undefined,
    '',
    'example.net',
    'bridge.example.net.evil.test',
    'evil-bridge.example.net',
    'local',
    '.local',
    'a..local',
    'sw-1.local.evil.test',
    'localhost.evil.test',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '::1',
    '[192.0.2.10]',
    '[::1%eth0]',
    '192.0.2.10:',
    '192.0.2.10:8443:1',
    '192.0.2.10, evil.test',
    '192.0.2.10 ',
    'user@192.0.2.10',
    '192.0.2.10/path',
    'sw\u0131.local',
  ])('is not ours: %s', (host) => {
    expect(isOurHost(host, names)).toBe(false);
    expect(guard(head({ method: 'GET', host }), rules)).toMatchObject({ status: 421, reason: 'host' });
  });
});

describe('a request that changes something', () => {
  it.each<[string, Partial<RequestHead>]>([
    ['of our page', {}],
    ['of our page, without Sec-Fetch-Site', { secFetchSite: undefined }],
    ['of our page, without Origin', { origin: undefined }],
    ['of our page on the usual port', { host: 'localhost:443', origin: 'https://localhost' }],
    ['without a body', { contentType: undefined, hasBody: false }],
    ['with a parameter of the type', { contentType: 'Application/JSON; charset=utf-8' }],
    ['with a bearer token from anywhere', { isBearer: true, origin: 'https://evil.test', secFetchSite: 'cross-site' }],
    ['with a bearer token and no origin', { isBearer: true, origin: undefined, secFetchSite: undefined }],
  ])('goes on: %s', (_, more) => expect(reason(more)).toBeUndefined());

  it.each<[string, Partial<RequestHead>]>([
    ['another site', { origin: 'https://evil.test', secFetchSite: 'cross-site' }],
    ['another site that hides Sec-Fetch-Site', { origin: 'https://evil.test', secFetchSite: undefined }],
    ['another site that hides Origin', { origin: undefined, secFetchSite: 'cross-site' }],
    ['a page of the same site', { secFetchSite: 'same-site' }],
    ['the address bar', { secFetchSite: 'none' }],
    ['an opaque origin', { origin: 'null', secFetchSite: undefined }],
    ['another port', { origin: 'https://192.0.2.10:9443', secFetchSite: undefined }],
    ['plain http', { origin: 'http://192.0.2.10:8443', secFetchSite: undefined }],
    ['an origin with a path', { origin: 'https://192.0.2.10:8443/x', secFetchSite: undefined }],
    ['an origin that is none', { origin: '192.0.2.10:8443', secFetchSite: undefined }],
    ['nobody knows where', { origin: undefined, secFetchSite: undefined }],
  ])('is refused from %s', (_, more) => expect(guard(head(more), rules)).toMatchObject({ status: 403 }));

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'BREW', 'get'])('is one by its method %s', (method) =>
    expect(reason({ method, origin: 'https://evil.test' })).toBe('origin'),
  );

  it.each(['GET', 'HEAD'])('is none by %s', (method) =>
    expect(reason({ method, origin: 'https://evil.test', secFetchSite: 'cross-site' })).toBeUndefined(),
  );

  it.each<[string, Partial<RequestHead>]>([
    ['a form', { contentType: 'application/x-www-form-urlencoded' }],
    ['a form without a body', { contentType: 'application/x-www-form-urlencoded', hasBody: false }],
    ['plain text', { contentType: 'text/plain' }],
    ['what is not said', { contentType: undefined }],
    ['what only begins so', { contentType: 'application/json-seq' }],
    ['a form with a bearer token', { contentType: 'text/plain', isBearer: true }],
  ])('is refused as %s', (_, more) => expect(guard(head(more), rules)).toMatchObject({ status: 415 }));

  it('takes the type of its operation', () => {
    const sound = head({ contentType: 'application/octet-stream' });
    expect(guard(sound, { ...rules, media: 'application/octet-stream' })).toBeUndefined();
    expect(guard(sound, rules)?.reason).toBe('media');
  });
});

describe('a secret in the address', () => {
  const key = `sw_abcd1234_${'x'.repeat(43)}`;

  it.each([
    'token=1',
    'Access_Token=1',
    'api-key=1',
    'X-API-Key=1',
    'password=1',
    'code=1234',
    'session=',
    `q=a${key}`,
    `${key}`,
  ])('is refused and not repeated: %s', (text) => {
    const refusal = guard(head({ method: 'GET', query: new URLSearchParams(text) }), rules);
    expect(refusal).toMatchObject({ status: 400, reason: 'token_in_query' });
    expect(JSON.stringify(refusal)).not.toContain(key);
  });

  it.each(['limit=20', 'before=17', 'topics=events,status', 'zone_code_name=1', 'q=sw_abcd1234_short'])(
    'is none: %s',
    (text) => expect(guard(head({ method: 'GET', query: new URLSearchParams(text) }), rules)).toBeUndefined(),
  );
});

describe('credentials', () => {
  it.each<[string | undefined, string | undefined, object]>([
    [undefined, undefined, {}],
    [undefined, '__Host-sw=abc', { session: 'abc' }],
    [undefined, 'a=1; __Host-sw=abc; b=2', { session: 'abc' }],
    [undefined, '__Host-sw=abc; __Host-sw=def', {}],
    [undefined, 'sw=abc; __host-sw=abc', {}],
    [undefined, `__Host-sw=${'a'.repeat(129)}`, {}],
    ['Bearer sw_1_2', '__Host-sw=abc', { bearer: 'sw_1_2' }],
    ['bearer   sw_1_2 ', undefined, { bearer: 'sw_1_2' }],
    ['Basic YTpi', '__Host-sw=abc', { bearer: '' }],
    ['Bearer ', '__Host-sw=abc', { bearer: '' }],
    ['Bearer a b', undefined, { bearer: '' }],
    [`Bearer ${'a'.repeat(129)}`, '__Host-sw=abc', { bearer: '' }],
  ])('of %s and %s', (authorization, cookie, found) => expect(credentialsOf(authorization, cookie)).toEqual(found));

  it('lie in a cookie that no other page, no script and no plain line gets', () => {
    for (const cookie of [sessionCookie('abc'), endedCookie])
      expect(cookie).toMatch(/^__Host-sw=.*; Path=\/; Secure; HttpOnly; SameSite=Strict/);
    expect(credentialsOf(undefined, sessionCookie('abc').split(';')[0])).toEqual({ session: 'abc' });
  });
});

it('every answer forbids frames, other origins and guessing of types, and opens nothing to other pages', () => {
  expect(securityHeaders['content-security-policy']).toContain("default-src 'self'");
  expect(securityHeaders['content-security-policy']).toContain("frame-ancestors 'none'");
  // What the page has fetched is shown from memory.
  expect(securityHeaders['content-security-policy']).toContain("img-src 'self' blob:;");
  expect(Object.keys(securityHeaders).filter((name) => name.startsWith('access-control'))).toEqual([]);
});
