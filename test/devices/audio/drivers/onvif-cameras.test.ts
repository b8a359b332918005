import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SpeakerError } from '#devices/audio/driver.ts';
import { pinnedTo } from '#devices/audio/drivers/network.ts';
import { createOnvifDriver, type OnvifOptions } from '#devices/audio/drivers/onvif.ts';
import { Secret } from '#lib/secret.ts';
import { never } from '#lib/wait.ts';
import { certificate } from '../../../harness/certificate.ts';
import { type FakeCamera, type Habit, startFakeCamera, takesUlaw } from './fake-camera.ts';
import { openSockets } from './sockets.ts';
import { tone } from './tone.ts';

let camera: FakeCamera;
afterEach(async () => {
  // Whatever happened, the driver has closed what it opened.
  await vi.waitUntil(() => camera.connections === 0, { timeout: 2000 });
  await camera.stop();
  expect(await openSockets()).toEqual([]);
});

const username = 'siteward';
const password = 'correct horse';
const credentials = () => ({ username, password: new Secret(password) });
const none = { credentials: () => undefined };
const at = (url: string, more: Partial<OnvifOptions> = {}) =>
  createOnvifDriver({ address: async () => url, login: none, ...more });

/** Plays on a camera with this habit. */
async function begin(
  habit: Habit,
  {
    sdp = takesUlaw,
    ms = 200,
    signal = never(),
    ...more
  }: Partial<OnvifOptions> & { sdp?: string; ms?: number; signal?: AbortSignal } = {},
) {
  camera = await startFakeCamera(habit, sdp);
  const onFirstSample = vi.fn();
  const sound = tone({ encoding: 'ulaw', rate: 8000, ms });
  const played = at(camera.url, more).play(sound, { signal, onFirstSample });
  played.catch(() => undefined);
  return { played, sound, onFirstSample };
}
const refusing =
  (method: string, status: string, headers: readonly string[] = []): Habit =>
  (request) => {
    if (request.method !== method) return undefined;
    request.answer(status, headers);
    return true;
  };

