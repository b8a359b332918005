import { type AddressInfo, connect, createServer } from 'node:net';
import { createOnvifDriver } from '#devices/audio/drivers/onvif.ts';
import { certificatePin } from '#devices/onvif/certificate-pin.ts';
import { createDevice, type Device } from '#devices/onvif/device.ts';
import { createLogin } from '#devices/onvif/login.ts';
import { createPictureClient } from '#devices/onvif/picture-client.ts';
import { createReads } from '#devices/onvif/reads.ts';
import { createSpeakerDoor } from '#devices/onvif/speaker-door.ts';
import { createStreamClient } from '#devices/onvif/stream-client.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import { memoryPort } from './harness.ts';
import { cameraModel, startCamera } from './scripted-camera.ts';

const forever = new AbortController().signal;
export const authHoldMs = 15 * 60_000;

export type Door = 'events' | 'picture' | 'stream' | 'speaker';

/**
 * One device with three doors, which all know the same user: events and pictures over HTTP, a stream over RTSP, and its speaker there. `passes`
 * says whether a request does; a password is not looked at, only that one was tried.
 */
export async function threeDoors(nonceOf: () => string, opened: { stop(): Promise<void> | void }[]) {
  const doors = {
    passes: (_: Door, tried: boolean) => tried,
    isAway: false,
    soap: 'there' as 'there' | 'away' | 'no ONVIF',
    open: 'none',
  };
  const clock = manualClock();
  const tries: Door[] = [];
  const refused: Door[] = [];
  let told = '';
  /** As the device counts, which forgets what is older than the hold time. */
  let row: number[] = [];
  let wasRight = false;
  let worst = { refusals: 0, allowed: 2 };

  function count(passes: boolean): void {
    if (passes) {
      row = [];
      wasRight = true;
      return;
    }
    row = [...row.filter((at) => at > clock.monotonic() - authHoldMs), clock.monotonic()];
    // Where it was right before: two of the events, and those of pictures and streams, or that are pardoned, before that.
    const allowed = wasRight ? 4 : 2;
    if (row.length - allowed > worst.refusals - worst.allowed) worst = { refusals: row.length, allowed };
  }

  /** What a run that is killed at its next try leaves on disk. */
  let dying: { disk?: Map<string, string> } | undefined;

  const judge = (door: Door, authorization: unknown): boolean => {
    const tried = typeof authorization === 'string';
    const passes = doors.passes(door, tried);
    if (tried) tries.push(door);
    // A nonce from before it was changed is looked at before the password: that costs nothing.
    const isJudged = tried && (passes || told.includes(/nonce="\w+"/.exec(authorization)?.[0] ?? ''));
    if (isJudged && !passes) refused.push(door);
    if (isJudged) count(passes);
    if (tried && dying !== undefined) {
      dying.disk ??= new Map(texts);
      doors.isAway = true;
    }
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
      const passes = judge(door, headers.authorization);
      if (doors.isAway) return { reset: true };
      if (passes) return undefined;
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
      const door = text.includes('backchannel') ? 'speaker' : 'stream';
      const passes = judge(door, /^Authorization:.*/im.exec(text)?.[0]);
      if (doors.isAway) socket.destroy();
      else if (passes) socket.write(`RTSP/1.0 200 OK\r\n${number}\r\n`);
      else socket.write(`RTSP/1.0 401 Unauthorized\r\n${number}WWW-Authenticate: ${challenge()}\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => rtsp.listen(0, '127.0.0.1', resolve));
  opened.push({ stop: () => server.close() }, { stop: () => void rtsp.close() });
  const { port } = rtsp.address() as AddressInfo;

  let texts = new Map<string, string>();
  function start() {
    const kept = { id: 'yard', memory: memoryPort(texts) };
    const login = { username: 'u', password: new Secret('right') };
    const device = createDevice({ url: server.url, ...login, clock, authHoldMs, kept });
    const reads = createReads(device);
    const beside = createLogin(device, reads);
    const pictures = createPictureClient({ device, login: beside, clock });
    const pin = certificatePin({});
    const streams = createStreamClient({ device, login: beside, password: login.password, pin, lifetime: forever });
    const speaker = createSpeakerDoor({ device, login: beside, password: login.password, pin });
    return { device, reads, pictures, streams, speaker };
  }
  let daemon = start();
  opened.push({ stop: () => daemon.device.close() });

  const speaker = () => {
    const { speaker: door } = daemon;
    const login = {
      credentials: () => door.credentials,
      ready: () => door.recall(),
      mayLogIn: door.enter,
      told: (verdict: 'accepted' | 'refused') => door.judged(verdict === 'accepted'),
    };
    return createOnvifDriver({ address: async () => `rtsp://127.0.0.1:${port}/live`, login }).probe(forever);
  };
  const ask = {
    speaker,
    events: () => daemon.reads.deviceInformation(forever),
    profiles: () => daemon.reads.profiles(forever),
    picture: () => daemon.pictures.fetch(new URL('/picture.jpg', server.url), { timeoutMs: 5000, signal: forever }),
    stream: () => daemon.streams.lend(`rtsp://127.0.0.1:${port}/live`, describeStream),
  };
  /** All of them as their loops do, whatever comes of it. */
  async function run(forMs: number): Promise<void> {
    for (let ms = 0; ms < forMs; ms += 10_000) {
      await Promise.allSettled([ask.stream(), ask.picture(), ask.speaker(), ask.events()]);
      clock.advance(10_000);
    }
  }
  /** From now on the password is another, and what was told before is old. */
  function change(): void {
    doors.passes = () => false;
    told = '';
  }
  function restart(): void {
    daemon.device.close();
    daemon = start();
  }
  /** Killed before it hears what the device says to its first try; what it wrote afterwards is lost with it. */
  async function kill(asked: () => Promise<unknown>): Promise<void> {
    const { isAway } = doors;
    dying = {};
    await asked().catch(() => undefined);
    texts = new Map(dying.disk ?? texts);
    dying = undefined;
    doors.isAway = isAway;
    restart();
  }
  return {
    ...{ doors, tries, refused, clock, ask, run, change, restart, kill },
    get device(): Device {
      return daemon.device;
    },
    /** The most that were refused in a row within the hold time, next to what is allowed. */
    worst: () => worst,
  };
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

export const nonces = [
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
export const eightOf = ({ stream }: { stream(): Promise<string> }) =>
  Promise.allSettled(Array.from({ length: 8 }, () => stream()));
