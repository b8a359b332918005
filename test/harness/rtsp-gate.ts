import { createHash } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface RtspGate {
  readonly url: string;
  /** First lines and headers of all requests, as they came. */
  readonly requests: readonly string[];
  /** How many of them tried a password. */
  readonly tries: number;
  stop(): Promise<void>;
}

/**
 * Stands before the test server and asks for passwords in ways that GStreamer does not: digest with SHA-256, nonces that
 * grow old, Basic. Whatever it refuses it calls stale, as some cameras do. Reads one request per chunk, as clients send them.
 */
export async function startRtspGate(options: {
  before: string;
  username: string;
  password: string;
  scheme: 'sha-256' | 'basic';
  /** A nonce is good for so many requests. */
  nonceUses?: number;
}): Promise<RtspGate> {
  const { username, password, scheme, nonceUses = Number.POSITIVE_INFINITY } = options;
  const target = new URL(options.before);
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let tried = false;
  let uses = 0;
  let nonce = 0;

  const challenge = () =>
    scheme === 'basic'
      ? 'Basic realm="cam"'
      : `Digest realm="cam", nonce="n${nonce}", algorithm=SHA-256, qop="auth", stale=${tried}`;

  function isGood(request: string): boolean {
    const given = /^Authorization: (.*)\r$/im.exec(request)?.[1];
    tried = given !== undefined;
    if (given === undefined) return false;
    if (scheme === 'basic') return given === `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    uses += 1;
    const fresh = uses <= nonceUses;
    if (!fresh) {
      nonce += 1;
      uses = 0;
    }
    return fresh && given.includes(`nonce="n${nonce}"`) && given.includes(`response="${expected(request, given)}"`);
  }

  function expected(request: string, given: string): string {
    const hash = (text: string) => createHash('sha256').update(text).digest('hex');
    const part = (name: string) => new RegExp(`${name}="?([^",]+)`).exec(given)?.[1];
    const [method, uri] = request.split(' ');
    const middle = `${part('nonce')}:${part('nc')}:${part('cnonce')}:auth`;
    return hash(`${hash(`${username}:cam:${password}`)}:${middle}:${hash(`${method}:${uri}`)}`);
  }

  const server = createServer((client) => {
    const camera = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [client, camera],
      [camera, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
    camera.pipe(client);
    client.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      if (!/^[A-Z]/.test(text)) return void camera.write(chunk);
      requests.push(text);
      if (isGood(text)) return void camera.write(chunk);
      const number = /^CSeq: (\d+)/im.exec(text)?.[1];
      client.write(`RTSP/1.0 401 Unauthorized\r\nCSeq: ${number}\r\nWWW-Authenticate: ${challenge()}\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `rtsp://127.0.0.1:${port}${target.pathname}`,
    requests,
    get tries() {
      return requests.filter((request) => /^Authorization:/im.test(request)).length;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
