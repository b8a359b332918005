import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { pinnedTo } from '#devices/audio/drivers/network.ts';
import { SitewardError } from '#errors.ts';
import { Secret } from '#lib/secret.ts';
import { never } from '#lib/wait.ts';
import { certificate } from '../../../harness/certificate.ts';
import { begin, type Habit, pushTo, type Seen, useHttpDevice, well } from './http-device.ts';

const { start, seen, lines, change } = useHttpDevice();

describe('driver http, with a password', () => {
  const [username, password] = ['siteward', 'correct horse'];
  const credentials = () => ({ username, password: new Secret(password) });
  const hash = (kind: 'md5' | 'sha256', text: string) => createHash(kind).update(text).digest('hex');
  /** As RFC 7616 says. */
  function isProven({ line, headers }: Seen, kind: 'md5' | 'sha256', nonce = 'n1'): boolean {
    const given = headers.authorization ?? '';
    const part = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(given)?.[1];
    const [method, uri] = line.split(' ');
    const middle = `${nonce}:${part('nc')}:${part('cnonce')}:auth`;
    const [one, two] = [hash(kind, `${username}:speaker:${password}`), hash(kind, `${method}:${uri}`)];
    return part('response') === hash(kind, `${one}:${middle}:${two}`);
  }
  const asks =
    (challenge: string, isGood: (request: Seen) => boolean): Habit =>
    (request, response) => {
      if (isGood(request)) response.end();
      else response.writeHead(401, { 'www-authenticate': challenge }).end();
    };
  const algorithm = { md5: 'MD5', sha256: 'SHA-256' } as const;
  const digest = (kind: 'md5' | 'sha256') =>
    `Digest realm="speaker", nonce="n1", qop="auth", algorithm=${algorithm[kind]}`;

  it.each(['md5', 'sha256'] as const)(
    'asks for the challenge without the sound, and proves it by digest: %s',
    async (kind) => {
      const url = await start(asks(digest(kind), (request) => isProven(request, kind)));
      const mayLogIn = vi.fn(async () => undefined);
      const told = vi.fn();
      const login = { credentials, mayLogIn, told };
      const { played } = begin({ play: pushTo(`${url}/a?b=c`), auth: 'digest', login });
      await played;
      expect(seen().map(({ body }) => body.length)).toEqual([0, 1600]);
      expect(mayLogIn).toHaveBeenCalledTimes(1);
      expect(told.mock.calls).toEqual([['accepted']]);
      expect(JSON.stringify(seen().map(({ headers }) => headers))).not.toContain(password);
    },
  );

  it('stops with the challenge it knows', async () => {
    const url = await start(
      (request, response) => {
        if (request.headers['content-length'] !== '64000')
          asks(digest('md5'), (one) => isProven(one, 'md5'))(request, response);
      },
      { when: 'head' },
    );
    const stop = new AbortController();
    const reason = new Error('stop');
    const call = { method: 'GET', url: `${url}/stop` } as const;
    const { played } = begin(
      { play: pushTo(url), stop: call, auth: 'digest', login: { credentials } },
      { ms: 8000 },
      stop.signal,
    );
    await vi.waitUntil(() => (seen()[1]?.body.length ?? 0) > 0, 20_000);
    stop.abort(reason);
    await expect(played).rejects.toBe(reason);
    expect(lines()).toEqual(['POST /', 'POST /', 'GET /stop']);
  });

  it('asks again where the challenge has grown old', async () => {
    let nonce = 1;
    const url = await start((request, response) => {
      const isGood = isProven(request, 'md5', `n${nonce}`);
      nonce += isGood && request.line === 'GET /play' ? 1 : 0;
      asks(digest('md5').replace('n1', `n${nonce}`), () => isGood)(request, response);
    });
    const told = vi.fn();
    const stop = new AbortController();
    const { played, onFirstSample } = begin(
      {
        play: { kind: 'trigger', method: 'GET', url: `${url}/play` },
        stop: { method: 'POST', url: `${url}/stop` },
        ...{ auth: 'digest', login: { credentials, told } },
      },
      { ms: 8000 },
      stop.signal,
    );
    await vi.waitUntil(() => onFirstSample.mock.calls.length > 0, 20_000);
    const reason = new Error('stop');
    stop.abort(reason);
    await expect(played).rejects.toBe(reason);
    expect(lines()).toEqual(['GET /play', 'GET /play', 'POST /stop', 'POST /stop']);
    expect(told.mock.calls).toEqual([['accepted']]);
  });

  it.each(['push', 'trigger'] as const)('makes one try with a wrong one, and names it nowhere: %s', async (kind) => {
    const url = await start(asks(digest('md5'), () => false));
    const told = vi.fn();
    const play = kind === 'push' ? pushTo(url) : ({ kind, method: 'GET', url } as const);
    const { played } = begin({ play, auth: 'digest', login: { credentials, told } });
    const error = await played.catch((caught: unknown) => caught);
    expect(error).toMatchObject({ failure: 'auth' });
    expect(`${error}${JSON.stringify(error)}`).not.toContain(password);
    expect(seen().filter(({ headers }) => headers.authorization !== undefined)).toHaveLength(1);
    expect(told.mock.calls).toEqual([['refused']]);
  });

  it('makes none where it may not log in now', async () => {
    const url = await start(asks(digest('md5'), () => true));
    change(asks(digest('md5'), () => false));
    const mayLogIn = async () => {
      throw new SitewardError('camera_auth', 'two were refused');
    };
    const { played } = begin({ play: pushTo(url), auth: 'digest', login: { credentials, mayLogIn } });
    await expect(played).rejects.toMatchObject({ failure: 'auth', message: 'two were refused' });
    expect(seen().filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  });

  it('sends Basic with the sound where it is configured and may go in clear, and never to a device that asks for digest', async () => {
    const url = await start(
      asks('Basic realm="speaker"', ({ headers }) => headers.authorization?.startsWith('Basic ') === true),
    );
    await begin({ play: pushTo(url), auth: 'basic', login: { credentials } }).played;
    expect(seen()).toHaveLength(1);
    const mayGoInClear = () => {
      throw new SitewardError('camera_auth', 'in clear');
    };
    const play = pushTo(url);
    const refused = begin({ play, auth: 'basic', login: { credentials, mayGoInClear } }).played;
    await expect(refused).rejects.toMatchObject({ failure: 'auth' });
    await expect(begin({ play, auth: 'digest', login: { credentials } }).played).rejects.toMatchObject({
      failure: 'auth',
    });
    expect(seen().filter(({ headers }) => headers.authorization !== undefined)).toHaveLength(1);
  });
});

describe('driver http, with a certificate', () => {
  it('believes a CA, or the certificate it is pinned to, and sends nothing to others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-http-'));
    const { cert, key } = certificate(folder);
    rmSync(folder, { recursive: true });
    const url = await start(well, { tls: { cert, key } });
    const play = pushTo(url);
    const probe = { method: 'GET', url } as const;
    expect(await begin({ play, trust: { ca: cert } }).played).toMatchObject({ delivered: 'sent' });
    let shown = '';
    const judge = async ({ fingerprint }: { fingerprint: string }) => {
      shown = fingerprint;
    };
    await begin({ play, trust: { judge } }).played;
    await begin({ play, trust: { judge: pinnedTo(shown.toLowerCase()) } }).played;
    expect(seen()).toHaveLength(3);
    for (const trust of [{}, { judge: pinnedTo(`00${shown.slice(2)}`) }]) {
      const { played, driver } = begin({ play, probe, trust });
      await expect(played).rejects.toMatchObject({ failure: 'refused' });
      await expect(driver.probe(never())).rejects.toMatchObject({ failure: 'refused' });
    }
    expect(seen()).toHaveLength(3);
  });
});