describe('driver onvif, with a camera', () => {
  it('asks for the backchannel in each request, and sends each packet once', async () => {
    const { played, sound } = await begin(() => undefined);
    expect(await played).toEqual({ samples: 1600, delivered: 'sent' });
    expect(camera.methods).toEqual(['DESCRIBE', 'SETUP', 'PLAY', 'TEARDOWN']);
    for (const text of camera.requests) expect(text).toMatch(/^Require: www\.onvif\.org\/ver20\/backchannel$/m);
    for (const text of camera.requests.slice(2)) expect(text).toMatch(/^Session: 42$/m);
    expect(camera.requests[1]).toMatch(/^SETUP rtsp:\/\/127\.0\.0\.1:\d+\/cam\/back RTSP\/1\.0/);
    const heads = camera.packets.map(({ packet }) => packet);
    expect(heads.map((packet) => packet[1])).toEqual([0x80, ...Array(9).fill(0)]);
    const [first] = heads;
    if (first === undefined) throw new Error('no packet');
    heads.forEach((packet, index) => {
      expect(packet[0]).toBe(0x80);
      expect(packet.readUInt16BE(2)).toBe((first.readUInt16BE(2) + index) & 0xffff);
      expect(packet.readUInt32BE(4)).toBe((first.readUInt32BE(4) + 160 * index) >>> 0);
      expect(packet.readUInt32BE(8)).toBe(first.readUInt32BE(8));
    });
    expect(Buffer.concat(heads.map((packet) => packet.subarray(12))).equals(sound.read(0, 1600))).toBe(true);
  });

  it.each([
    ['DESCRIBE', '401 Unauthorized', 'auth'],
    ['DESCRIBE', '403 Forbidden', 'refused'],
    ['DESCRIBE', '404 Not Found', 'not_found'],
    ['DESCRIBE', '551 Option not supported', 'unsupported'],
    ['DESCRIBE', '302 Moved', 'refused'],
    ['SETUP', '453 Not Enough Bandwidth', 'busy'],
    ['SETUP', '486 Busy Here', 'busy'],
    ['SETUP', '503 Service Unavailable', 'busy'],
    ['SETUP', '461 Unsupported transport', 'unsupported'],
    // It wants RECORD.
    ['PLAY', '455 Method Not Valid in This State', 'unsupported'],
    ['PLAY', '500 Internal Server Error', 'device_error'],
  ])('fails where its %s is answered with %s', async (method, status, failure) => {
    const { played, onFirstSample } = await begin(refusing(method, status));
    await expect(played).rejects.toBeInstanceOf(SpeakerError);
    await expect(played).rejects.toMatchObject({ failure });
    expect(onFirstSample).not.toHaveBeenCalled();
    expect(camera.packets).toEqual([]);
  });

  const track = (...lines: string[]) => ['v=0', 'm=audio 0 RTP/AVP 97', ...lines, ''].join('\r\n');
  it.each([
    ['no track that takes sound', track('a=rtpmap:97 PCMU/8000', 'a=recvonly'), 'unsupported'],
    ['none at all', 'v=0\r\n', 'unsupported'],
    ['garbage', `${'m='.repeat(20_000)}`, 'unsupported'],
    ['many tracks', 'm=audio 0 RTP/AVP 99\r\na=sendonly\r\n'.repeat(1000), 'format'],
    ['another codec', track('a=rtpmap:97 MPEG4-GENERIC/16000', 'a=sendonly'), 'format'],
    ['another rate', track('a=rtpmap:97 PCMU/16000', 'a=sendonly'), 'format'],
    ['two channels', track('a=rtpmap:97 PCMU/8000/2', 'a=sendonly'), 'format'],
    ['an address that is none', track('a=rtpmap:97 PCMU/8000', 'a=sendonly', 'a=control:a b'), 'device_error'],
  ])('fails where the description has %s', async (_, sdp, failure) => {
    const { played } = await begin(() => undefined, { sdp });
    await expect(played).rejects.toMatchObject({ failure });
    expect(camera.methods).toEqual(['DESCRIBE']);
  });

  it('takes the track that takes sound, its codec by its number', async () => {
    const sdp = [
      ...['v=0', 'm=video 0 RTP/AVP 0', 'a=sendonly', 'a=control:v'],
      ...['m=audio 0 RTP/AVP 0', 'a=recvonly', 'a=control:in'],
      ...['m=audio 0 RTP/AVP 96 8', 'a=rtpmap:96 OPUS/48000/2', 'a=sendonly', 'a=control:rtsp://192.0.2.1/out?x=1', ''],
    ].join('\r\n');
    camera = await startFakeCamera(() => undefined, sdp);
    const sound = tone({ encoding: 'alaw', rate: 8000, ms: 100 });
    await at(camera.url).play(sound, { signal: never(), onFirstSample: () => undefined });
    expect(camera.requests[1]).toContain('SETUP rtsp://192.0.2.1/out?x=1 RTSP/1.0');
    expect(camera.packets.at(-1)?.packet[1]).toBe(8);
  });

  it('sends on the channel that the camera names', async () => {
    const transport = 'Transport: RTP/AVP/TCP;unicast;interleaved=4-5';
    const { played } = await begin(refusing('SETUP', '200 OK', [transport, 'Session: 42']));
    await played;
    expect(new Set(camera.packets.map(({ channel }) => channel))).toEqual(new Set([4]));
  });

  it.each([
    ['a channel that is none', ['Transport: RTP/AVP/TCP;interleaved=700-701', 'Session: 42'], 'device_error'],
    ['UDP', ['Transport: RTP/AVP;unicast;client_port=4000-4001', 'Session: 42'], 'unsupported'],
    ['no session', ['Transport: RTP/AVP/TCP;interleaved=0-1'], 'device_error'],
  ])('fails where the camera answers with %s', async (_, headers, failure) => {
    const { played } = await begin(refusing('SETUP', '200 OK', headers));
    await expect(played).rejects.toMatchObject({ failure });
    expect(camera.packets).toEqual([]);
  });

  it('is refused as long as another one talks', async () => {
    let talking: unknown;
    const one: Habit = ({ method, socket, answer }) => {
      if (method === 'SETUP' && talking !== undefined && talking !== socket) {
        answer('453 Not Enough Bandwidth');
        return true;
      }
      if (method === 'SETUP') talking = socket;
      if (method === 'TEARDOWN') talking = undefined;
      return undefined;
    };
    const { played, onFirstSample } = await begin(one, { ms: 400 });
    await vi.waitUntil(() => onFirstSample.mock.calls.length > 0, 20_000);
    const driver = at(camera.url);
    const second = () =>
      driver.play(tone({ encoding: 'ulaw', rate: 8000, ms: 100 }), { signal: never(), onFirstSample: () => undefined });
    await expect(second()).rejects.toMatchObject({ failure: 'busy' });
    await played;
    expect(await second()).toMatchObject({ delivered: 'sent' });
  });

  it('fails where the camera ends the connection while it plays', async () => {
    const { played, onFirstSample } = await begin(() => undefined, { ms: 5000 });
    await vi.waitUntil(() => camera.packets.length > 5, 20_000);
    await camera.stop();
    await expect(played).rejects.toMatchObject({ failure: 'connection_lost' });
    expect(onFirstSample).toHaveBeenCalledTimes(1);
  });

  it.each(['GET_PARAMETER', 'TEARDOWN'])(
    'fails where the camera takes all, but is silent from %s on',
    async (method) => {
      let isSilent = false;
      const { played } = await begin(
        (request) => {
          isSilent ||= request.method === method;
          return isSilent ? true : undefined;
        },
        { ms: method === 'TEARDOWN' ? 200 : 20_000 },
      );
      await expect(played).rejects.toMatchObject({ failure: 'timeout' });
      expect(camera.methods.at(-1)).toBe('TEARDOWN');
      // Of 20 s it has taken 5 or 6.
      expect(camera.packets.length).toBeLessThan(500);
    },
  );

  it('fails where the camera had ended the session before', async () => {
    const { played } = await begin(refusing('TEARDOWN', '454 Session Not Found'));
    await expect(played).rejects.toMatchObject({ failure: 'device_error' });
  });

  it('takes it for an answer where the camera hangs up at the end', async () => {
    const { played } = await begin(({ method, socket }) => {
      if (method !== 'TEARDOWN') return undefined;
      socket.end();
      return true;
    });
    expect(await played).toMatchObject({ delivered: 'sent' });
  });

  it('does not take a question of the camera for an answer, nor what it shows for one', async () => {
    const { played } = await begin(({ text, socket }) => {
      socket.write(`OPTIONS * RTSP/1.0\r\nCSeq: ${/^CSeq: (\d+)/m.exec(text)?.[1]}\r\n\r\n$\0\0\x04abcd`);
      return undefined;
    });
    expect(await played).toMatchObject({ delivered: 'sent' });
  });

  it('gives signs of life by OPTIONS where the camera does not know others', async () => {
    const { played } = await begin(refusing('GET_PARAMETER', '501 Not Implemented'), { ms: 4700 });
    await played;
    expect(camera.methods.slice(3)).toEqual(['GET_PARAMETER', 'OPTIONS', 'TEARDOWN']);
    expect(camera.requests[3]).toMatch(/^Session: 42$/m);
  });

  it.each(['DESCRIBE', 'SETUP', 'PLAY'])(
    'leaves when it is told to stop at %s, and ends the session',
    async (method) => {
      const stop = new AbortController();
      const reason = new Error('stop');
      const { played, onFirstSample } = await begin(
        (request) => {
          if (request.method === method) stop.abort(reason);
          return undefined;
        },
        { signal: stop.signal },
      );
      await expect(played).rejects.toBe(reason);
      expect(onFirstSample).not.toHaveBeenCalled();
      expect(camera.methods.at(-1)).toBe(method === 'DESCRIBE' ? method : 'TEARDOWN');
    },
  );

  it('sends no more when it is told to stop, and ends the session', async () => {
    const stop = new AbortController();
    const reason = new Error('stop');
    const { played } = await begin(() => undefined, { ms: 5000, signal: stop.signal });
    await vi.waitUntil(() => camera.packets.length > 5, 20_000);
    stop.abort(reason);
    await expect(played).rejects.toBe(reason);
    expect(camera.methods.at(-1)).toBe('TEARDOWN');
    expect(camera.packets.length).toBeLessThan(250);
  });
});

