import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pino from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createMedia } from '#devices/media/index.ts';
import { systemClock } from '#lib/clock.ts';
import type { CrashPoint } from '#lib/crash-point.ts';
import { openStore } from '#site/store/index.ts';

/** The process ends at every step of the spool; after the next start rows and files agree. */
const child = join(import.meta.dirname, 'durable', 'media-child.ts');
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-spool-crash-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Resolves with the signal that ended it. */
async function runChild(at?: string): Promise<string | undefined> {
  const env = { ...process.env, ...(at !== undefined && { SITEWARD_CRASH_AT: at }) };
  try {
    await promisify(execFile)(process.execPath, [child, dir], { env, timeout: 30_000 });
    return undefined;
  } catch (error) {
    return (error as { signal?: string }).signal;
  }
}

interface Left {
  /** State of the picture and of the clip. */
  readonly states: readonly string[];
  readonly reasons: readonly (string | undefined)[];
  readonly files: readonly string[];
  readonly kept: readonly string[];
}

/** What a start makes of it. Every ready row has a whole file, every file a row. */
async function restarted(): Promise<Left> {
  const clock = systemClock();
  const shared = { clock, log: pino({ level: 'silent' }) };
  const store = openStore({ dir, ...shared, metrics: new Registry() });
  await store.start(new AbortController().signal);
  const spool = join(dir, 'spool');
  const media = createMedia({
    ...{ dir: spool, budgetBytes: 10_000_000, keepMs: 3_600_000 },
    clips: { short_mp4: 100, event_mp4: 100 },
    pictures: { snapshot: async () => ({ bytes: Buffer.from('taken after the restart'), mime: 'image/jpeg' }) },
    table: {
      update: (outcomes) => store.updateMedia(outcomes),
      list: (states, limit) => store.media(states, limit),
      isWhole: () => true,
      // Nothing delivers the event here.
      uploadedAt: async (seq, index) =>
        (await store.media(['uploaded'], 10)).some((one) => one.seq === seq && one.index === index)
          ? clock.wall()
          : undefined,
    },
    onReady: () => undefined,
    ...{ ...shared, metrics: new Registry() },
  });
  await media.start(new AbortController().signal);
  try {
    const namesIn = (folder: string) =>
      readdirSync(folder, { withFileTypes: true })
        .filter((one) => one.isFile())
        .map(({ name }) => name);
    let rows: Awaited<ReturnType<typeof store.media>> = [];
    await expect
      .poll(
        async () => {
          rows = await store.media(['planned', 'ready', 'uploaded', 'failed'], 10);
          const wanted = rows.filter(({ state }) => state === 'ready').map(({ file }) => file);
          return [
            rows.filter(({ state }) => state === 'planned'),
            namesIn(spool).filter((name) => !wanted.includes(name)),
          ];
        },
        { timeout: 10_000 },
      )
      .toEqual([[], []]);
    for (const { file = '', sha256 } of rows.filter(({ state }) => state === 'ready'))
      expect(
        createHash('sha256')
          .update(readFileSync(media.path(file)))
          .digest('hex'),
      ).toBe(sha256);
    rows.sort((a, b) => a.index - b.index);
    return {
      states: rows.map(({ state }) => state),
      reasons: rows.map(({ reason }) => reason),
      files: namesIn(spool),
      kept: readdirSync(spool).includes('kept') ? readdirSync(join(spool, 'kept')) : [],
    };
  } finally {
    await media.stop();
    await store.stop();
  }
}

const [both, pictureOnly] = [['1-0.jpg', '1-1.mp4'], ['1-0.jpg']];
const begins = 'begins 0.0 s after the event';
const missed = 'siteward was not running when the clip was due';

it.each<[at: `${CrashPoint}${'' | ':2'}`, states: string[], files: string[], clip: string | undefined]>([
  ['file.part', ['ready', 'failed'], pictureOnly, missed],
  ['file.synced', ['ready', 'failed'], pictureOnly, missed],
  ['file.renamed', ['ready', 'failed'], pictureOnly, missed],
  ['file.dirsynced', ['ready', 'failed'], pictureOnly, missed],
  ['media.row', ['ready', 'failed'], pictureOnly, missed],
  ['clip.part', ['ready', 'failed'], pictureOnly, missed],
  ['clip.synced', ['ready', 'failed'], pictureOnly, missed],
  ['clip.renamed', ['ready', 'ready'], both, undefined],
  ['clip.dirsynced', ['ready', 'ready'], both, undefined],
  ['media.row:2', ['ready', 'ready'], both, begins],
  // Nobody knows that the cloud has it: it goes there once more.
  ['media.uploaded', ['ready', 'ready'], both, begins],
  ['media.unlink', ['uploaded', 'ready'], ['1-1.mp4'], begins],
  ['media.unlink:2', ['uploaded', 'uploaded'], [], begins],
])('a process that ends at %s leaves after the next start rows %j and files %j', async (at, states, files, clip) => {
  expect(await runChild(at)).toBe('SIGKILL');
  const left = await restarted();
  const kept = at === 'media.unlink' ? pictureOnly : at === 'media.unlink:2' ? both : [];
  expect(left).toMatchObject({ states, files, kept });
  expect(left.reasons[1]).toBe(clip);
});

it('what the cloud has stays kept, and its rows say uploaded', async () => {
  expect(await runChild()).toBeUndefined();
  expect(await restarted()).toMatchObject({ states: ['uploaded', 'uploaded'], files: [], kept: both });
});
