import { type AddressInfo, connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { certificatePin } from '#devices/onvif/certificate-pin.ts';
import { createDevice } from '#devices/onvif/device.ts';
import { createPictureClient } from '#devices/onvif/picture-client.ts';
import { createReads } from '#devices/onvif/reads.ts';
import { createStreamClient } from '#devices/onvif/stream-client.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import { memoryPort } from './harness.ts';
import { cameraModel, startCamera } from './scripted-camera.ts';

const opened: { stop(): Promise<void> | void }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.stop();
});
const forever = new AbortController().signal;
const authHoldMs = 15 * 60_000;

type Door = 'events' | 'picture' | 'stream';

/**
 * One device with three doors, which all know the same user: events and pictures over HTTP, a stream over RTSP. `isOpen`
 * says whether a request passes; a password is not looked at, only that one was tried.
 */
async function threeDoors(nonceOf: () => string) {
  const doors = {
    passes: (_: Door, tried: boolean) => tried,
    isAway: false,
    soap: 'there' as 'there' | 'away' | 'no ONVIF',
    open: 'none',
  };
  const tries: Door[] = [];
  const refused: Door[] = [];
  let told = '';
  const judge = (door: Door, authorization: unknown): boolean => {
    const tried = typeof authorization === 'string';
    const passes = doors.passes(door, tried);
    if (tried) tries.push(door);
    // A nonce from before it was changed is looked at before the password: that costs nothing.
    if (tried && !passes && told.includes(/nonce="\w+"/.exec(authorization)?.[0] ?? '')) refused.push(door);
    return passes;
  };
  const challenge = () => {
    const nonce = `nonce="${nonceOf()}"`;
    told += nonce;
    return `Digest realm="cam", ${nonce}, qop="auth"`;
  };

  const model = cameraModel({
    before: ({ operation, headers }) => {
      if (doors.isAway || (doors.soap === 'away' && operation !== '')) return { reset: true };
      if (doors.soap === 'no ONVIF' && operation !== '') return { status: 404, body: '<html>not here</html>' };
      if (operation === 'GetSystemDateAndTime' || operation === doors.open) return undefined;
      const door = operation === '' ? 'picture' : 'events';
      if (judge(door, headers.authorization)) return undefined;
      return { status: 401, headers: { 'www-authenticate': challenge() } };
    },
  });
  const server = await startCamera(model.script);
  const rtsp = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      if (doors.isAway) return void socket.destroy();
      const text = chunk.toString('latin1');
      const number = `CSeq: ${/^CSeq: (\d+)/im.exec(text)?.[1]}\r\n`;
      if (judge('stream', /^Authorization:.*/im.exec(text)?.[0])) socket.write(`RTSP/1.0 200 OK\r\n${number}\r\n`);
      else socket.write(`RTSP/1.0 401 Unauthorized\r\n${number}WWW-Authenticate: ${challenge()}\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => rtsp.listen(0, '127.0.0.1', resolve));
  opened.push({ stop: () => server.close() }, { stop: () => void rtsp.close() });

  const clock = manualClock();
  const login = { username: 'u', password: new Secret('right') };
  const device = createDevice({ url: server.url, ...login, clock, authHoldMs });
  opened.push({ stop: () => device.close() });
  const reads = createReads(device);
  const pictures = createPictureClient({ device, clock, authHoldMs });
  const streams = createStreamClient({
    ...{ device, clock, authHoldMs, password: login.password, pin: certificatePin({}), lifetime: forever },
    kept: { id: 'yard', memory: memoryPort(new Map()) },
  });
  const { port } = rtsp.address() as AddressInfo;
  const ask = {
    events: () => reads.deviceInformation(forever),
    profiles: () => reads.profiles(forever),
    picture: () => pictures.fetch(new URL('/picture.jpg', server.url), { timeoutMs: 5000, signal: forever }),
    stream: () => streams.lend(`rtsp://127.0.0.1:${port}/live`, describeStream),
  };
  /** All of them as their loops do, whatever comes of it. */
  async function run(forMs: number): Promise<void> {
    for (let ms = 0; ms < forMs; ms += 10_000) {
      await Promise.allSettled([ask.stream(), ask.picture(), ask.events()]);
      clock.advance(10_000);
    }
  }
  /** From now on the password is another, and what was told before is old. */
  function change(): void {
    doors.passes = () => false;
    told = '';
  }
  return { doors, tries, refused, device, ask, run, change };
}

/** What a reader asks first. */
function describeStream(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(`DESCRIBE ${url} RTSP/1.0\r\nCSeq: 1\r\n\r\n`));
    socket.on('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString('latin1'));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
  });
}

