import type { AddressInfo } from 'node:net';
import { createServer as createTls } from 'node:tls';
import { type Logger, pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { streamAddress } from '#devices/onvif/address.ts';
import { type CameraOptions, cameraOptions } from '#devices/onvif/index.ts';
import { streamProfile } from '#devices/onvif/topology.ts';
import { Secret } from '#lib/secret.ts';
import { startRtspGate } from '../../harness/rtsp-gate.ts';
import { pictureNumbers, startRtspServer } from '../../harness/rtsp-server.ts';
import { harness, links, until } from './harness.ts';
import { type Certificate, makeCertificate } from './make-certificate.ts';
import { cameraModel, fault, soap, startCamera } from './scripted-camera.ts';
import { recorderModel } from './scripted-nvr.ts';

const opened: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});
function keep<S extends { stop(): Promise<void> }>(one: S): S {
  opened.push(one);
  return one;
}

const user = { username: 'u', password: 'secret-word' };
const login = { username: 'u', password: new Secret(user.password) };
const [own, another, third] = [makeCertificate(), makeCertificate(), makeCertificate()];
const forever = new AbortController().signal;
const onePicture = (url: string) => pictureNumbers(url, 1);
const streamUri = (address: string) => ({
  body: soap(
    `<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>${address}</tt:Uri></trt:MediaUri></trt:GetStreamUriResponse>`,
  ),
});
/** As a camera behind NAT reports it. */
const reported = (url: string) => url.replace('rtsp://127.0.0.1', 'rtsp://u:p@10.0.0.9');

/** A camera whose stream is at `address`, which may change. */
async function yard(address: () => string, more: Partial<CameraOptions> = {}) {
  const asked: string[] = [];
  const model = cameraModel({
    before: (request) => {
      if (request.operation !== 'GetStreamUri') return undefined;
      asked.push(/ProfileToken>(\w+)</.exec(request.body)?.[1] ?? '');
      return streamUri(address());
    },
  });
  const server = await startCamera(model.script);
  keep({ stop: () => server.close() });
  const made = harness([{ id: 'yard', url: server.url, ...login, ...more }]);
  await made.cameras.start(forever);
  keep(made.cameras);
  await until(() => links(made.signals).includes(true), 'the link');
  const read = () => made.cameras.readStream('yard', forever, onePicture);
  return { made, asked, read, status: () => made.cameras.status()[0] };
}

