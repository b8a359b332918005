import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SitewardError } from '#errors.ts';
import { createControlSocket, type LanPort } from '#lan/http/index.ts';
import { fakeEvent, fakeLanPort, fakeStatus } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';

let dir: string;
let path: string;
let part: Part | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-control-'));
  path = join(dir, 'run', 'control.sock');
});
afterEach(async () => {
  await part?.stop();
  part = undefined;
  rmSync(dir, { recursive: true, force: true });
});

const lines: string[] = [];
function make(port: LanPort = fakeLanPort(), metrics = new Registry()): Part {
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  return createControlSocket({ path, port, log, metrics });
}
async function start(port?: LanPort, metrics?: Registry): Promise<void> {
  part = make(port, metrics);
  await part.start(new AbortController().signal);
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}
function get(target: string, options: { method?: string; headers?: Record<string, string> } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: path, path: target, agent: false, ...options }, (response) => {
      let text = '';
      response.on('data', (bytes) => {
        text += bytes;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    call.on('error', reject);
    call.end();
  });
}

describe('operations over a real unix socket', () => {
  test('the status document', async () => {
    await start();
    const answer = await get('/api/v1/status');
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(JSON.parse(answer.text)).toEqual(fakeStatus);
  });

  test('events come in pages, newest first', async () => {
    await start(fakeLanPort(5));
    const first = JSON.parse((await get('/api/v1/events?limit=3')).text);
    expect(first.items.map(({ seq }: { seq: number }) => seq)).toEqual([5, 4, 3]);
    expect(first.next_before).toBe(3);
    const second = JSON.parse((await get(`/api/v1/events?limit=3&before=${first.next_before}`)).text);
    expect(second).toEqual({ items: [fakeEvent(2), fakeEvent(1)], next_before: 1 });
    expect(JSON.parse((await get('/api/v1/events?before=1')).text)).toEqual({ items: [], next_before: null });
  });

  test('a page that is short because events were left out is not the last one', async () => {
    await start(fakeLanPort(0, { events: async () => [fakeEvent(9)] }));
    expect(JSON.parse((await get('/api/v1/events?limit=3')).text).next_before).toBe(9);
  });

  test('the query reaches the port typed and with its defaults', async () => {
    const events = vi.fn(async () => []);
    await start(fakeLanPort(0, { events }));
    await get('/api/v1/events?class=alarm&before=7');
    expect(events).toHaveBeenCalledWith({ limit: 50, before: 7, class: 'alarm' });
  });

  test.each(['limit=0', 'limit=201', 'limit=x', 'before=0', 'class=nonsense', 'colour=red'])(
    'a wrong query (%s) is refused as problem+json',
    async (query) => {
      await start();
      const answer = await get(`/api/v1/events?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(JSON.parse(answer.text)).toMatchObject({ status: 400, code: 'request_invalid', errors: [{}] });
    },
  );

  test('health, readiness and metrics', async () => {
    await start();
    expect(JSON.parse((await get('/healthz')).text)).toEqual({ status: 'ok' });
    expect((await get('/readyz')).status).toBe(200);
    const metrics = await get('/metrics');
    expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(metrics.text).toBe('siteward_up 1\n');
  });

  test('a bridge that is not ready says 503 with the reasons', async () => {
    await start(fakeLanPort(0, { ready: () => ({ ready: false, reasons: ['store'] }) }));
    const answer = await get('/readyz');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([503, { ready: false, reasons: ['store'] }]);
  });

  test('an unknown path is 404 and another method 405 with what is allowed', async () => {
    await start();
    expect(JSON.parse((await get('/nothing')).text)).toMatchObject({ status: 404, code: 'not_found' });
    const answer = await get('/api/v1/status', { method: 'DELETE' });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET']);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  test('a failure of the moment keeps its code, any other says nothing and is logged', async () => {
    const passing = new SitewardError('store_unavailable', 'the database is being repaired');
    await start(
      fakeLanPort(0, { events: () => Promise.reject(passing), status: () => Promise.reject(new Error('inner')) }),
    );
    const events = await get('/api/v1/events');
    expect([events.status, JSON.parse(events.text).code]).toEqual([503, 'store_unavailable']);
    const status = await get('/api/v1/status');
    expect([status.status, JSON.parse(status.text).code]).toEqual([500, 'internal']);
    expect(status.text).not.toContain('inner');
    expect(lines.join()).toContain('inner');
  });

  test('what is not HTTP, or has huge headers, is refused and the next caller is served', async () => {
    await start();
    const raw = connect({ path });
    raw.write('\x16\x03\x01 this is no HTTP\r\n\r\n');
    raw.resume();
    await once(raw, 'close');
    expect((await get('/healthz', { headers: { 'x-big': 'x'.repeat(20_000) } })).status).toBe(431);
    expect((await get('/healthz')).status).toBe(200);
  });

  test('requests are counted by status', async () => {
    const metrics = new Registry();
    await start(fakeLanPort(), metrics);
    await get('/healthz');
    await get('/nothing');
    const text = await metrics.metrics();
    expect(text).toContain('siteward_control_requests_total{status="200"} 1');
    expect(text).toContain('siteward_control_requests_total{status="404"} 1');
  });
});

describe('the socket file', () => {
  test('may be used by owner and group only, and is gone after the stop', async () => {
    await start();
    expect(statSync(path).mode & 0o777).toBe(0o660);
    await part?.stop();
    expect(existsSync(path)).toBe(false);
    expect(part?.health().state).toBe('down');
  });

  test('that a killed daemon left behind is replaced', async () => {
    await leaveStale();
    await start();
    expect((await get('/healthz')).status).toBe(200);
    expect(part?.health().state).toBe('ok');
  });

  test('on which another daemon answers is left to it, and taken over when that one stops', async () => {
    const other = make();
    await other.start(new AbortController().signal);
    await start(fakeLanPort(0, { ready: () => ({ ready: false, reasons: ['second'] }) }));
    expect(part?.health().reason).toContain('another siteward answers');
    expect((await get('/readyz')).status).toBe(200);
    await other.stop();
    await vi.waitUntil(() => part?.health().state === 'ok', { timeout: 20_000 });
    expect((await get('/readyz')).status).toBe(503);
  });

  test('is never taken by removing a file of another kind', async () => {
    path = join(dir, 'precious');
    writeFileSync(path, 'data');
    await start();
    expect(part?.health()).toMatchObject({ state: 'down', reason: expect.stringContaining('of another kind') });
    expect(statSync(path).size).toBe(4);
  });

  test('in a folder that cannot be used makes the part down, and a stop ends the tries', async () => {
    path = join(dir, 'file', 'control.sock');
    writeFileSync(join(dir, 'file'), '');
    await start();
    expect(part?.health().state).toBe('down');
    await part?.stop();
    expect(part?.health().reason).toBe('stopped');
  });

  async function leaveStale(): Promise<void> {
    const code = `require('fs').mkdirSync(${JSON.stringify(join(dir, 'run'))});
      require('net').createServer().listen(${JSON.stringify(path)}, () => process.stdout.write('up'))`;
    const holder: ChildProcess = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (holder.stdout !== null) await once(holder.stdout, 'data');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(existsSync(path)).toBe(true);
    chmodSync(path, 0o600);
  }
});
