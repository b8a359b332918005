import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { createHttpDriver } from '#devices/audio/drivers/http.ts';
import { readWav } from '#devices/audio/wav.ts';
import { never } from '#lib/wait.ts';
import { rawPcm } from '../../../harness/sound.ts';
import { driverContract } from './contract.ts';
import { joined } from './heard.ts';
import { begin, none, pushTo, s16le, useHttpDevice, well } from './http-device.ts';
import { openSockets } from './sockets.ts';

driverContract('http, pushed', {
  ...{ paced: true, delivered: 'sent', failures: { die: 'connection_lost' }, format: s16le },
  async make() {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-http-'));
    const out = join(folder, 'out.raw');
    const args = [join(import.meta.dirname, 'http-speaker.ts'), out];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const gone = once(child, 'exit');
    const [port] = await once(child.stdout, 'data');
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const driverAt = (at: string) =>
      createHttpDriver({
        play: pushTo(`${at}/play`, { format: s16le }),
        probe: { method: 'GET', url: `${at}/state` },
        ...{ auth: 'none', login: none },
      });
    return {
      driver: driverAt(url),
      missing: driverAt('http://127.0.0.1:1'),
      sounds: async () => existsSync(out) && statSync(out).size > 0,
      async heard() {
        // What is on its way to its file.
        await pause(100);
        return joined(existsSync(out) ? [rawPcm(readFileSync(out), s16le)] : []);
      },
      leftovers: openSockets,
      die: async () => void child.kill('SIGKILL'),
      freeze: async () => void child.kill('SIGSTOP'),
      async close() {
        child.kill('SIGKILL');
        await gone;
        rmSync(folder, { recursive: true });
      },
    };
  },
});

const { start, seen, lines, change } = useHttpDevice();

describe('driver http, pushed', () => {
  it('sends the samples with their length and kind', async () => {
    const url = await start(well);
    const { played, sound } = begin({ play: pushTo(`${url}/a?b=c`, { method: 'PUT', contentType: 'audio/x' }) });
    expect(await played).toEqual({ samples: 1600, delivered: 'sent' });
    expect(lines()).toEqual(['PUT /a?b=c']);
    expect(seen()[0]?.headers).toMatchObject({ 'content-length': '1600', 'content-type': 'audio/x' });
    expect(seen()[0]?.body.equals(sound.read(0, 1600))).toBe(true);
  });

  it('sends a wav file', async () => {
    const url = await start(well);
    const { played } = begin({ play: pushTo(url, { wav: true, format: s16le }) }, s16le);
    await played;
    expect(seen()[0]?.headers).toMatchObject({ 'content-length': `${44 + 19_200}` });
    expect(readWav(seen()[0]?.body ?? Buffer.alloc(0))).toMatchObject({ rate: 48_000, channels: 1 });
  });

  it.each([
    [301, 'refused'],
    [302, 'refused'],
    [400, 'refused'],
    [401, 'auth'],
    [404, 'not_found'],
    [415, 'format'],
    [500, 'device_error'],
    [503, 'busy'],
  ])('fails at once where it is answered with %d, and follows nothing', async (status, failure) => {
    const url = await start(
      (_, response) => {
        response.writeHead(status, { location: '/elsewhere' }).end();
      },
      { when: 'head' },
    );
    const { played } = begin({ play: pushTo(url), stop: { method: 'GET', url: `${url}/stop` } }, { ms: 20_000 });
    await expect(played).rejects.toMatchObject({ failure });
    // Somebody else may play on it.
    expect(lines().filter((line) => line !== 'GET /stop')).toEqual(['POST /']);
    expect(lines()).toHaveLength(failure === 'device_error' ? 2 : 1);
  });

  it.each(['sent', 'accepted'] as const)(
    'does not take an answer before the sound for a proof: %s',
    async (delivered) => {
      const url = await start(well, { when: 'head' });
      const { played } = begin({ play: pushTo(url, { delivered }) }, { ms: 600 });
      if (delivered === 'sent') await expect(played).rejects.toMatchObject({ failure: 'device_error' });
      else {
        expect(await played).toEqual({ samples: 4800, delivered });
        expect(seen()[0]?.body).toHaveLength(4800);
      }
    },
  );

  it('fails where the device hangs up, or never answers', async () => {
    const url = await start((_, response) => void response.socket?.destroy());
    await expect(begin({ play: pushTo(url) }).played).rejects.toMatchObject({ failure: 'connection_lost' });
    change(() => undefined);
    await expect(begin({ play: pushTo(url) }).played).rejects.toMatchObject({ failure: 'timeout' });
  });

  it('hangs up and calls the stop when it is told to', async () => {
    const url = await start((request, response) => request.line === 'GET /stop' && void response.end());
    const stop = new AbortController();
    const reason = new Error('stop');
    const { played } = begin(
      { play: pushTo(url), stop: { method: 'GET', url: `${url}/stop` } },
      { ms: 8000 },
      stop.signal,
    );
    await vi.waitUntil(() => (seen()[0]?.body.length ?? 0) > 800, 20_000);
    stop.abort(reason);
    await expect(played).rejects.toBe(reason);
    expect(lines()).toEqual(['POST /', 'GET /stop']);
    expect(seen()[0]?.body.length).toBeLessThan(32_000);
  });
});

