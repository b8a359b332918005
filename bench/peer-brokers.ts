import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectAsync } from 'mqtt';
import { inFlight, type Peer, type Writing } from './peer-process.ts';
import { bodyBytes } from './rows.ts';

interface Server {
  readonly port: number;
  kill(): Promise<void>;
}

/** Servers of Debian: each is a child process with its state on the disk under test, its client is this process. */
export const brokers: readonly Peer[] = [
  mosquitto('mosquitto, persistence true', ''),
  mosquitto('mosquitto, autosave after each change', 'autosave_on_changes true\nautosave_interval 1\n'),
  nats(),
  redis(),
];

const payload = (n: number) => `${n} `.padEnd(bodyBytes, 'x');

function mosquitto(name: string, extra: string): Peer {
  const start = (dir: string) =>
    serve('mosquitto', dir, (port) => {
      const lines = [`listener ${port} 127.0.0.1`, 'allow_anonymous true', 'user root', 'persistence true'];
      lines.push(
        `persistence_location ${dir}/`,
        'max_queued_messages 0',
        'max_inflight_messages 1000',
        'log_type none',
      );
      const config = join(dir, 'mosquitto.conf');
      writeFileSync(config, `${lines.join('\n')}\n${extra}`);
      return ['-c', config];
    });
  const reader = { clientId: 'reader', clean: false, reconnectPeriod: 0 };
  return {
    name,
    missing: () => absent('mosquitto', '-h'),
    async write(dir) {
      const server = await start(dir);
      const url = `mqtt://127.0.0.1:${server.port}`;
      const subscriber = await connectAsync(url, reader);
      await subscriber.subscribeAsync('event', { qos: 1 });
      await subscriber.endAsync();
      const client = await connectAsync(url, { clientId: 'writer', reconnectPeriod: 0 });
      client.on('error', () => undefined);
      return pump(
        server,
        (n) => client.publishAsync('event', payload(n), { qos: 1 }),
        () => client.end(true),
      );
    },
    async kept(dir, acked) {
      const server = await start(dir);
      const client = await connectAsync(`mqtt://127.0.0.1:${server.port}`, { ...reader, manualConnect: false });
      let count = 0;
      client.on('message', () => {
        count += 1;
      });
      await settled(() => count, acked);
      client.end(true);
      await server.kill();
      return count;
    },
  };
}

function nats(): Peer {
  const start = (dir: string) =>
    serve('nats-server', dir, (port) => ['-a', '127.0.0.1', '-p', `${port}`, '-js', '-sd', dir]);
  const request = (socket: Socket, subject: string, body: string) =>
    answerOf(socket, `PUB ${subject} in.0 ${Buffer.byteLength(body)}\r\n${body}\r\n`, /"(state|error|type)"/);
  const hello = 'CONNECT {"verbose":false,"pedantic":false}\r\nSUB in.* 1\r\n';
  return {
    name: 'nats-server JetStream',
    missing: () => absent('nats-server', '--version'),
    async write(dir) {
      const server = await start(dir);
      const socket = await open(server.port);
      socket.write(hello);
      const stream = { name: 'S', subjects: ['s'], storage: 'file', retention: 'limits', num_replicas: 1 };
      await request(socket, '$JS.API.STREAM.CREATE.S', JSON.stringify(stream));
      const waiting = new Map<string, () => void>();
      let inbox = '';
      onLines(socket, (line) => {
        if (line === 'PING') socket.write('PONG\r\n');
        else if (line.startsWith('MSG ')) inbox = line.split(' ')[1] ?? '';
        else if (/"seq":/.test(line)) {
          waiting.get(inbox)?.();
          waiting.delete(inbox);
        } else if (line.includes('"error"')) throw new Error(line);
      });
      const put = (n: number) =>
        new Promise<void>((resolve) => {
          waiting.set(`in.${n}`, resolve);
          socket.write(`PUB s in.${n} ${bodyBytes}\r\n${payload(n)}\r\n`);
        });
      return pump(server, put, () => socket.destroy());
    },
    async kept(dir) {
      const server = await start(dir);
      const socket = await open(server.port);
      socket.write(hello);
      const text = await request(socket, '$JS.API.STREAM.INFO.S', '');
      socket.destroy();
      await server.kill();
      return Number(/"messages":\s*(\d+)/.exec(text)?.[1] ?? 0);
    },
  };
}

