import { type AddressInfo, connect, createServer as createTcp, type Server } from 'node:net';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type CertificatePin, certificatePin } from '#devices/onvif/certificate-pin.ts';
import { cameraHttp } from '#devices/onvif/http.ts';
import { Secret } from '#lib/secret.ts';
import { harness, links, memoryPort, until } from './harness.ts';
import { type Certificate, makeCertificate } from './make-certificate.ts';
import { cameraModel, checkToken, fault, startCamera } from './scripted-camera.ts';

const own = makeCertificate();
const other = makeCertificate();
const authority = makeCertificate({ ca: true });
const vouched = makeCertificate({ names: 'IP:127.0.0.1', issuer: authority });
const vouchedForAnother = makeCertificate({ names: 'DNS:elsewhere.example', issuer: authority });
tls.setDefaultCACertificates([...tls.getCACertificates(), authority.cert]);

const opened: { stop(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});
const forever = new AbortController().signal;
const key = 'onvif/pin/yard';

/** An https camera that wants a token. */
async function camera(certificate: Certificate, port = 0) {
  const model = cameraModel({
    before: (request) =>
      request.operation === 'GetSystemDateAndTime' || checkToken(request.body, 'u', 'secret', Date.now()) === undefined
        ? undefined
        : fault('NotAuthorized'),
  });
  const server = await startCamera(model.script, port, certificate);
  opened.push({ stop: () => server.close() });
  return server;
}

