import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  basicAuthorization,
  digestAuthorization,
  digestMemory,
  offersBasic,
  parseChallenges,
  pickDigest,
} from '#lib/http-digest.ts';

describe('a WWW-Authenticate header', () => {
  it.each<[string, string[]]>([
    ['Basic realm="x"', ['basic']],
    ['Digest realm="x", nonce="n", Basic realm="y"', ['digest', 'basic']],
    ['Basic realm="a, b", Digest realm="x",nonce="n",qop="auth,auth-int"', ['basic', 'digest']],
    ['digest realm = "x" , nonce = "n"', ['digest']],
    ['Negotiate, Digest nonce=n', ['negotiate', 'digest']],
    ['', []],
    [',,,', []],
  ])('%s is read as %j', (header, schemes) => {
    expect(parseChallenges(header).map((challenge) => challenge.scheme)).toEqual(schemes);
  });

  it('keeps quoted commas, escapes and blanks round "="', () => {
    const [one] = parseChallenges('Digest realm = "a, \\"b\\" = c", nonce=abc==, OPAQUE="o"');
    expect(one?.params).toMatchObject({ realm: 'a, "b" = c', nonce: 'abc==', opaque: 'o' });
  });

  it.each([
    ['qop="auth, auth-int"', true],
    ['qop="auth-int,auth"', true],
    ['qop=auth', true],
    ['qop=auth,auth-int', true],
    ['qop="AUTH"', true],
    ['', false],
  ])('with %s is answered with qop %s', (text, qop) => {
    expect(pickDigest(parseChallenges(`Digest realm="r", ${text}${text && ', '}nonce="n"`))?.qop).toBe(qop);
  });

  it('may offer several: the strongest that can be answered is taken', () => {
    const headers = [
      'Digest realm="r", nonce="1"',
      'Digest realm="r", nonce="2", algorithm=SHA-256',
      'Digest nonce="3", algorithm=X',
    ];
    expect(pickDigest(parseChallenges(headers))?.nonce).toBe('2');
    expect(pickDigest(parseChallenges('Digest realm="r", nonce="n", qop="auth-int"'))).toBeUndefined();
    expect(pickDigest(parseChallenges('Basic realm="r"'))).toBeUndefined();
    expect(offersBasic(parseChallenges('BASIC realm="r"'))).toBe(true);
  });

  it.each([
    ['stale=true', true],
    ['stale="TRUE"', true],
    ['stale=FALSE', false],
  ])('says with %s whether only the nonce was old', (text, stale) => {
    expect(pickDigest(parseChallenges(`Digest realm="r", nonce="n", ${text}`))?.stale).toBe(stale);
  });

  it('may hold anything', () => {
    fc.assert(fc.property(fc.string(), (text) => Array.isArray(parseChallenges(text))));
  });
});

describe('a digest answer', () => {
  const request = { username: 'Mufasa', password: 'Circle of Life', method: 'GET', uri: '/dir/index.html', count: 1 };
  const answer = (header: string, more = {}) => {
    const challenge = pickDigest(parseChallenges(header));
    if (challenge === undefined) throw new Error('no challenge');
    return digestAuthorization(challenge, {
      ...request,
      cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
      ...more,
    });
  };
  const part = (header: string, name: string) => new RegExp(`${name}="?([^",]*)`).exec(header)?.[1];
  const rfc7616 =
    'Digest realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"';

  it.each([
    ['MD5', '8ca523f5e9506fed4657c9700eebdbec'],
    ['SHA-256', '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ])('is the one of RFC 7616, 3.9.1 for %s', (algorithm, response) => {
    const header = answer(`${rfc7616}, algorithm=${algorithm}`);
    expect(part(header, 'response')).toBe(response);
    expect(part(header, 'opaque')).toBe('FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS');
    expect(part(header, 'nc')).toBe('00000001');
  });

  it('is the one of RFC 2617, 3.5', () => {
    const header = answer(
      'Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"',
      { password: 'Circle Of Life', cnonce: '0a4f113b' },
    );
    expect(part(header, 'response')).toBe('6629fae49393a05397450978507c4ef1');
    expect(header).not.toContain('algorithm');
  });

  it('without qop has no count and no client nonce (RFC 2069)', () => {
    const header = answer('Digest realm="r", nonce="n"');
    const md5 = (text: string) => createHash('md5').update(text).digest('hex');
    const right = md5(`${md5('Mufasa:r:Circle of Life')}:n:${md5('GET:/dir/index.html')}`);
    expect(part(header, 'response')).toBe(right);
    expect(header).not.toMatch(/nc=|cnonce|qop/);
  });

  it('for a session algorithm binds its key to both nonces', () => {
    const header = answer('Digest realm="r", nonce="n", algorithm=MD5-sess, qop="auth"', { cnonce: 'c' });
    const md5 = (text: string) => createHash('md5').update(text).digest('hex');
    const ha1 = md5(`${md5('Mufasa:r:Circle of Life')}:n:c`);
    expect(part(header, 'response')).toBe(md5(`${ha1}:n:00000001:c:auth:${md5('GET:/dir/index.html')}`));
    expect(header).toContain('algorithm=MD5-sess');
  });

  it('quotes what needs quoting', () => {
    expect(answer('Digest realm="a\\"b", nonce="n"', { username: 'x"y\\z' })).toContain(
      'username="x\\"y\\\\z", realm="a\\"b"',
    );
  });
});

describe('the memory of a challenge', () => {
  it('counts the uses of a nonce, from one with each new nonce', () => {
    const memory = digestMemory(() => 'c');
    const count = () => /nc=(\d+)/.exec(memory.authorize('GET', '/', 'u', 'p') ?? '')?.[1];
    const learn = (nonce: string) => {
      const challenge = pickDigest(parseChallenges(`Digest realm="r", nonce="${nonce}", qop="auth"`));
      if (challenge !== undefined) memory.learn(challenge);
    };
    expect(count()).toBeUndefined();
    learn('1');
    expect([count(), count()]).toEqual(['00000001', '00000002']);
    learn('1');
    expect(count()).toBe('00000003');
    learn('2');
    expect(count()).toBe('00000001');
  });
});

it('a Basic answer is UTF-8', () => {
  expect(basicAuthorization('ü', 'ß')).toBe(`Basic ${Buffer.from('ü:ß').toString('base64')}`);
});