const nonces = [
  { name: 'one nonce for ever', made: () => () => 'n' },
  {
    name: 'a fresh nonce each time',
    made: () => {
      let number = 0;
      return () => `n${number++}`;
    },
  },
];

/** As the rings of a recorder do at each start. */
const eightOf = ({ stream }: { stream(): Promise<string> }) =>
  Promise.allSettled(Array.from({ length: 8 }, () => stream()));

/** Many cameras lock an account at the fifth wrong password in a row, whichever door it came to. */
describe.each(nonces)('tries of one account at a device with $name', ({ made }) => {
  it('are two in all where the password is wrong from the beginning', async () => {
    const { tries, run, change } = await threeDoors(made());
    change();
    await run(180_000);
    expect(tries).toEqual(['events', 'events']);
  });

  it('are four in all where it came back with another password', async () => {
    const { doors, tries, run, change } = await threeDoors(made());
    await run(10_000);
    expect([...tries].sort()).toEqual(['events', 'picture', 'stream']);
    doors.isAway = true;
    await run(20_000);
    doors.isAway = false;
    change();
    tries.length = 0;
    await run(180_000);
    expect(new Set(tries)).toEqual(new Set(['events']));
    expect(tries.length).toBeLessThanOrEqual(4);
  });

  it('are four in all where it was changed while all was well', async () => {
    const { refused, run, change } = await threeDoors(made());
    await run(20_000);
    change();
    await run(180_000);
    expect(refused.length).toBeLessThanOrEqual(4);
  });

  it('go on at all three when it is back with the same password', async () => {
    const { doors, tries, refused, run } = await threeDoors(made());
    await run(10_000);
    doors.isAway = true;
    await run(20_000);
    doors.isAway = false;
    tries.length = 0;
    await run(10_000);
    expect(new Set(tries)).toEqual(new Set(['events', 'picture', 'stream']));
    expect(refused).toEqual([]);
  });

  it('are two of a door that has another user, and none of them ends the others', async () => {
    const { doors, refused, ask, run } = await threeDoors(made());
    doors.passes = (door, tried) => tried && door !== 'stream';
    await run(180_000);
    expect(refused).toEqual(['stream', 'stream']);
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    await expect(ask.events()).resolves.toMatchObject({ model: '007' });
  });

  it('are two of a stream that has another user, and are four in all after a change, however many are read at once', async () => {
    const { doors, refused, ask } = await threeDoors(made());
    doors.passes = (door, tried) => tried && door !== 'stream';
    await ask.events();
    const first = await eightOf(ask);
    expect(refused).toEqual(['stream', 'stream']);
    expect(first.map((one) => one.status)).toEqual(Array(8).fill('rejected'));

    const other = await threeDoors(made());
    await other.run(10_000);
    other.change();
    await eightOf(other.ask);
    await other.run(180_000);
    expect(other.refused.length).toBeLessThanOrEqual(4);
  });

  it.each(['there', 'no ONVIF'] as const)(
    'are two of each door that wants a password where its SOAP (%s) never asks for one',
    async (soap) => {
      const { doors, refused, ask, run, change } = await threeDoors(made());
      doors.soap = soap;
      doors.passes = (door, tried) => tried || door === 'events';
      await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
      await expect(ask.stream()).resolves.toContain('200 OK');
      change();
      doors.passes = (door) => door === 'events';
      await eightOf(ask);
      await run(180_000);
      expect([...refused].sort()).toEqual(['picture', 'picture', 'stream', 'stream']);
    },
  );

  it('are none for a stream that wants no password, whatever SOAP says', async () => {
    const { doors, tries, ask } = await threeDoors(made());
    doors.soap = 'away';
    doors.passes = (door, tried) => tried || door === 'stream';
    await expect(ask.stream()).resolves.toContain('200 OK');
    expect(tries).toEqual([]);
  });

  it('go on where it was accepted while SOAP is away, and are four in all when it is changed then', async () => {
    const { doors, refused, ask, run, change } = await threeDoors(made());
    await run(10_000);
    doors.soap = 'away';
    await run(20_000);
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    await expect(ask.stream()).resolves.toContain('200 OK');
    change();
    await eightOf(ask);
    await run(180_000);
    expect([...refused].sort()).toEqual(['picture', 'stream']);
    doors.soap = 'there';
    await run(180_000);
    expect(refused.length).toBeLessThanOrEqual(4);
  });

  it('go on after a lost stream where it tells anybody what device it is', async () => {
    const { doors, refused, device, ask } = await threeDoors(made());
    doors.open = 'GetDeviceInformation';
    await ask.profiles();
    device.doubt('lost');
    await expect(ask.picture()).resolves.toMatchObject({ mime: 'image/jpeg' });
    expect(refused).toEqual([]);
  });
});
