import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { lendRtsp } from '#lib/rtsp-door.ts';
import { Secret } from '#lib/secret.ts';
import { certificate } from '../harness/certificate.ts';
import { startRtspGate } from '../harness/rtsp-gate.ts';
import { pictureNumbers, startRtspServer } from '../harness/rtsp-server.ts';

const user = { username: 'siteward', password: 's3cret-cam' };
const password = new Secret(user.password);
const wrong = new Secret('another');

/** Everything of a test, ended in reverse. */
async function using<T>(work: (keep: <S extends { stop(): Promise<void> }>(one: S) => S) => Promise<T>): Promise<T> {
  const kept: { stop(): Promise<void> }[] = [];
  try {
    return await work((one) => {
      kept.push(one);
      return one;
    });
  } finally {
    for (const one of kept.reverse()) await one.stop();
  }
}

/** A server of our own on a free port. */
async function serve(onConnection: (socket: Socket) => void, server = createServer()) {
  const sockets = new Set<Socket>();
  const event = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(event, (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const onePicture = (url: string) => pictureNumbers(url, 1);

test('ffmpeg reads a stream that wants a password (digest MD5) and is not told it', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer({ user, audio: true }));
    const verdicts: boolean[] = [];
    const camera = { url: server.url, ...user, password, judged: (isAccepted: boolean) => verdicts.push(isAccepted) };
    const before = server.numberNow();
    const numbers = await lendRtsp(camera, (url) => {
      expect(url).toMatch(/^rtsp:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}$/);
      return pictureNumbers(url, 5);
    });
    expect(numbers).toHaveLength(5);
    expect(numbers[0]).toBeGreaterThanOrEqual(before);
    expect(verdicts).toEqual([true]);
  }));

test.each(['sha-256', 'basic'] as const)('ffmpeg reads a stream of a camera that knows only %s', (scheme) =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: server.url, ...user, scheme }));
    expect(await lendRtsp({ url: gate.url, ...user, password }, onePicture)).toHaveLength(1);
  }),
);

test('a nonce that grew old is no wrong password', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: server.url, ...user, scheme: 'sha-256', nonceUses: 2 }));
    const verdicts: boolean[] = [];
    const camera = { url: gate.url, ...user, password, judged: (isAccepted: boolean) => verdicts.push(isAccepted) };
    expect(await lendRtsp(camera, onePicture)).toHaveLength(1);
    expect(verdicts).toEqual([true]);
    const numbers = gate.requests.map((request) => /^CSeq: (\d+)/im.exec(request)?.[1]);
    expect(numbers).toEqual(numbers.map((_, at) => String(at + 1)));
  }));

test.each(['sha-256', 'basic'] as const)('a wrong password costs one try (%s)', (scheme) =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: server.url, ...user, scheme }));
    const verdicts: boolean[] = [];
    const camera = {
      url: gate.url,
      username: user.username,
      password: wrong,
      judged: (isAccepted: boolean) => verdicts.push(isAccepted),
    };
    await expect(lendRtsp(camera, onePicture)).rejects.toMatchObject({ code: 'camera_auth' });
    expect(verdicts).toEqual([false]);
    expect(gate.tries).toBe(1);
  }),
);

/** A camera that plays to who has its password, until that is changed; `nonce` is told with each refusal. */
async function changing(nonce: (refusals: number) => string) {
  const seen = { isChanged: false, refusals: 0, tries: 0 };
  const camera = await serve((socket) =>
    socket.on('data', (chunk) => {
      const [, number] = /^CSeq: (\d+)/im.exec(chunk.toString()) ?? [];
      const isTry = /^Authorization:/im.test(chunk.toString());
      if (isTry && seen.isChanged) seen.tries += 1;
      const isGood = isTry && !seen.isChanged;
      if (!isGood) seen.refusals += 1;
      const answer = isGood
        ? '200 OK'
        : `401 Unauthorized\r\nWWW-Authenticate: Digest realm="cam", nonce="${nonce(seen.refusals)}"`;
      socket.write(`RTSP/1.0 ${answer}\r\nCSeq: ${number}\r\n\r\n`);
    }),
  );
  return { ...camera, seen };
}