describe('the stream of a camera', () => {
  it('is that of its second profile, at the repaired address, with its own password, and is learned once', async () => {
    const rtsp = keep(await startRtspServer({ user }));
    const { read, asked, status } = await yard(() => reported(rtsp.url));
    await until(() => status()?.stream !== undefined, 'the stream address');
    expect(status()?.stream).toBe(rtsp.url);
    expect(await read()).toHaveLength(1);
    expect(await read()).toHaveLength(1);
    expect(asked).toEqual(['sub']);
  });

  it('is learned again when it failed', async () => {
    const rtsp = keep(await startRtspServer());
    let address = `${rtsp.url}/old`;
    const { read, asked, status } = await yard(() => address);
    await until(() => status()?.stream !== undefined, 'the stream address');
    address = rtsp.url;
    await expect(read()).rejects.toMatchObject({ code: 'camera_bad_answer', facts: { status: 404 } });
    expect(await read()).toHaveLength(1);
    expect(asked).toHaveLength(2);
  });

  it('is at stream_url where one is configured', async () => {
    const rtsp = keep(await startRtspServer({ user }));
    const { read, asked, status } = await yard(() => 'rtsp://10.0.0.9/wrong', { stream_url: rtsp.url });
    expect(await read()).toHaveLength(1);
    expect(asked).toEqual([]);
    expect(status()?.stream).toBe(rtsp.url);
  });

  it('ends with the part that lends it: with other settings it may be that of another camera', async () => {
    const rtsp = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: rtsp.url, ...user, scheme: 'basic' }));
    const { made } = await yard(() => '', { stream_url: gate.url, basic_login: true });
    const read = made.cameras
      .readStream('yard', forever, async (url) => {
        await pictureNumbers(url, 10_000);
        throw new Error('the stream ended');
      })
      .catch((error: unknown) => error);
    await until(() => gate.requests.some((request) => request.startsWith('PLAY')), 'the stream');
    await made.cameras.stop();
    expect(await read).toMatchObject({ code: 'stopped' });
    await expect(made.cameras.readStream('yard', forever, onePicture)).rejects.toMatchObject({ code: 'stopped' });
  });

  it('is left alone after two refusals, and its events go on', async () => {
    const rtsp = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: rtsp.url, ...user, password: 'another', scheme: 'sha-256' }));
    const { read, made } = await yard(() => gate.url);
    for (let time = 0; time < 4; time += 1) await expect(read()).rejects.toMatchObject({ code: 'camera_auth' });
    expect(gate.tries).toBe(2);
    expect(links(made.signals)).toEqual([true]);
    expect(await made.cameras.snapshot('yard', forever)).toBeDefined();
  });

  describe('by rtsps', () => {
    const secure = async (certificate: Certificate, tls_fingerprint?: string, log?: Logger) => {
      const shown: string[] = [];
      const rtsps = createTls(certificate, (socket) => {
        socket.on('error', () => undefined);
        socket.on('data', () => {
          shown.push('asked');
          socket.write('RTSP/1.0 404 Not Found\r\nCSeq: 1\r\n\r\n');
        });
      });
      rtsps.on('tlsClientError', () => undefined);
      await new Promise<void>((resolve) => rtsps.listen(0, '127.0.0.1', resolve));
      keep({ stop: () => new Promise<void>((resolve) => void rtsps.close(() => resolve())) });
      const server = await startCamera(cameraModel().script, 0, own);
      keep({ stop: () => server.close() });
      const stream_url = `rtsps://127.0.0.1:${(rtsps.address() as AddressInfo).port}/live`;
      const more = tls_fingerprint === undefined ? {} : { tls_fingerprint };
      const made = harness([{ id: 'yard', url: server.url, ...login, stream_url, ...more }], log && { log });
      await made.cameras.start(forever);
      keep(made.cameras);
      await until(() => links(made.signals).includes(true), 'the link');
      const read = () => made.cameras.readStream('yard', forever, onePicture).catch((error) => error.code);
      return { made, read, shown, rtsps, status: () => made.cameras.status()[0] };
    };

    it('has a certificate of its own, at first use, and another one than that is no matter of the camera', async () => {
      const { made, read, shown, rtsps, status } = await secure(another);
      expect(await read()).toBe('camera_bad_answer');
      expect(made.memory.get('onvif/pin-stream/yard')).toBe(another.fingerprint);
      expect(made.memory.get('onvif/pin/yard')).toBe(own.fingerprint);
      rtsps.setSecureContext(third);
      const before = shown.length;
      expect(await read()).toBe('camera_certificate');
      expect(shown.length).toBe(before);
      expect(status()).not.toHaveProperty('certificateRefused');
      expect(status()?.hints).toEqual([expect.stringContaining('camera trust yard')]);
      expect(await made.cameras.certificate('yard')).toMatchObject({
        ...{ trusted: own.fingerprint, shown: undefined },
        stream: { trusted: another.fingerprint, shown: third.fingerprint },
      });
      await made.cameras.trust('yard', third.fingerprint);
      expect(await read()).toBe('camera_bad_answer');
      expect(made.memory.get('onvif/pin/yard')).toBe(own.fingerprint);
      expect(links(made.signals)).toEqual([true]);
      expect(status()).not.toHaveProperty('hints');
    });

    it('shows nothing of a certificate that a silent read met, nor that one is right again (safety 4)', async () => {
      const lines: string[] = [];
      const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
      const { made, read, rtsps, status } = await secure(another, undefined, log);
      const silent = () =>
        made.cameras.readStream('yard', forever, onePicture, { silent: true }).catch((error) => error.code);
      const told = () => lines.filter((line) => line.includes('another certificate'));
      expect(await silent()).toBe('camera_bad_answer');
      rtsps.setSecureContext(third);
      expect(await silent()).toBe('camera_certificate');
      expect(status()).not.toHaveProperty('hints');
      expect(told()).toEqual([]);
      expect((await made.cameras.certificate('yard')).stream).toBeUndefined();
      expect(await read()).toBe('camera_certificate');
      expect(told()).toHaveLength(1);
      rtsps.setSecureContext(another);
      expect(await silent()).toBe('camera_bad_answer');
      expect(status()?.hints).toEqual([expect.stringContaining('camera trust yard')]);
      expect(await read()).toBe('camera_bad_answer');
      expect(status()).not.toHaveProperty('hints');
    });

    it('keeps its certificate where that of the camera itself is said', async () => {
      const { made, read, rtsps } = await secure(another);
      expect(await read()).toBe('camera_bad_answer');
      rtsps.setSecureContext(third);
      expect(await read()).toBe('camera_certificate');
      await made.cameras.trust('yard', own.fingerprint);
      expect(made.memory.get('onvif/pin/yard')).toBe(own.fingerprint);
      expect(made.memory.get('onvif/pin-stream/yard')).toBe(another.fingerprint);
    });

    it('is good with that of the camera, and with no other where one is configured, until a person trusts it', async () => {
      const same = await secure(own, own.fingerprint);
      expect(await same.read()).toBe('camera_bad_answer');
      const { made, read, shown } = await secure(another, own.fingerprint);
      expect(await read()).toBe('camera_certificate');
      expect(shown).toEqual([]);
      await made.cameras.trust('yard', another.fingerprint);
      expect(await read()).toBe('camera_bad_answer');
    });
  });

  it('never gets the password in clear from who took a digest before', async () => {
    const rtsp = keep(await startRtspServer());
    const real = keep(await startRtspGate({ before: rtsp.url, ...user, scheme: 'sha-256' }));
    const thief = keep(await startRtspGate({ before: rtsp.url, ...user, scheme: 'basic' }));
    let address = real.url;
    const { made, read, status } = await yard(() => address);
    expect(await read()).toHaveLength(1);
    address = thief.url;
    await real.stop();
    const failure = async () =>
      read().then(
        () => 'a picture',
        (error) => String(error.message),
      );
    // For a silent event nothing may show (safety 4).
    const silent = () => made.cameras.readStream('yard', forever, onePicture, { silent: true });
    for (let time = 0; time < 2; time += 1) await silent().catch((error) => expect(error.code).toMatch(/^camera_/));
    expect(status()?.warnings).toEqual([]);
    let said: string | undefined;
    // Learned again after the first failure.
    for (let time = 0; time < 2; time += 1) said = await failure();
    expect(said).toContain('basic_login');
    expect(thief.tries).toBe(0);
    expect(status()?.warnings).toMatchObject([{ code: 'basic_asked' }]);
    address = keep(await startRtspGate({ before: rtsp.url, ...user, scheme: 'sha-256' })).url;
    expect(await silent()).toHaveLength(1);
    expect(status()?.warnings).toMatchObject([{ code: 'basic_asked' }]);
    expect(await read()).toHaveLength(1);
    expect(status()?.warnings).toEqual([]);
  });

  it('is left alone after a restart too, until the password is another; one refusal of before counts', async () => {
    const rtsp = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: rtsp.url, ...user, scheme: 'sha-256' }));
    const server = await startCamera(cameraModel({}).script);
    keep({ stop: () => server.close() });
    const memory = new Map<string, string>();
    const run = async (password: string) => {
      const camera = { id: 'yard', url: server.url, ...user, password: new Secret(password), stream_url: gate.url };
      const { cameras, signals } = harness([camera], { memory });
      keep(cameras);
      await cameras.start(forever);
      await until(() => links(signals).includes(true), 'the link');
      return { stop: () => cameras.stop(), read: () => cameras.readStream('yard', forever, onePicture) };
    };
    const refused = async (times: number) => {
      const { read, stop } = await run('another-word');
      for (let time = 0; time < times; time += 1) await expect(read()).rejects.toMatchObject({ code: 'camera_auth' });
      await stop();
    };
    await refused(1);
    await refused(3);
    expect(gate.tries).toBe(2);
    await refused(2);
    expect(gate.tries).toBe(2);
    expect(memory.get('onvif/login/yard')).not.toContain('another-word');
    const { read } = await run(user.password);
    expect(await read()).toHaveLength(1);
    expect(JSON.parse(memory.get('onvif/login/yard') ?? '')).not.toHaveProperty('counts');
  });

  it('is not tried while the camera refuses the password for its events', async () => {
    const rtsp = keep(await startRtspServer());
    const gate = keep(await startRtspGate({ before: rtsp.url, ...user, scheme: 'sha-256' }));
    const model = cameraModel({
      before: ({ operation }) => (operation === 'GetSystemDateAndTime' ? undefined : fault('NotAuthorized')),
    });
    const server = await startCamera(model.script);
    keep({ stop: () => server.close() });
    const made = harness([{ id: 'yard', url: server.url, ...login, stream_url: gate.url }]);
    await made.cameras.start(forever);
    keep(made.cameras);
    await until(() => made.cameras.status()[0]?.state === 'auth_failed', 'the refusal');
    const read = made.cameras.readStream('yard', forever, onePicture);
    await expect(read).rejects.toMatchObject({ code: 'camera_auth' });
    expect(gate.requests).toEqual([]);
  });

  it('of a recorder is that of the channel', async () => {
    const rtsp = keep(await startRtspServer());
    const asked: string[] = [];
    const model = recorderModel({
      before: (request) => {
        if (request.operation !== 'GetStreamUri') return undefined;
        asked.push(/ProfileToken>(\w+)</.exec(request.body)?.[1] ?? '');
        return streamUri(reported(rtsp.url));
      },
    });
    const server = await startCamera(model.script);
    keep({ stop: () => server.close() });
    const channels = [
      { id: 'door', source: 'VideoSource_1' },
      { id: 'gate', source: 'VideoSource_9' },
    ];
    const made = harness([], { nvrs: [{ id: 'rec', url: server.url, ...login, channels }] });
    await made.cameras.start(forever);
    keep(made.cameras);
    await until(() => asked.length > 0, 'the stream address');
    expect(asked).toEqual(['Profile_102']);
    expect(await made.cameras.readStream('door', forever, onePicture)).toHaveLength(1);
    await expect(made.cameras.readStream('gate', forever, onePicture)).rejects.toThrow('no source VideoSource_9');
    await expect(made.cameras.readStream('nobody', forever, onePicture)).rejects.toThrow('No camera nobody');
  });
});