function redis(): Peer {
  const flags = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];
  const start = (dir: string) => serve('redis-server', dir, (port) => ['--port', `${port}`, '--dir', dir, ...flags]);
  return {
    name: 'redis, appendfsync always',
    missing: () => absent('redis-server', '--version'),
    async write(dir) {
      const server = await start(dir);
      const socket = await open(server.port);
      const waiting: (() => void)[] = [];
      onLines(socket, (line) => {
        if (!line.startsWith(':')) throw new Error(line);
        waiting.shift()?.();
      });
      const put = (n: number) =>
        new Promise<void>((resolve) => {
          waiting.push(resolve);
          socket.write(`*3\r\n$5\r\nRPUSH\r\n$1\r\nq\r\n$${bodyBytes}\r\n${payload(n)}\r\n`);
        });
      return pump(server, put, () => socket.destroy());
    },
    async kept(dir) {
      const server = await start(dir);
      const socket = await open(server.port);
      const text = await answerOf(socket, '*2\r\n$4\r\nLLEN\r\n$1\r\nq\r\n', /:\d+/);
      socket.destroy();
      await server.kill();
      return Number(/:(\d+)/.exec(text)?.[1] ?? 0);
    },
  };
}

/** As many writers as may be in flight; only the first goes on, slowly, once asked. */
function pump(server: Server, put: (n: number) => Promise<unknown>, close: () => void): Writing {
  let n = 0;
  let acked = 0;
  let slower = false;
  let isOver = false;
  const writer = async (isFirst: boolean) => {
    while (!isOver && (isFirst || !slower)) {
      n += 1;
      await put(n);
      acked += 1;
      if (slower) await sleep(10);
    }
  };
  for (let index = 0; index < inFlight; index += 1) void writer(index === 0).catch(() => undefined);
  return {
    acked: () => acked,
    slower: () => {
      slower = true;
    },
    async kill() {
      isOver = true;
      await server.kill();
      close();
    },
  };
}

async function serve(program: string, dir: string, argumentsFor: (port: number) => string[]): Promise<Server> {
  const port = await freePort();
  const child: ChildProcess = spawn(program, argumentsFor(port), { cwd: dir, stdio: 'ignore', env });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let tries = 0; tries < 100 && child.exitCode === null; tries += 1) {
    const isThere = await open(port).then(
      (socket) => socket.destroy(),
      () => undefined,
    );
    if (isThere !== undefined) break;
    await sleep(100);
  }
  return {
    port,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
const absent = (program: string, flag: string) =>
  spawnSync(program, [flag], { env }).error === undefined ? undefined : `needs ${program}`;

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** Asks again each second until what comes back matches (a server that still reads its files says so), at most a minute. */
async function answerOf(socket: Socket, text: string, match: RegExp): Promise<string> {
  let received = '';
  const collect = (data: Buffer) => {
    received += data.toString();
  };
  socket.on('data', collect);
  for (let tries = 0; tries < 600 && !match.test(received); tries += 1) {
    if (tries % 10 === 0) socket.write(text);
    await sleep(100);
  }
  socket.off('data', collect);
  if (!match.test(received)) throw new Error(`no answer that fits: ${received.slice(0, 200)}`);
  return received;
}

function onLines(socket: Socket, receive: (line: string) => void): void {
  let rest = '';
  socket.on('data', (data) => {
    const lines = `${rest}${data.toString('latin1')}`.split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) receive(line);
  });
}

/** Until it is `enough` or has not grown for two seconds. */
async function settled(count: () => number, enough: number): Promise<void> {
  let before = -1;
  while (count() < enough && count() !== before) {
    before = count();
    await sleep(2000);
  }
}
