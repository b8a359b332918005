import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket, connect as tcpConnect } from 'node:net';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { SitewardError } from '#errors.ts';
import { bareHost } from './host.ts';
import { type RtspCamera, rtspTalk } from './rtsp-talk.ts';
import { never } from './wait.ts';

/** Three tries to connect. Who waits for one picture is told of a camera that is gone before his own time is over. */
const connectTimeoutMs = 4000;
/** A camera that sends nothing for so long is gone; a connection that was dropped on the way tells nobody. */
const silenceMs = 10_000;
const strangerMs = 5000;

/**
 * Lends the stream of a camera to a program that shall not know its password, such as ffmpeg: `work` gets an address of
 * this machine which nobody can guess and which serves one reader, by TCP only. Where the camera was to blame rejects with
 * `camera_unreachable`, `camera_auth`, `camera_bad_answer` or what `judge` threw, otherwise as `work` does. The door is shut
 * when `work` settles, and with `signal`, whose reason a `work` that fails for it then has.
 */
export async function lendRtsp<T>(
  camera: RtspCamera,
  work: (url: string) => Promise<T>,
  signal: AbortSignal = never(),
): Promise<T> {
  signal.throwIfAborted();
  const door = await openDoor(camera);
  signal.addEventListener('abort', door.shut, { once: true });
  try {
    signal.throwIfAborted();
    return await work(door.url);
  } catch (error) {
    signal.throwIfAborted();
    throw door.failure() ?? error;
  } finally {
    signal.removeEventListener('abort', door.shut);
    door.shut();
  }
}

async function openDoor(camera: RtspCamera) {
  const sockets = new Set<Socket>();
  let failure: unknown;
  const listener = createServer((reader) => {
    keep(reader);
    reader.setTimeout(strangerMs, () => reader.destroy());
    reader.once('data', (first) => {
      reader.pause();
      if (listener.listening && first.toString('latin1', 0, 1024).split(' ')[1]?.startsWith(url) === true) {
        listener.close();
        reader.setTimeout(0);
        reader.unshift(first);
        void serve(reader);
      } else reader.destroy();
    });
  });
  listener.maxConnections = 4;
  // No file left for one more connection: the reader is told.
  listener.on('error', () => undefined);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  // To an address that ends in a slash a reader adds none.
  const end = camera.url.endsWith('/') ? '/' : '';
  const url = `rtsp://127.0.0.1:${port}/${randomBytes(16).toString('hex')}${end}`;

  function keep<S extends Socket>(socket: S): S {
    sockets.add(socket);
    socket.setNoDelay();
    socket.once('close', () => sockets.delete(socket));
    // Who reads its end learns of it; without a listener it would end the process.
    socket.on('error', () => undefined);
    return socket;
  }

  async function serve(reader: Socket): Promise<void> {
    const fail = (error: unknown) => {
      // Once the reader has left, all ends.
      if (!reader.destroyed) failure ??= error;
      // What has come shall still be read.
      reader.destroySoon();
    };
    try {
      const device = await dial(camera, keep);
      if (device.destroyed) throw ended(new URL(camera.url).host);
      join(reader, device, fail);
    } catch (error) {
      fail(error);
    }
  }

  function join(reader: Socket, device: Socket, fail: (error: unknown) => void): void {
    const { host } = new URL(camera.url);
    const over = new AbortController();
    // While others log in it is nobody's fault that nothing comes.
    const silent = () =>
      talk.isEntering ? silence.refresh() : fail(unreachable(host, `it sent nothing for ${silenceMs / 1000} s`));
    const silence = setTimeout(silent, silenceMs);
    const end = (error: unknown) => {
      fail(error instanceof SitewardError ? error : noRtsp(host, error));
      device.destroy();
    };
    const talk = rtspTalk({
      camera,
      lent: url,
      toCamera: (bytes) => pass(bytes, reader, device),
      toReader: (bytes) => pass(bytes, device, reader),
      failed: end,
      over: over.signal,
    });
    const hear = (from: Socket, take: (chunk: Buffer) => void) =>
      from.on('data', (chunk) => {
        try {
          take(chunk);
        } catch (error) {
          end(error);
        }
      });
    hear(reader, talk.fromReader);
    hear(device, (chunk) => {
      silence.refresh();
      talk.fromCamera(chunk);
    });
    device.once('close', () => {
      clearTimeout(silence);
      fail(ended(host));
      over.abort(ended(host));
    });
    reader.once('close', () => {
      over.abort(ended(host));
      device.destroySoon();
    });
    if (reader.destroyed) device.destroy();
    reader.resume();
  }

  return {
    url,
    failure: () => failure,
    shut() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Who reads slowly slows down who sends. */
function pass(bytes: Buffer, from: Socket, to: Socket): void {
  if (to.destroyed || to.write(bytes) || from.isPaused()) return;
  from.pause();
  to.once('drain', () => from.resume());
}

/** Nothing is sent before the certificate was judged. */
async function dial({ url, judge }: RtspCamera, keep: <S extends Socket>(socket: S) => S): Promise<Socket> {
  const { protocol, host, hostname, port } = new URL(url);
  const name = bareHost(hostname);
  const signal = AbortSignal.timeout(connectTimeoutMs);
  try {
    if (protocol !== 'rtsps:') {
      const socket = keep(tcpConnect({ host: name, port: Number(port || 554) }));
      await once(socket, 'connect', { signal });
      return socket;
    }
    const target = { host: name, port: Number(port || 322), rejectUnauthorized: judge === undefined };
    const socket: TLSSocket = keep(tlsConnect(target));
    await once(socket, 'secureConnect', { signal });
    const fingerprint = socket.getPeerCertificate().fingerprint256 ?? 'none';
    await judge?.({ fingerprint, vouched: socket.authorized }, host);
    return socket;
  } catch (cause) {
    if (cause instanceof SitewardError) throw cause;
    throw unreachable(host, signal.aborted ? `no connection within ${connectTimeoutMs / 1000} s` : undefined, cause);
  }
}

const noRtsp = (host: string, cause: unknown) =>
  new SitewardError('camera_bad_answer', `What answers at ${host} does not speak RTSP`, { facts: { host }, cause });

const ended = (host: string) => unreachable(host, 'it ended the connection');

function unreachable(host: string, why?: string, cause?: unknown): SitewardError {
  const text = `No stream from the camera at ${host}${why === undefined ? '' : `: ${why}`}`;
  return new SitewardError('camera_unreachable', text, { facts: { host }, cause });
}
