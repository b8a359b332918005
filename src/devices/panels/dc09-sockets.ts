import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Gauge } from 'prom-client';
import type { Clock } from '#lib/clock.ts';
import { createSplitter } from '#lib/dc09/index.ts';

/** Everything a caller can make grow has an end; at it the caller is dropped, and a panel calls again. */
const socketBounds = {
  connections: 64,
  perAddress: 8,
  /** Frames of one connection that wait; more are not read before. */
  waiting: 16,
  /** Answers nobody reads, bytes. */
  unread: 64 * 1024,
  datagrams: 64,
} as const;
/** Panels send their frame as soon as they are connected: after so long without one a connection gives way to a newcomer. */
const youngMs = 2000;
const idleDefaultMs = 900_000;
const provenDefaultMs = 30_000;

export interface SocketsOptions {
  readonly host: string;
  readonly port: number;
  readonly transports: readonly ('tcp' | 'udp')[];
  /** The answer to a frame; undefined is silence. Never rejects. */
  readonly answer: (frame: string, from: Caller) => Promise<FrameAnswer | undefined>;
  /** Whether anybody may call from there: who may not takes no place of those who may. */
  readonly isAllowed: (address: string) => boolean;
  readonly dropped: (why: 'overflow' | 'connections' | 'busy' | 'unproven' | 'address') => void;
  readonly connections: Gauge;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** A connection of a panel ends after so long without a byte. */
  readonly idleMs?: number | undefined;
  /** One that is no panel's by then ends, so that nobody holds the places of the panels. */
  readonly provenMs?: number | undefined;
}

/** The address of a datagram may be anybody's. */
export interface Caller {
  readonly address: string;
  readonly transport: 'tcp' | 'udp';
}

export interface FrameAnswer {
  readonly text: string;
  /** It answers a panel of the configuration, as far as its key shows. */
  readonly isPanel: boolean;
}

export interface Sockets {
  /** The port that was taken, for 0. */
  readonly port: number;
  /** Rejects when a socket that was open fails. */
  readonly broken: Promise<never>;
  close(): Promise<void>;
}

/** Opens the listening sockets; rejects when one cannot be opened, and then holds none. */
export async function openSockets(options: SocketsOptions): Promise<Sockets> {
  const wanted = options.transports;
  const tcp = wanted.includes('tcp') ? await openTcp(options, options.port) : undefined;
  try {
    const udp = wanted.includes('udp') ? await openUdp(options, tcp?.port ?? options.port) : undefined;
    const broken = Promise.race([tcp?.broken, udp?.broken].filter((one) => one !== undefined));
    broken.catch(() => {});
    return {
      port: tcp?.port ?? udp?.port ?? 0,
      broken,
      async close() {
        await Promise.all([tcp?.close(), udp?.close()]);
      },
    };
  } catch (error) {
    await tcp?.close();
    throw error;
  }
}

/** One open connection. */
interface Line {
  readonly socket: Socket;
  readonly address: string;
  /** When it was opened, or a frame came. */
  heardMono: number;
  /** A frame of a panel has come. */
  isPanel: boolean;
}

/**
 * The line that gives way to a new one from `address`: of too many from there the one that was silent for longest, since a panel may leave
 * its old ones behind; of too many in all one that has shown no panel. Undefined: none does, and the new one is refused.
 */
function givesWay(lines: readonly Line[], address: string, mono: number): Line | undefined {
  const silent = (some: readonly Line[]) => some.toSorted((a, b) => a.heardMono - b.heardMono)[0];
  const same = lines.filter((line) => line.address === address);
  if (same.length >= socketBounds.perAddress) return silent(same);
  return silent(lines.filter((line) => !line.isPanel && mono - line.heardMono >= youngMs));
}

async function openTcp(options: SocketsOptions, port: number): Promise<Sockets> {
  const open = new Set<Line>();
  const { clock } = options;
  // Some callers end their side with the frame, and still want its answer.
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    const address = socket.remoteAddress ?? '';
    if (!options.isAllowed(address)) {
      options.dropped('address');
      socket.destroy();
      return;
    }
    const lines = [...open];
    const isFull = lines.length >= socketBounds.connections;
    if (isFull || lines.filter((line) => line.address === address).length >= socketBounds.perAddress) {
      options.dropped('connections');
      const old = givesWay(lines, address, clock.monotonic());
      if (old !== undefined) open.delete(old);
      (old?.socket ?? socket).destroy();
      if (old === undefined) return;
    }
    const line: Line = { socket, address, heardMono: clock.monotonic(), isPanel: false };
    open.add(line);
    options.connections.set(open.size);
    socket.once('close', () => {
      open.delete(line);
      options.connections.set(open.size);
    });
    serve(line, options);
  });
  server.listen(port, options.host);
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    broken: failure(server),
    async close() {
      for (const { socket } of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** One connection: frames are answered in the order they came, each when what it said is kept. */
function serve(line: Line, options: SocketsOptions): void {
  const { socket, address } = line;
  const splitter = createSplitter();
  let waiting = 0;
  let tail: Promise<unknown> = Promise.resolve();
  const one = async (frame: string) => {
    const answer = socket.destroyed ? undefined : await options.answer(frame, { address, transport: 'tcp' });
    if (answer !== undefined && !socket.destroyed) socket.write(answer.text, 'latin1');
    if (answer?.isPanel === true) {
      clearTimeout(unproven);
      line.isPanel = true;
      line.heardMono = options.clock.monotonic();
    }
    if (socket.writableLength > socketBounds.unread) socket.destroy();
    waiting -= 1;
    if (waiting < socketBounds.waiting) socket.resume();
  };
  const unproven = setTimeout(() => {
    options.dropped('unproven');
    socket.destroy();
  }, options.provenMs ?? provenDefaultMs);
  socket.once('close', () => clearTimeout(unproven));
  socket.setTimeout(options.idleMs ?? idleDefaultMs, () => socket.destroy());
  // The caller's trouble; `close` follows.
  socket.on('error', () => {});
  socket.on('end', () => void tail.then(() => socket.end()));
  socket.on('data', (bytes) => {
    const { frames, overflow } = splitter.push(bytes);
    for (const frame of frames) {
      waiting += 1;
      tail = tail.then(() => one(frame));
    }
    if (waiting >= socketBounds.waiting) socket.pause();
    if (!overflow) return;
    options.dropped('overflow');
    socket.destroy();
  });
}

async function openUdp(options: SocketsOptions, port: number): Promise<Sockets> {
  const socket: Datagrams = createSocket(options.host.includes(':') ? 'udp6' : 'udp4');
  let waiting = 0;
  let isOpen = true;
  socket.on('message', (bytes, { address, port: from }) => {
    if (waiting >= socketBounds.datagrams) return options.dropped('busy');
    waiting += 1;
    // A frame that is cut into datagrams is none; one datagram may hold several.
    void Promise.all(
      createSplitter()
        .push(bytes)
        .frames.slice(0, socketBounds.waiting)
        .map(async (frame) => {
          const answer = await options.answer(frame, { address, transport: 'udp' });
          if (answer !== undefined && isOpen) socket.send(Buffer.from(answer.text, 'latin1'), from, address, () => {});
        }),
    ).finally(() => {
      waiting -= 1;
    });
  });
  socket.bind(port, options.host);
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    broken: failure(socket),
    close() {
      isOpen = false;
      return new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

function failure(socket: Server | Datagrams): Promise<never> {
  const broken = new Promise<never>((_, reject) => void socket.on('error', reject));
  broken.catch(() => {});
  return broken;
}
