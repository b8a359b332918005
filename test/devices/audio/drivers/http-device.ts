import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, vi } from 'vitest';
import type { SoundFormat } from '#devices/audio/driver.ts';
import { createHttpDriver, type HttpOptions, type HttpPush } from '#devices/audio/drivers/http.ts';
import { never } from '#lib/wait.ts';
import { openSockets } from './sockets.ts';
import { type ToneOptions, tone } from './tone.ts';

export interface Seen {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  body: Buffer;
}
export type Habit = (request: Seen, response: ServerResponse) => void;
export const well: Habit = (_, response) => void response.end();

export interface HttpDevice {
  readonly url: string;
  readonly seen: readonly Seen[];
  change(habit: Habit): void;
  stop(): Promise<void>;
}

export interface HttpDeviceOptions {
  /** It answers when it has the whole request, or at once. */
  readonly when?: 'end' | 'head';
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** A device of this habit in this process. */
export async function startHttpDevice(first: Habit, options: HttpDeviceOptions = {}): Promise<HttpDevice> {
  const { when = 'end', tls } = options;
  const seen: Seen[] = [];
  let habit = first;
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const one: Seen = { line: `${request.method} ${request.url}`, headers: request.headers, body: Buffer.alloc(0) };
    seen.push(one);
    request.on('error', () => undefined);
    request.on('data', (bytes: Buffer) => {
      one.body = Buffer.concat([one.body, bytes]);
    });
    if (when === 'head') habit(one, response);
    else request.on('end', () => habit(one, response));
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    seen,
    change(next) {
      habit = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** One device for each test, which leaves nothing open behind it. */
export function useHttpDevice() {
  let device: HttpDevice | undefined;
  afterEach(async () => {
    await device?.stop();
    device = undefined;
    expect(await openSockets()).toEqual([]);
  });
  const seen = () => device?.seen ?? [];
  return {
    async start(habit: Habit, options?: HttpDeviceOptions): Promise<string> {
      device = await startHttpDevice(habit, options);
      return device.url;
    },
    seen,
    lines: () => seen().map(({ line }) => line),
    change: (habit: Habit) => device?.change(habit),
  };
}

export const none = { credentials: () => undefined };
export const s16le: SoundFormat = { encoding: 's16le', rate: 48_000, channels: 1 };
const ulaw: SoundFormat = { encoding: 'ulaw', rate: 8000, channels: 1 };
export const pushTo = (url: string, more: Partial<HttpPush> = {}): HttpPush => ({
  ...{ kind: 'push', method: 'POST', url, contentType: 'audio/basic', format: ulaw, delivered: 'sent', ...more },
});

/** Begins to play on it. */
export function begin(
  options: Partial<HttpOptions> & Pick<HttpOptions, 'play'>,
  what: ToneOptions = {},
  signal = never(),
) {
  const driver = createHttpDriver({ auth: 'none', login: none, ...options });
  const sound = tone({ ...ulaw, ms: 200, ...what });
  const onFirstSample = vi.fn();
  const played = driver.play(sound, { signal, onFirstSample });
  played.catch(() => undefined);
  return { driver, sound, onFirstSample, played };
}
