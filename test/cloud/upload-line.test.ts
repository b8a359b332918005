import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { createCloudClient } from '#cloud/client/index.ts';
import { createDelivery, type UploadResume } from '#cloud/delivery/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import { startCloud } from '#sandbox/cloud/index.ts';
import { createUploadGate } from '../../src/cloud/delivery/upload-gate.ts';
import { commitRows, keyPair, quiet, rowOf, testStore, until } from './support.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A TCP line that dies once, with everything on it, when so many bytes have gone up in one connection. */
async function lineCutAfter(bytes: number, port: number) {
  let isWhole = true;
  const sockets = new Set<Socket>();
  const carried: number[] = [];
  const server: Server = createServer((near) => {
    const far = connectTcp(port, '127.0.0.1');
    const place = carried.push(0) - 1;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
    far.pipe(near);
    near.on('data', (chunk: Buffer) => {
      carried[place] = (carried[place] ?? 0) + chunk.length;
      far.write(chunk, () => {
        if (!isWhole || (carried[place] ?? 0) < bytes) return;
        isWhole = false;
        // What was written has left; now both ends see the line die.
        far.end();
        near.resetAndDestroy();
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    wasCut: () => !isWhole,
    bytes: () => carried.reduce((sum, part) => sum + part, 0),
  };
}

/** A sandbox that keeps what a cut upload brought, or not; a real line that is cut in the middle; real delivery. */
async function cutUpload(resume: { server: UploadResume; bridge: UploadResume }) {
  const clip = randomBytes(4_000_000);
  const key = keyPair();
  const clock = systemClock();
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const line = await lineCutAfter(2_000_000, port);
  const cloud = await startCloud({
    listen: { host: '127.0.0.1', port },
    publicUrl: line.url,
    clients: [{ clientId: 'bridge-1', publicKeyPem: key.publicPem }],
    dialect: { upload_resume: resume.server },
  });
  ends.push(() => cloud.close());
  const { store, close } = await testStore(clock);
  ends.push(close);
  const client = createCloudClient({
    ...{ baseUrl: line.url, authUrl: line.url, clientId: 'bridge-1', keys: { current: { pem: key.pem } } },
    ...{ clock, log: quiet },
  });
  ends.push(() => client.close());
  const delivery = createDelivery({
    ...{ store, cloud: client, clock, log: quiet, metrics: new Registry(), allowLoopbackHttp: true },
    uploadResume: resume.bridge,
    onLink: () => undefined,
    files: {
      discard: async () => undefined,
      keep: async () => undefined,
      open: async () => ({
        bytes: clip.length,
        stream: (from = 0) => Readable.from(slices(clip.subarray(from))),
      }),
    },
  });
  await delivery.start(new AbortController().signal);
  ends.push(() => delivery.stop());
  await commitRows(store, [rowOf(clock, 1, { media: [{ index: 0, kind: 'event_mp4', camera: 'yard', offsetMs: 0 }] })]);
  await store.updateMedia([
    {
      ...{ seq: 1, lane: 'alarm', index: 0, at: clock.wall(), state: 'ready', file: 'clip', bytes: clip.length },
      ...{ sha256: hashOf(clip), mime: 'video/mp4' },
    },
  ]);
  delivery.wake();
  await until('the line is cut in the middle', line.wasCut);
  await until('the clip is uploaded', async () => {
    delivery.linkUp();
    return (await store.events({ limit: 1 }))[0]?.media[0]?.state === 'uploaded';
  });
  return { clip, line, cloud };
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 16_384) yield bytes.subarray(at, at + 16_384);
}
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

describe('an upload that is cut in the middle', () => {
  it('goes on where it was cut, when both sides can', async () => {
    const { clip, line, cloud } = await cutUpload({ server: 'content_range', bridge: 'content_range' });
    expect(cloud.uploads()[0]?.sha256).toBe(hashOf(clip));
    expect(cloud.log().map(({ method, status }) => `${method} ${status}`)).toContain('PUT 308');
    // What was under way when the line died goes up again, and no more.
    expect(line.bytes()).toBeLessThan(clip.length * 1.25);
  });

  it.each([
    ['the bridge is not told to', { server: 'content_range', bridge: 'off' }],
    ['the server knows nothing of it and takes the question for the file', { server: 'off', bridge: 'content_range' }],
  ] as const)('goes up as a whole again when %s', async (_what, resume) => {
    const { clip, line, cloud } = await cutUpload(resume);
    expect(cloud.uploads()[0]?.sha256).toBe(hashOf(clip));
    expect(line.bytes()).toBeGreaterThan(clip.length * 1.4);
  });
});

describe('the share of the line that uploads get', () => {
  const signal = () => new AbortController().signal;
  const bytes = Buffer.alloc(64 * 1024);
  const through = (gate: ReturnType<typeof createUploadGate>) =>
    buffer(Readable.from(slices(bytes)).pipe(gate.through(signal())));

  it('is all of it while no event is under way', async () => {
    let looks = 0;
    const eventsUnderWay = () => {
      looks += 1;
      return false;
    };
    const gate = createUploadGate({ clock: systemClock(), eventsUnderWay });
    expect((await through(gate)).equals(bytes)).toBe(true);
    // One for each chunk; at the pace of the other rule it looks in every slice of time.
    expect(looks).toBe([...slices(bytes)].length);
  });

  it('is small while events are under way, but never nothing, and all again after them', async () => {
    const clock = systemClock();
    let busy = true;
    const gate = createUploadGate({ clock, eventsUnderWay: () => busy });
    const stream = gate.through(signal());
    const seen: number[] = [];
    stream.on('data', (chunk: Buffer) => seen.push(chunk.length));
    const began = performance.now();
    for (const chunk of slices(bytes.subarray(0, 32 * 1024))) stream.write(chunk.subarray(0, 8 * 1024));
    await until('a chunk has passed', () => seen.length > 0);
    expect(performance.now() - began).toBeGreaterThan(400);
    busy = false;
    const whole = once(stream, 'end');
    stream.end(bytes);
    await whole;
    expect(seen.reduce((sum, length) => sum + length, 0)).toBe(16 * 1024 + bytes.length);
  });

  it('waits a moment after the last event before it takes the line again', async () => {
    const clock = manualClock();
    let busy = true;
    let looks = 0;
    const eventsUnderWay = () => {
      looks += 1;
      return busy;
    };
    const gate = createUploadGate({ clock, eventsUnderWay });
    const stream = gate.through(signal());
    let passed = 0;
    stream.on('data', (chunk: Buffer) => (passed += chunk.length));
    stream.write(bytes);
    await until('it waits for the event', () => looks > 1);
    busy = false;
    const before = looks;
    await until('it has looked again and again', () => looks > before + 3);
    expect(passed).toBe(0);
    clock.advance(250);
    await until('all has passed', () => passed === bytes.length);
  });

  it('is capped over all uploads together', async () => {
    const gate = createUploadGate({ clock: systemClock(), eventsUnderWay: () => false, bytesPerS: 128 * 1024 });
    const began = performance.now();
    await Promise.all([through(gate), through(gate)]);
    expect(performance.now() - began).toBeGreaterThan(900);
  });

  it('ends with the signal', async () => {
    const abort = new AbortController();
    const gate = createUploadGate({ clock: systemClock(), eventsUnderWay: () => true });
    const stream = gate.through(abort.signal);
    const failed = once(stream, 'error');
    stream.write(bytes);
    abort.abort(new Error('stopped'));
    expect(String((await failed)[0])).toContain('stopped');
  });
});