describe('driver onvif, with a camera that sends nonsense', () => {
  const instead =
    (nonsense: () => string | Buffer): Habit =>
    ({ socket }) => {
      socket.write(nonsense());
      return true;
    };
  it.each([
    ['headers without an end', () => `RTSP/1.0 200 OK\r\n${'X: y\r\n'.repeat(10_000)}`],
    ['one header without an end', () => `RTSP/1.0 200 OK\r\nX: ${'y'.repeat(100_000)}`],
    ['a body that is too large', () => 'RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 9999999\r\n\r\n'],
    ['a length that is none', () => 'RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: -1\r\n\r\n'],
    ['HTTP', () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['zeros', () => Buffer.alloc(100_000, 'Z')],
  ])('fails at once: %s', async (_, nonsense) => {
    const { played } = await begin(instead(nonsense));
    await expect(played).rejects.toMatchObject({ failure: 'device_error' });
  });

  it.each([
    ['blanks', () => Buffer.alloc(100_000, ' ')],
    ['the answer to another request', () => 'RTSP/1.0 200 OK\r\nCSeq: 77\r\n\r\n'],
    ['nothing', () => ''],
  ])('fails in time: %s', async (_, nonsense) => {
    const { played } = await begin(instead(nonsense));
    await expect(played).rejects.toMatchObject({ failure: 'timeout' });
  });
});

describe('driver onvif, with a camera that wants a password', () => {
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  /** As RFC 2069 and 7616 say. */
  const isProven = (text: string, hash: (text: string) => string) => {
    const part = (name: string) => new RegExp(`${name}="?([^",\r]+)`).exec(text)?.[1];
    const [method, uri] = text.split(' ');
    const ends = `${hash(`${username}:cam:${password}`)}:n1:`;
    const middle = part('qop') === undefined ? '' : `${part('nc')}:${part('cnonce')}:auth:`;
    return part('response') === hash(`${ends}${middle}${hash(`${method}:${uri}`)}`);
  };
  const asking =
    (challenge: string, isGood: (text: string) => boolean): Habit =>
    ({ text, answer }) => {
      if (/^Authorization:/m.test(text) && isGood(text)) return undefined;
      answer('401 Unauthorized', [`WWW-Authenticate: ${challenge}`]);
      return true;
    };

  it.each([
    ['digest', 'Digest realm="cam", nonce="n1"', (text: string) => isProven(text, md5)],
    ['digest with qop', 'Digest realm="cam", nonce="n1", qop="auth"', (text: string) => isProven(text, md5)],
    [
      'SHA-256',
      'Digest realm="cam", nonce="n1", algorithm=SHA-256, qop="auth"',
      (text: string) => isProven(text, sha256),
    ],
    [
      'Basic',
      'Basic realm="cam"',
      (text: string) => text.includes(`Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`),
    ],
  ])('proves it by %s, once asked before', async (_, challenge, isGood) => {
    const mayLogIn = vi.fn(async () => undefined);
    const told = vi.fn();
    const { played } = await begin(asking(challenge, isGood), { login: { credentials, mayLogIn, told } });
    await played;
    expect(camera.methods).toEqual(['DESCRIBE', 'DESCRIBE', 'SETUP', 'PLAY', 'TEARDOWN']);
    expect(mayLogIn).toHaveBeenCalledTimes(1);
    expect(told.mock.calls).toEqual([['accepted']]);
    expect(camera.requests.join()).not.toContain(password);
  });

  const digest = 'Digest realm="cam", nonce="n1", stale=true';
  it('makes one try with a wrong one, whatever the camera says of it', async () => {
    const told = vi.fn();
    const { played } = await begin(
      asking(digest, () => false),
      { login: { credentials, told } },
    );
    await expect(played).rejects.toMatchObject({ failure: 'auth' });
    expect(camera.requests.filter((text) => /^Authorization:/m.test(text))).toHaveLength(1);
    expect(told.mock.calls).toEqual([['refused']]);
  });

  it('makes none where it may not log in, or is not let', async () => {
    const mayLogIn = async () => {
      throw new Error('two were refused');
    };
    const { played } = await begin(
      asking(digest, () => true),
      { login: { credentials, mayLogIn } },
    );
    await expect(played).rejects.toMatchObject({ failure: 'auth' });
    expect(camera.requests.join()).not.toMatch(/^Authorization:/m);
  });

  it('sends none in clear where that is not allowed', async () => {
    const mayGoInClear = () => {
      throw new SpeakerError('auth', 'the camera asks for the password in clear');
    };
    const { played } = await begin(
      asking('Basic realm="cam"', () => true),
      { login: { credentials, mayGoInClear } },
    );
    await expect(played).rejects.toMatchObject({ failure: 'auth' });
    expect(camera.requests.join()).not.toMatch(/^Authorization:/m);
  });

  it('waits for its turn to log in longer than for an answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { played } = await begin(
      asking(digest, () => true),
      { login: { credentials, mayLogIn: () => promise } },
    );
    setTimeout(resolve, 5500);
    expect(await played).toMatchObject({ delivered: 'sent' });
  });

  it('sends nothing that stands in the address', async () => {
    camera = await startFakeCamera();
    await at(camera.url.replace('//', `//${username}:secret@`)).probe(never());
    expect(camera.requests.join()).not.toContain('secret');
  });
});

describe('driver onvif, with a certificate', () => {
  it('believes a CA, or the certificate it is pinned to, and sends nothing to others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-onvif-'));
    const { cert, key } = certificate(folder);
    rmSync(folder, { recursive: true });
    camera = await startFakeCamera(undefined, takesUlaw, { cert, key });
    const { fingerprint256 } = new X509Certificate(cert);
    for (const trust of [{ ca: cert }, { judge: pinnedTo(fingerprint256.toLowerCase()) }])
      await at(camera.url, { trust }).probe(never());
    expect(camera.methods).toEqual(['DESCRIBE', 'DESCRIBE']);
    for (const trust of [{}, { judge: pinnedTo(`00${fingerprint256.slice(2)}`) }])
      await expect(at(camera.url, { trust }).probe(never())).rejects.toMatchObject({ failure: 'refused' });
    expect(camera.methods).toEqual(['DESCRIBE', 'DESCRIBE']);
  });
});