describe('the profile whose stream is read', () => {
  const profile = (token: string, encoding?: string, source = 'a') => ({
    token,
    name: token,
    source,
    ...(encoding !== undefined && { encoding }),
  });
  it.each([
    [[profile('main', 'H264'), profile('sub', 'H264'), profile('third', 'H264')], 'sub'],
    [[profile('main', 'H264'), profile('pictures', 'JPEG')], 'main'],
    [[profile('main', 'H264'), profile('pictures', 'JPEG'), profile('sub', 'H265')], 'sub'],
    [[profile('main'), profile('other', 'H264', 'b')], 'main'],
    [[profile('pictures', 'JPEG')], 'pictures'],
    [[], undefined],
  ])('%#', (profiles, token) => {
    expect(streamProfile(profiles)?.token).toBe(token);
  });
});

describe('an address of a stream that a camera reports', () => {
  const base = new URL('http://198.51.100.7:8080/onvif/device_service');
  it.each([
    ['rtsp://10.0.0.9:554/live?channel=1&subtype=1', 'rtsp://198.51.100.7:554/live?channel=1&subtype=1'],
    ['rtsp://u:p@10.0.0.9/live/', 'rtsp://198.51.100.7/live/'],
    ['rtsps://10.0.0.9:322/live', 'rtsps://198.51.100.7:322/live'],
    ['rtsp://[fe80::1%eth0]:554/live', 'rtsp://198.51.100.7:554/live'],
    ['rtsp://10.0.0.9/user=u_password=s_channel=1.sdp?', 'rtsp://198.51.100.7/user=u_password=s_channel=1.sdp?'],
  ])('%s is used as %s', (text, used) => {
    expect(streamAddress(text, base, 'repaired')).toBe(used);
  });

  it('is used as it is where that is configured, unless it is nobody', () => {
    expect(streamAddress('rtsp://u:p@10.0.0.9:554/x', base, 'as_reported')).toBe('rtsp://10.0.0.9:554/x');
    for (const nobody of ['rtsp://0.0.0.0/x', 'rtsp:///x'])
      expect(streamAddress(nobody, base, 'as_reported')).toBe('rtsp://198.51.100.7/x');
  });

  it.each(['', 'http://10.0.0.9/live', '/live'])('%j is none', (text) => {
    expect(() => streamAddress(text, base, 'repaired')).toThrow('set stream_url');
  });
});

describe('stream_url', () => {
  const said = (stream_url: string) =>
    cameraOptions
      .safeParse({ id: 'yard', url: 'http://10.0.0.9/', stream_url })
      .error?.issues.map((one) => one.message);

  it.each(['rtsp://10.0.0.9:8554/live?x=1', 'rtsps://cam.example/'])('may be %s', (url) => {
    expect(said(url)).toBe(undefined);
  });

  it('is no web address, and holds no password', () => {
    expect(said('http://10.0.0.9/live')).toEqual([expect.stringContaining('rtsp://')]);
    expect(said('rtsp://u:p@10.0.0.9/live')).toEqual([expect.stringContaining('use username and password')]);
  });
});