test.each<[string, (refusals: number) => string, number]>([
  ['keeps its nonce', () => 'one', 1],
  ['gives a new nonce each time', (refusals) => `n${refusals}`, 2],
])(
  'a password that is changed while the stream is read, of a camera that %s, is tried with one sign of life and told',
  (_, nonce, tries) =>
    using(async (keep) => {
      const { port, seen } = keep(await changing(nonce));
      const verdicts: boolean[] = [];
      const camera = {
        ...{ url: `rtsp://127.0.0.1:${port}/cam`, ...user, password },
        judged: (isAccepted: boolean) => verdicts.push(isAccepted),
      };
      await lendRtsp(camera, async (url) => {
        const reader = connect(Number(new URL(url).port), '127.0.0.1');
        reader.on('error', () => undefined);
        let number = 0;
        const ask = async (method: string) => {
          number += 1;
          reader.write(`${method} ${url} RTSP/1.0\r\nCSeq: ${number}\r\n\r\n`);
          return String((await once(reader, 'data'))[0]).split(' ')[1];
        };
        expect([await ask('DESCRIBE'), await ask('PLAY'), await ask('OPTIONS')]).toEqual(['200', '200', '200']);
        seen.isChanged = true;
        // Who sees the stream already is not stopped.
        for (let signs = 0; signs < 4; signs += 1) expect(await ask('OPTIONS')).toBe('401');
        expect(reader.destroyed).toBe(false);
        reader.destroy();
      });
      expect(verdicts).toEqual([true, false]);
      expect(seen.tries).toBe(tries);
    }),
);

test('a camera that must not have the password in clear does not get it', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: server.url, ...user, scheme: 'basic' }));
    const never = new SitewardError('camera_auth', 'not in clear');
    const basic = () => {
      throw never;
    };
    await expect(lendRtsp({ url: gate.url, ...user, password, basic }, onePicture)).rejects.toBe(never);
    expect(gate.tries).toBe(0);
  }));

test('a stream that wants a password where none is configured', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer({ user }));
    const failure = lendRtsp({ url: server.url }, onePicture);
    await expect(failure).rejects.toMatchObject({ code: 'camera_auth' });
    await expect(failure).rejects.toThrow('credentials that siteward does not have');
  }));

test('what the camera refuses is told in its words', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    const url = server.url.replace('/cam', '/other');
    await expect(lendRtsp({ url }, onePicture)).rejects.toMatchObject({
      code: 'camera_bad_answer',
      facts: { status: 404 },
    });
  }));

test('nobody is there, and what is there speaks no RTSP', () =>
  using(async (keep) => {
    const gone = await serve(() => undefined);
    await gone.stop();
    const nobody = { url: `rtsp://127.0.0.1:${gone.port}/` };
    await expect(lendRtsp(nobody, onePicture)).rejects.toMatchObject({ code: 'camera_unreachable' });
    const said = ['HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n', `<html>${'X'.repeat(20_000)}`];
    for (const text of said) {
      const web = keep(await serve((socket) => void socket.once('data', () => socket.end(text))));
      const strange = { url: `rtsp://127.0.0.1:${web.port}/` };
      await expect(lendRtsp(strange, onePicture)).rejects.toMatchObject({ code: 'camera_bad_answer' });
    }
  }));

