import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { publicKeyOf } from '#cloud/client/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import { tokenSource } from '../../src/cloud/client/token-source.ts';
import { html, json, keyPair } from './support.ts';
import { type Answer, current, granted, refused, setUp, signal, value } from './token-server.ts';

const next = keyPair();

describe('the assertion', () => {
  it('carries the six claims, signed with RS256, dated back by 30 s for five minutes', async () => {
    const { assertions, server, tokens, clock } = await setUp([granted('t')]);
    expect(await value(tokens)).toBe('t');
    const { payload, protectedHeader } = await jwtVerify(assertions[0] ?? '', createPublicKey(current.publicPem), {
      currentDate: new Date(clock.wall()),
    });
    const iat = Math.floor(clock.wall() / 1000) - 30;
    expect(payload).toEqual({
      iss: 'bridge-1',
      sub: 'bridge-1',
      aud: server.url,
      iat,
      exp: iat + 300,
      jti: payload.jti,
    });
    expect(payload.jti).toMatch(/^[0-9a-f-]{36}$/);
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'k1' });
    expect(server.seen[0]).toMatchObject({ method: 'POST', path: '/oauth/token' });
    expect(server.seen[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  });

  it('is new for each try', async () => {
    const { assertions, clock, tokens } = await setUp([(response) => json(response, 503, {}), granted('t')]);
    await value(tokens);
    clock.advance(60_000);
    await value(tokens);
    expect(new Set(assertions.map((jwt) => decodeJwt(jwt).jti)).size).toBe(2);
  });

  it('needs an RSA key of 2048 bits or more', async () => {
    const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const short = pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey);
    const curve = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
    for (const [key, reason] of [
      [new Secret(short), /1024 bits/],
      [new Secret(curve), /type ec/],
      [new Secret('-----BEGIN'), /not a private key/],
    ] as const) {
      const { tokens, assertions } = await setUp([granted('t')], { keys: { current: { pem: key } } });
      expect(await value(tokens)).toMatch(reason);
      expect(assertions).toHaveLength(0);
    }
  });

  it('has a public half that can be handed to the operator', async () => {
    const half = await publicKeyOf({ pem: current.pem });
    expect(half.pem).toBe(current.publicPem);
    expect(half.thumbprint).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

describe('the life of a token', () => {
  it.each([
    ['seconds', 1000, 1000],
    ['a number as text', '1000', 1000],
    ['nothing', undefined, 600],
    ['something else', 'soon', 600],
    ['zero', 0, 30],
    ['less than zero', -5, 30],
  ])('told as %s ends before the server ends it', async (_what, expiresIn, lifeS) => {
    const { clock, tokens, assertions } = await setUp([granted('one', expiresIn), granted('two', expiresIn)]);
    await value(tokens);
    const hardMs = lifeS * 1000 - Math.min(30_000, lifeS * 200);
    clock.advance(lifeS * 1000 * 0.75);
    expect(await value(tokens)).toBe('one');
    expect(assertions).toHaveLength(1);
    clock.advance(hardMs - lifeS * 1000 * 0.75 + 1);
    expect(await value(tokens)).toBe('two');
  });

  it('is measured on the monotonic clock', async () => {
    const { clock, tokens, assertions } = await setUp([granted('one')]);
    await value(tokens);
    clock.step(365 * 86_400_000);
    expect(await value(tokens)).toBe('one');
    clock.step(-2 * 365 * 86_400_000);
    expect(await value(tokens)).toBe('one');
    expect(assertions).toHaveLength(1);
  });

  it('serves the old token while it is refreshed early, also when that fails', async () => {
    const { clock, tokens, assertions } = await setUp([
      granted('one', 1000),
      (response) => json(response, 503, {}),
      granted('two', 1000),
    ]);
    await value(tokens);
    clock.advance(850_000);
    expect(await value(tokens)).toBe('one');
    await expect.poll(() => assertions.length).toBe(2);
    expect(await value(tokens)).toBe('one');
    clock.advance(20_000);
    expect(await value(tokens)).toBe('one');
    await expect.poll(() => value(tokens)).toBe('two');
    expect(assertions).toHaveLength(3);
  });
});

describe('many callers', () => {
  it('1,000 at once on a cold cache cost one token request', async () => {
    const { tokens, assertions } = await setUp([granted('t')]);
    const all = await Promise.all(Array.from({ length: 1000 }, () => value(tokens)));
    expect(new Set(all)).toEqual(new Set(['t']));
    expect(assertions).toHaveLength(1);
  });

  it('get the same failure together', async () => {
    const { tokens, assertions } = await setUp([(response) => json(response, 500, {})]);
    const all = await Promise.all(Array.from({ length: 50 }, () => value(tokens)));
    expect(new Set(all).size).toBe(1);
    expect(all[0]).toMatch(/^token_unreachable.*status 500/);
    expect(assertions).toHaveLength(1);
  });

  it('that report the same refused token cost one refresh, and a late report none', async () => {
    const { tokens, assertions } = await setUp([granted('one'), granted('two')]);
    const first = await tokens.get(signal);
    const generation = first.kind === 'token' ? first.generation : 0;
    for (let i = 0; i < 32; i += 1) tokens.invalidate(generation);
    expect(await Promise.all(Array.from({ length: 32 }, () => value(tokens)))).toEqual(Array(32).fill('two'));
    tokens.invalidate(generation);
    expect(await value(tokens)).toBe('two');
    expect(assertions).toHaveLength(2);
  });

  it('never get a token that was asked for before the refusal', async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { clock, tokens, assertions } = await setUp([
      granted('one', 1000),
      async (response, assertion) => {
        await held;
        return granted('stale', 1000)(response, assertion);
      },
      granted('new', 1000),
    ]);
    const first = await tokens.get(signal);
    clock.advance(850_000);
    await tokens.get(signal);
    await expect.poll(() => assertions.length).toBe(2);
    tokens.invalidate(first.kind === 'token' ? first.generation : 0);
    const waiting = value(tokens);
    release?.();
    expect(await waiting).toBe('new');
    expect(await value(tokens)).toBe('new');
  });

  it('may give up alone', async () => {
    const { tokens } = await setUp([() => {}]);
    const own = new AbortController();
    const waiting = tokens.get(own.signal);
    own.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('may have given up before the request is on its way', async () => {
    const own = new AbortController();
    const tokens = tokenSource({
      attempt() {
        own.abort(new Error('enough'));
        return new Promise(() => undefined);
      },
      refusal: (error) => error,
      clock: manualClock(),
    });
    await expect(tokens.get(own.signal)).rejects.toThrow('enough');
  });
});

describe('a wrong clock', () => {
  /** Takes an assertion only when it is valid by the server's own clock, and says the time. */
  const strict =
    (serverWall: () => number): Answer =>
    (response, assertion) => {
      const { iat = 0, exp = 0 } = decodeJwt(assertion);
      const now = serverWall() / 1000;
      const good = iat <= now + 5 && exp > now;
      response.setHeader('date', new Date(serverWall()).toUTCString());
      return (good ? granted('t') : refused('invalid_grant'))(response, assertion);
    };

  it.each([-90, 90, -3600, 3600, 56 * 365 * 86_400])(
    'of %s s is learned from the server and repeated once',
    async (offS) => {
      const script: Answer[] = [];
      const { clock, tokens, assertions } = await setUp(script);
      script.push(strict(() => clock.wall() + offS * 1000));
      expect(await value(tokens)).toBe('t');
      // Slow by less than the life of an assertion is no reason to be refused at all.
      expect(assertions.length).toBe(Math.abs(offS) === 90 && offS > 0 ? 1 : 2);
      expect(tokens.state().clockOffsetMs / 1000).toBeCloseTo(offS, -1);
    },
  );

  it('that is corrected later needs no second lesson', async () => {
    const script: Answer[] = [];
    const { clock, tokens, assertions } = await setUp(script);
    let error = 3_600_000;
    script.push(strict(() => clock.wall() + error));
    expect(await value(tokens)).toBe('t');
    clock.step(3_600_000);
    error = 0;
    const token = await tokens.get(signal);
    tokens.invalidate(token.kind === 'token' ? token.generation : 0);
    expect(await value(tokens)).toBe('t');
    expect(assertions).toHaveLength(3);
    expect(tokens.state().clockOffsetMs).toBe(0);
  });

  it('is not learned from a page on the line', async () => {
    const { tokens } = await setUp([
      (response) => {
        response.setHeader('date', new Date(0).toUTCString());
        html(response, 200);
      },
    ]);
    expect(await value(tokens)).toMatch(/not the token server/);
    expect(tokens.state().clockOffsetMs).toBe(0);
  });
});

describe('a failing token server', () => {
  it('is left alone for longer and longer, and at once asked again when the line is back', async () => {
    // The longest waits the jitter gives: 1, 2, 4 … 256 s, then 300 s each, which is 9 + 10 tries in the hour after the first.
    const { clock, tokens, assertions } = await setUp([(response) => json(response, 503, {})], { random: () => 1 });
    await value(tokens);
    for (let i = 0; i < 100; i += 1) await value(tokens);
    expect(assertions).toHaveLength(1);
    const atS: number[] = [0];
    for (let second = 1; second <= 3_600; second += 1) {
      clock.advance(1_000);
      await value(tokens);
      if (assertions.length > atS.length) atS.push(second);
    }
    const waits = atS.slice(1).map((at, index) => at - (atS[index] ?? 0));
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, ...Array(10).fill(300)]);
    expect(assertions).toHaveLength(atS.length);
    const before = assertions.length;
    tokens.retryNow();
    await value(tokens);
    expect(assertions).toHaveLength(before + 1);
  });

  it('that asks for a pause gets it', async () => {
    const { clock, tokens, assertions } = await setUp([
      (response) => json(response, 429, {}, { 'retry-after': '120' }),
      granted('t'),
    ]);
    await value(tokens);
    clock.advance(119_000);
    expect(await value(tokens)).toMatch(/token_unreachable/);
    expect(assertions).toHaveLength(1);
    clock.advance(2_000);
    expect(await value(tokens)).toBe('t');
  });

  it.each([
    ['HTML', (response: ServerResponse) => html(response, 200)],
    ['JSON without a token', (response: ServerResponse) => json(response, 200, { token: 'x' })],
    ['another token type', (response: ServerResponse) => json(response, 200, { access_token: 'x', token_type: 'mac' })],
    ['a redirect', (response: ServerResponse) => json(response, 302, undefined, { location: '/login' })],
    ['an HTML refusal', (response: ServerResponse) => html(response, 403)],
  ])('that answers %s is not believed', async (_what, answer) => {
    const { tokens } = await setUp([answer]);
    expect(await value(tokens)).toMatch(/^token_unreachable: .*(not the token server)/);
  });

  it.each(['invalid_grant', 'invalid_client', 'unauthorized_client'])(
    'that refuses with %s is asked after 1, 5, 15 and 30 minutes, and the four causes are named',
    async (error) => {
      const { clock, tokens, assertions, server } = await setUp([refused(error)]);
      const reason = await value(tokens);
      expect(reason).toMatch(/^token_refused/);
      for (const word of [error, 'k1', 'clock', server.url, 'bridge-1']) expect(reason).toContain(word);
      tokens.retryNow();
      for (const [minutes, count] of [
        [0.9, 1],
        [0.2, 2],
        [4.8, 2],
        [0.3, 3],
        [15, 4],
        [30, 5],
        [29, 5],
        [2, 6],
      ] as const) {
        clock.advance(minutes * 60_000);
        await value(tokens);
        expect(assertions).toHaveLength(count);
      }
    },
  );
});

describe('two keys', () => {
  const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid;
  const keys = { current: { pem: current.pem, keyId: 'k1' }, next: { pem: next.pem, keyId: 'k2' } };
  const only =
    (kid: string): Answer =>
    (response, assertion) =>
      (kidOf(assertion) === kid ? granted(`by ${kid}`) : refused('invalid_grant'))(response, assertion);

  it('fall back to the next when the current one is refused, and stay with it', async () => {
    const { tokens, assertions } = await setUp([only('k2')], { keys });
    expect(await value(tokens)).toBe('by k2');
    const token = await tokens.get(signal);
    tokens.invalidate(token.kind === 'token' ? token.generation : 0);
    expect(await value(tokens)).toBe('by k2');
    expect(assertions.map(kidOf)).toEqual(['k1', 'k2', 'k2']);
  });

  it('do not help against an unknown client', async () => {
    const { tokens, assertions } = await setUp([refused('invalid_client')], { keys });
    expect(await value(tokens)).toMatch(/invalid_client/);
    expect(assertions).toHaveLength(1);
  });

  it('that are loaded anew end the wait after a refusal', async () => {
    const { tokens } = await setUp([only('k2')]);
    expect(await value(tokens)).toMatch(/token_refused/);
    tokens.reload({ current: keys.next });
    expect(await value(tokens)).toBe('by k2');
  });
});

it('nothing secret is logged', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const { tokens, assertions } = await setUp([refused('invalid_grant'), granted('the-token')], {
    log,
    keys: { current: { pem: current.pem }, next: { pem: next.pem } },
  });
  await value(tokens);
  const text = lines.join('\n');
  expect(text).toContain('jti');
  expect(text).not.toContain('the-token');
  expect(text).not.toContain('PRIVATE KEY');
  for (const assertion of assertions) expect(text).not.toContain(assertion.slice(-40));
});