describe('driver http, triggered', () => {
  const address = '/play/{message}?v={volume}&n={repeat}';
  it('tells the device what to play, and is over when the sound is', async () => {
    const url = await start(well);
    const begunAt = performance.now();
    const { played, onFirstSample } = begin(
      { play: { kind: 'trigger', method: 'GET', url: url + address } },
      { ms: 400, key: 'a/b c' },
    );
    expect(await played).toEqual({ samples: 3200, delivered: 'accepted' });
    expect(performance.now() - begunAt).toBeGreaterThan(390);
    expect(lines()).toEqual(['GET /play/a%2Fb%20c?v=100&n=1']);
    expect(onFirstSample).toHaveBeenCalledTimes(1);
  });

  it('fails where the device refuses, and where it does not answer', async () => {
    const url = await start((_, response) => void response.writeHead(503).end());
    const play = { kind: 'trigger', method: 'GET', url } as const;
    const { played, onFirstSample } = begin({ play });
    await expect(played).rejects.toMatchObject({ failure: 'busy' });
    expect(onFirstSample).not.toHaveBeenCalled();
    change(() => undefined);
    await expect(begin({ play }).played).rejects.toMatchObject({ failure: 'timeout' });
  });

  it.each(['answers', 'refuses', 'is silent'])('is stopped: the device %s', async (what) => {
    const url = await start(({ line }, response) => {
      if (line === 'GET /stop' && what === 'is silent') return;
      response.writeHead(line === 'GET /stop' && what === 'refuses' ? 500 : 200).end();
    });
    const stop = new AbortController();
    const reason = new Error('stop');
    const { played, onFirstSample } = begin(
      { play: { kind: 'trigger', method: 'GET', url }, stop: { method: 'GET', url: `${url}/stop` } },
      { ms: 8000 },
      stop.signal,
    );
    await vi.waitUntil(() => onFirstSample.mock.calls.length > 0, 20_000);
    stop.abort(reason);
    const failure = what === 'refuses' ? 'device_error' : 'timeout';
    if (what === 'answers') await expect(played).rejects.toBe(reason);
    else await expect(played).rejects.toMatchObject({ failure, soundsOn: true });
    expect(lines()).toEqual(['GET /', 'GET /stop']);
  });

  it('says that it cannot be stopped where nothing stops it', async () => {
    const url = await start(well);
    const stop = new AbortController();
    const { played, onFirstSample } = begin(
      { play: { kind: 'trigger', method: 'GET', url } },
      { ms: 8000 },
      stop.signal,
    );
    await vi.waitUntil(() => onFirstSample.mock.calls.length > 0, 20_000);
    stop.abort(new Error('stop'));
    await expect(played).rejects.toMatchObject({ failure: 'unsupported' });
  });

  it('may sound on where nobody knows whether it began, and it takes no stop either', async () => {
    const url = await start((_, response) => void response.writeHead(500).end());
    const stop = { method: 'GET', url: `${url}/stop` } as const;
    const { played } = begin({ play: { kind: 'trigger', method: 'GET', url }, stop });
    await expect(played).rejects.toMatchObject({ failure: 'device_error', soundsOn: true });
    expect(lines()).toEqual(['GET /', 'GET /stop']);
    change(({ line }, response) => void response.writeHead(line === 'GET /stop' ? 200 : 500).end());
    const other = begin({ play: { kind: 'trigger', method: 'GET', url }, stop });
    await expect(other.played).rejects.toMatchObject({ failure: 'device_error', soundsOn: false });
  });

  it('gives up an order to be silent that is not wanted any more', async () => {
    const url = await start(() => undefined);
    const { release } = createHttpDriver({
      ...{ play: { kind: 'trigger', method: 'GET', url }, stop: { method: 'GET', url: `${url}/stop` } },
      ...{ auth: 'none', login: none },
    });
    const over = new AbortController();
    const released = release?.(over.signal);
    await vi.waitUntil(() => lines().length === 1, 20_000);
    over.abort(new Error('another sound begins'));
    await expect(released).rejects.toThrow('another sound begins');
    await expect(release?.(never())).rejects.toMatchObject({ failure: 'timeout' });
  });

  it('silences what was left there, once its account is known', async () => {
    const url = await start(well);
    const ready = Promise.withResolvers<void>();
    let isKnown = false;
    const credentials = () => {
      if (!isKnown) throw new Error('nobody knows the account yet');
      return undefined;
    };
    const { release } = createHttpDriver({
      ...{ play: { kind: 'trigger', method: 'GET', url }, stop: { method: 'GET', url: `${url}/stop` } },
      ...{ auth: 'digest', login: { credentials, ready: () => ready.promise } },
    });
    const released = release?.(never());
    isKnown = true;
    ready.resolve();
    await released;
    expect(lines()).toEqual(['GET /stop']);
  });
});
