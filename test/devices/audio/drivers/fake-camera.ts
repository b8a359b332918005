import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** One request of the driver, and how to answer it. */
export interface CameraRequest {
  readonly method: string;
  readonly text: string;
  readonly socket: Socket;
  /** Lines after the first, which is the status; the number of the request is added. */
  answer(status: string, headers?: readonly string[], body?: string): void;
}

export interface FakeCamera {
  readonly url: string;
  /** Methods, in the order they came. */
  readonly methods: readonly string[];
  readonly requests: readonly string[];
  /** Channel and samples of each packet of sound. */
  readonly packets: readonly { readonly channel: number; readonly packet: Buffer }[];
  readonly connections: number;
  stop(): Promise<void>;
}

export const takesUlaw = ['v=0', 'm=audio 0 RTP/AVP 0', 'a=control:back', 'a=sendonly', ''].join('\r\n');

/** What a camera does with a request; undefined: as a good one. */
export type Habit = (request: CameraRequest, camera: { readonly packets: number }) => true | undefined;

/** The RTSP door of a camera, good but for its habit. */
export async function startFakeCamera(
  habit: Habit = () => undefined,
  sdp = takesUlaw,
  tls?: { readonly cert: string; readonly key: string },
): Promise<FakeCamera> {
  const requests: string[] = [];
  const packets: { channel: number; packet: Buffer }[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;

  function take(request: CameraRequest): void {
    if (habit(request, { packets: packets.length }) === true) return;
    const { method, answer } = request;
    if (method === 'DESCRIBE') answer('200 OK', ['Content-Type: application/sdp'], sdp);
    else if (method === 'SETUP')
      answer('200 OK', ['Transport: RTP/AVP/TCP;unicast;interleaved=0-1', 'Session: 42;timeout=60']);
    else answer('200 OK', ['Session: 42']);
  }

  const serve = (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      connections -= 1;
      sockets.delete(socket);
    });
    let kept: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      kept = Buffer.concat([kept, chunk]);
      for (;;) {
        if (kept[0] === 0x24) {
          if (kept.length < 4 || kept.length < 4 + kept.readUInt16BE(2)) return;
          const end = 4 + kept.readUInt16BE(2);
          packets.push({ channel: kept[1] ?? -1, packet: kept.subarray(4, end) });
          kept = kept.subarray(end);
          continue;
        }
        const end = kept.indexOf('\r\n\r\n');
        if (end < 0) return;
        const text = kept.toString('latin1', 0, end);
        kept = kept.subarray(end + 4);
        requests.push(text);
        const number = /^CSeq: (\d+)/im.exec(text)?.[1];
        take({
          method: text.split(' ')[0] ?? '',
          ...{ text, socket },
          answer(status, headers = [], body = '') {
            const lines = [`RTSP/1.0 ${status}`, `CSeq: ${number}`, ...headers, `Content-Length: ${body.length}`];
            socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
          },
        });
      }
    });
  };
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'rtsp' : 'rtsps'}://127.0.0.1:${port}/cam`,
    ...{ requests, packets },
    get methods() {
      return requests.map((text) => text.split(' ')[0] ?? '');
    },
    get connections() {
      return connections;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