/** Counts the bytes that come over TLS: what a thief of addresses would read. */
async function thief(certificate: Certificate, port = 0) {
  let bytes = 0;
  let met = 0;
  const server = tls.createServer(certificate, (socket) => {
    socket.on('data', (chunk) => {
      bytes += chunk.length;
    });
    socket.on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  server.on('connection', () => {
    met += 1;
  });
  await listen(server, port);
  return { port: (server.address() as AddressInfo).port, read: () => bytes, met: () => met };
}

async function listen(server: Server, port: number) {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  opened.push({ stop: () => new Promise<void>((resolve) => void server.close(() => resolve())) });
}

async function run(url: string, memory: Map<string, string>, more = {}) {
  const made = harness([{ id: 'yard', url, username: 'u', password: new Secret('secret'), ...more }], { memory });
  await made.cameras.start(forever);
  opened.push(made.cameras);
  return made;
}

function ask(pin: CertificatePin | undefined, port: number) {
  const http = cameraHttp({ pin });
  opened.push({ stop: () => http.close() });
  const url = new URL(`https://127.0.0.1:${port}/`);
  const request = { url, method: 'GET', timeoutMs: 5000, maxBytes: 1000, lane: 'call', signal: forever } as const;
  return http.request(request);
}

describe('the certificate of an https camera that made its own', () => {
  it('is remembered at first use, and believed after a restart', async () => {
    const server = await camera(own);
    const memory = new Map<string, string>();
    for (let starts = 0; starts < 2; starts += 1) {
      const made = await run(server.url, memory);
      await until(() => links(made.signals).includes(true), 'the link');
      await made.cameras.stop();
      expect(memory.get(key)).toBe(own.fingerprint);
    }
  });

  it('is refused when it changed: nothing is sent, the reason says how to accept it, and then it is believed', async () => {
    const { port, read, met } = await thief(other);
    const memory = new Map([[key, own.fingerprint]]);
    const made = await run(`https://127.0.0.1:${port}/onvif/device_service`, memory);
    await until(() => links(made.signals).includes(false), 'the link down');
    expect(made.signals[0]).toMatchObject({ reason: expect.stringContaining('siteward camera trust yard') });
    expect(made.cameras.status()[0]?.reason).toContain(other.fingerprint);
    await until(() => met() >= 3, 'further tries');
    expect(read()).toBe(0);
    expect(memory.get(key)).toBe(own.fingerprint);
    await opened.splice(0, 1)[0]?.stop();
    const server = await camera(other, port);
    expect(await made.cameras.certificate('yard')).toEqual({
      ...{ trusted: own.fingerprint, shown: other.fingerprint, configured: false },
    });
    await made.cameras.trust('yard', other.fingerprint);
    await until(() => links(made.signals).includes(true), 'the link');
    expect(memory.get(key)).toBe(other.fingerprint);
    expect(server.seen.some((one) => one.body.includes('UsernameToken'))).toBe(true);
  });

  it('is accepted without waiting for the end of a pause', async () => {
    const server = await camera(other);
    const memory = new Map([[key, own.fingerprint]]);
    const made = harness([{ id: 'yard', url: server.url, username: 'u', password: new Secret('secret') }], {
      memory,
      timing: { retryBaseMs: 600_000, retryCapMs: 600_000 },
    });
    await made.cameras.start(forever);
    opened.push(made.cameras);
    await until(() => made.cameras.status()[0]?.state === 'backoff', 'the wait');
    await made.cameras.trust('yard', other.fingerprint);
    await until(() => links(made.signals).includes(true), 'the link');
  });

  it('that was compared is accepted, and none that somebody shows meanwhile', async () => {
    const [a, b, c] = [own, other, makeCertificate()].map(({ fingerprint }) => fingerprint) as [string, string, string];
    const memory = new Map([[key, a]]);
    const pin = certificatePin({ id: 'yard', memory: memoryPort(memory) });
    const shows = (fingerprint: string) => pin.judge({ fingerprint, vouched: false }, 'yard');
    await expect(shows(b)).rejects.toMatchObject({ code: 'camera_certificate' });
    await expect(shows(c)).rejects.toMatchObject({ code: 'camera_certificate' });
    await expect(pin.trust(b)).rejects.toMatchObject({ code: 'camera_certificate' });
    await expect(shows(c)).rejects.toMatchObject({ code: 'camera_certificate' });
    expect(memory.get(key)).toBe(a);
    await expect(shows(b)).rejects.toMatchObject({ code: 'camera_certificate' });
    await pin.trust(b.toLowerCase());
    expect(memory.get(key)).toBe(b);
    await shows(b);
  });

  it('is one for all who connect first at the same time', async () => {
    const [a, b] = [await camera(own), await camera(other)];
    const memory = new Map<string, string>();
    const pin = certificatePin({ id: 'yard', memory: memoryPort(memory) });
    const results = await Promise.allSettled([ask(pin, a.port), ask(pin, b.port), ask(pin, a.port), ask(pin, b.port)]);
    expect(results.filter(({ status }) => status === 'rejected').length).toBe(2);
    expect(new Set([memory.get(key), pin.refused])).toEqual(new Set([own.fingerprint, other.fingerprint]));
  });

  it('is remembered in the process where the memory fails', async () => {
    const gone = () => Promise.reject(new Error('broken'));
    const pin = certificatePin({ id: 'yard', memory: { get: gone, set: gone, keys: async () => [], delete: gone } });
    const [a, b] = [await camera(own), await camera(other)];
    expect((await ask(pin, a.port)).status).toBe(400);
    await expect(ask(pin, b.port)).rejects.toMatchObject({ code: 'camera_certificate' });
  });

  it('is not written over by another one while the memory cannot be read, and counts once it can', async () => {
    const memory = new Map([[key, own.fingerprint]]);
    const port = memoryPort(memory);
    let fails = true;
    const get = (name: string) => (fails ? Promise.reject(new Error('away')) : port.get(name));
    const pin = certificatePin({ id: 'yard', memory: { ...port, get } });
    const [a, b] = [await camera(own), await camera(other)];
    expect((await ask(pin, b.port)).status).toBe(400);
    expect(memory.get(key)).toBe(own.fingerprint);
    fails = false;
    await expect(ask(pin, b.port)).rejects.toMatchObject({ code: 'camera_certificate' });
    expect((await ask(pin, a.port)).status).toBe(400);
  });

  it('is waited for where the memory answers late', async () => {
    const port = memoryPort(new Map([[key, own.fingerprint]]));
    const get = (name: string) => new Promise<void>((go) => setTimeout(go, 1200)).then(() => port.get(name));
    const pin = certificatePin({ id: 'yard', memory: { ...port, get } });
    await expect(ask(pin, (await camera(other)).port)).rejects.toMatchObject({ code: 'camera_certificate' });
  });

  it('is written again after a failure', async () => {
    const memory = new Map<string, string>();
    const port = memoryPort(memory);
    let fails = true;
    const set = (name: string, value: string) => (fails ? Promise.reject(new Error('full')) : port.set(name, value));
    const pin = certificatePin({ id: 'yard', memory: { ...port, set } });
    const { port: at } = await camera(own);
    await ask(pin, at);
    fails = false;
    await ask(pin, at);
    expect(memory.get(key)).toBe(own.fingerprint);
  });

  it('needs no memory when a CA vouches for it, and may then change', async () => {
    const memory = new Map<string, string>([[key, own.fingerprint]]);
    const pin = certificatePin({ id: 'yard', memory: memoryPort(memory) });
    expect((await ask(pin, (await camera(vouched)).port)).status).toBe(400);
    const next = makeCertificate({ names: 'IP:127.0.0.1', issuer: authority });
    expect((await ask(pin, (await camera(next)).port)).status).toBe(400);
    expect(memory.get(key)).toBe(own.fingerprint);
  });

  it('of a CA, but for another name, is one like any other', async () => {
    const pin = certificatePin({ id: 'yard', memory: memoryPort(new Map([[key, own.fingerprint]])) });
    const { port, read } = await thief(vouchedForAnother);
    await expect(ask(pin, port)).rejects.toMatchObject({ code: 'camera_certificate' });
    expect(read()).toBe(0);
  });

  it('is the configured one, whatever was remembered and whoever vouches', async () => {
    const pin = certificatePin({
      configured: own.fingerprint.toLowerCase(),
      memory: memoryPort(new Map([[key, other.fingerprint]])),
    });
    expect((await ask(pin, (await camera(own)).port)).status).toBe(400);
    for (const wrong of [other, vouched]) {
      const { port, read } = await thief(wrong);
      await expect(ask(pin, port)).rejects.toMatchObject({
        code: 'camera_certificate',
        message: expect.stringContaining('tls_fingerprint'),
      });
      expect(read()).toBe(0);
    }
    await expect(pin.trust(other.fingerprint)).rejects.toMatchObject({ code: 'camera_certificate' });
  });

  it('is not believed where nothing judges it', async () => {
    const { port, read } = await thief(own);
    await expect(ask(undefined, port)).rejects.toMatchObject({ code: 'camera_unreachable' });
    expect(read()).toBe(0);
  });

  it('cannot be accepted before one was seen, nor for a camera that is not there', async () => {
    await expect(certificatePin({ id: 'yard' }).trust(own.fingerprint)).rejects.toMatchObject({
      code: 'camera_certificate',
    });
    const made = harness([]);
    await expect(made.cameras.trust('yard', own.fingerprint)).rejects.toMatchObject({ code: 'camera_unreachable' });
  });

  it('that never comes ends as no connection', async () => {
    const server = createTcp((socket) => socket.on('error', () => undefined).on('data', () => socket.destroy()));
    await listen(server, 0);
    const { port } = server.address() as AddressInfo;
    connect(port, '127.0.0.1').destroy();
    await expect(ask(certificatePin({ id: 'yard' }), port)).rejects.toMatchObject({ code: 'camera_unreachable' });
  });
});