test('a redirect is not followed: ffmpeg would go there by itself', () =>
  using(async (keep) => {
    const elsewhere = await startRtspServer();
    keep(elsewhere);
    const camera = keep(
      await serve((socket) =>
        socket.on('data', (chunk) => {
          const [, number] = /^CSeq: (\d+)/im.exec(chunk.toString()) ?? [];
          const moved = chunk.toString().startsWith('DESCRIBE');
          const answer = moved ? `302 Moved\r\nLocation: ${elsewhere.url}` : '200 OK';
          socket.write(`RTSP/1.0 ${answer}\r\nCSeq: ${number}\r\n\r\n`);
        }),
      ),
    );
    const lent = lendRtsp({ url: `rtsp://127.0.0.1:${camera.port}/cam` }, onePicture);
    await expect(lent).rejects.toMatchObject({ code: 'camera_bad_answer', facts: { status: 302 } });
  }));

test('a camera that hangs in the middle of its stream is told from one that ended it', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    const hangs = lendRtsp({ url: server.url }, async (url) => {
      setTimeout(() => server.freeze(), 2000);
      // Endless: only the end of the connection ends it, and then it fails as ffmpeg does.
      const { length } = await pictureNumbers(url, 60_000);
      throw new Error(`the stream ended after ${length} pictures`);
    });
    await expect(hangs).rejects.toMatchObject({
      code: 'camera_unreachable',
      message: expect.stringContaining('sent nothing for 10 s'),
    });
  }));

test('the door serves one reader, and only who knows its address', () =>
  using(async (keep) => {
    const server = keep(await startRtspServer());
    await lendRtsp({ url: server.url }, async (url) => {
      const { port } = new URL(url);
      const stranger = connect(Number(port), '127.0.0.1');
      stranger.write(`OPTIONS rtsp://127.0.0.1:${port}/${'0'.repeat(32)} RTSP/1.0\r\nCSeq: 1\r\n\r\n`);
      const [heard] = await Promise.all([readAll(stranger), once(stranger, 'close')]);
      expect(heard).toBe('');
      expect(await onePicture(url)).toHaveLength(1);
      await expect(onePicture(url)).rejects.toThrow('Connection refused');
    });
  }));

test('the door shuts with the work, and the connection to the camera with it', () =>
  using(async (keep) => {
    const connections: Socket[] = [];
    const camera = keep(await serve((socket) => void connections.push(socket.resume())));
    const left = new Error('enough');
    const lent = lendRtsp({ url: `rtsp://127.0.0.1:${camera.port}/cam` }, async (url) => {
      const reader = connect(Number(new URL(url).port), '127.0.0.1');
      reader.on('error', () => undefined);
      reader.write(`OPTIONS ${url} RTSP/1.0\r\nCSeq: 1\r\n\r\n`);
      await expect.poll(() => connections.length).toBe(1);
      throw left;
    });
    await expect(lent).rejects.toBe(left);
    await expect.poll(() => connections[0]?.destroyed).toBe(true);
  }));

test('an rtsps camera is sent nothing before its certificate was judged', () =>
  using(async (keep) => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-rtsps-'));
    keep({ stop: async () => rmSync(folder, { recursive: true }) });
    const server = keep(await startRtspServer({ user }));
    let received = 0;
    const tls = keep(
      await serve(
        (socket) => {
          socket.on('data', (chunk) => {
            received += chunk.length;
          });
          const camera = connect(server.port, '127.0.0.1');
          camera.on('error', () => undefined);
          socket.pipe(camera).pipe(socket);
        },
        createTlsServer(certificate(folder)),
      ),
    );
    const camera = { url: `rtsps://127.0.0.1:${tls.port}/cam`, ...user, password };
    const other = new SitewardError('camera_certificate', 'another one');
    const judge = async () => {
      throw other;
    };
    await expect(lendRtsp({ ...camera, judge }, onePicture)).rejects.toBe(other);
    await expect(lendRtsp(camera, onePicture)).rejects.toMatchObject({ code: 'camera_unreachable' });
    expect(received).toBe(0);
    const shown: unknown[] = [];
    const good = async (certificate: unknown) => void shown.push(certificate);
    expect(await lendRtsp({ ...camera, judge: good }, onePicture)).toHaveLength(1);
    expect(shown).toEqual([{ fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/), vouched: false }]);
  }));

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