describe('driver http, with a device that sends nonsense', () => {
  it.each([
    ['headers without an end', `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(10_000)}`, 'device_error'],
    ['garbage', 'Z'.repeat(100_000), 'device_error'],
    ['RTSP', 'RTSP/1.0 200 OK\r\n\r\n', 'device_error'],
    ['answers that are none yet', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000), 'timeout'],
    ['half an answer', 'HTTP/1.1 200', 'timeout'],
  ])('fails: %s', async (_, nonsense, failure) => {
    const sockets = new Set<Socket>();
    const device = createTcpServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.once('data', () => socket.write(nonsense)).resume();
    });
    await new Promise<void>((resolve) => device.listen(0, '127.0.0.1', resolve));
    const { played } = begin({ play: pushTo(`http://127.0.0.1:${(device.address() as AddressInfo).port}`) });
    await expect(played).rejects.toMatchObject({ failure });
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => device.close(resolve));
  });

  it('takes no more of a body than comes with the head', async () => {
    let sent = 0;
    const url = await start((_, response) => {
      const more = () => {
        sent += 65_536;
        if (sent < 64 * 1024 * 1024) response.write(Buffer.alloc(65_536), (error) => error ?? more());
      };
      more();
    });
    expect(await begin({ play: pushTo(url) }).played).toMatchObject({ delivered: 'sent' });
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });
});
