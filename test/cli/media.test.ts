import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { createControlSocket, type MediaFile, type MediaPort, pieceBytes } from '#lan/http/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { main, siteward } from './run-cli.ts';

const clip = randomBytes(2 * pieceBytes + 5);
const item: MediaFile = {
  ...{ index: 0, kind: 'event_mp4', camera: 'yard', offset_ms: -5000, state: 'uploaded', here: true },
  ...{ bytes: clip.length, sha256: createHash('sha256').update(clip).digest('hex'), mime: 'video/mp4' },
};
const name = 'event-7-0_yard_event_mp4_-5.0s.mp4';

let dir: string;
let socket: string;
let daemon: Part | undefined;
/** What the box does when it is asked for a piece. */
let read: MediaPort['read'];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-media-'));
  socket = join(dir, 'control.sock');
  read = async ({ offset }) => clip.subarray(offset, offset + pieceBytes);
  const event = { seq: 7, event_id: 'e7', at: '2026-11-27T20:00:00.000Z', event: 'burglary' };
  const second: MediaFile = { ...item, index: 1, kind: 'short_mp4' };
  const port = fakeLanPort(0, {
    media: {
      list: async () => [],
      show: async () => ({ ...event, items: [item, second] }),
      export: async () => ({ ...event, items: [item, second], export: 'key' }),
      read: (piece) => read(piece),
    },
  });
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
});
afterEach(async () => {
  await daemon?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const args = (to: string) => ['media', 'export', '7', '--to', join(dir, to), '--socket', socket];

test('a clip is put together from its pieces', async () => {
  expect(await siteward(args('all'))).toMatchObject({ code: 0, err: expect.stringContaining('2 of 2 exported') });
  expect(readFileSync(join(dir, 'all', name)).equals(clip)).toBe(true);
  expect(readdirSync(join(dir, 'all'))).toHaveLength(2);
});

test('a file that goes while it is copied leaves nothing, and the others are copied', async () => {
  read = async ({ index, offset }) => {
    if (index === 0 && offset > 0) throw new SitewardError('media_gone', 'its file is gone by now');
    return clip.subarray(offset, offset + pieceBytes);
  };
  const ended = await siteward(args('some'));
  expect(ended).toMatchObject({ code: 1, out: expect.stringContaining('its file is gone by now') });
  expect(readdirSync(join(dir, 'some'))).toEqual(['event-7-1_yard_short_mp4_-5.0s.mp4']);
});

test('one whose end is cut off is not given out as whole', async () => {
  read = async ({ offset }) => clip.subarray(offset, Math.min(offset + pieceBytes, clip.length - 1));
  expect(await siteward(args('short'))).toMatchObject({ code: 1 });
  expect(readdirSync(join(dir, 'short'))).toEqual([]);
});

test('an export that is broken off leaves no half file', async () => {
  read = async ({ offset }) => (offset === 0 ? clip.subarray(0, pieceBytes) : new Promise<Uint8Array>(() => undefined));
  const child = spawn(process.execPath, [main, ...args('half')], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const file = join(dir, 'half', name);
  await eventually(
    'its first piece',
    async () => (existsSync(file) && statSync(file).size === pieceBytes ? true : undefined),
    { timeoutMs: 30_000 },
  );
  child.kill('SIGINT');
  expect(await ended).toEqual([1, null]);
  expect(readdirSync(join(dir, 'half'))).toEqual([]);
}, 60_000);
