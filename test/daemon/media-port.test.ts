import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { type MediaPort, pieceBytes } from '#lan/http/index.ts';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { systemClock } from '#lib/clock.ts';
import { type AuditDraft, localAsker, type MediaItem } from '#site/model/index.ts';
import { openStore, type Store } from '#site/store/index.ts';
import type { House } from '../../src/daemon/house.ts';
import { mediaPort, uploadedAt } from '../../src/daemon/media-port.ts';
import { row } from '../site/store/rows.ts';

interface Started {
  readonly port: MediaPort;
  readonly dir: string;
  readonly clock: ManualClock;
  readonly log: AuditDraft[];
  readonly house: House;
}

const picture = (index: number): MediaItem => ({ index, kind: 'snapshot', camera: 'yard', offsetMs: 1000 * index });
const bytes = Buffer.alloc(pieceBytes + 10, 'x');

/** Event 1 with a file that is here and one that never came, and with a silent event behind it that has its number. */
async function start(): Promise<Started> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-media-port-'));
  const store: Store = openStore({
    ...{ dir, clock: systemClock(), log: pino({ level: 'silent' }), metrics: new Registry() },
  });
  await store.start(new AbortController().signal);
  onTestFinished(async () => {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  const media = [picture(0), picture(1)];
  const silent = row(2, { media, silent: true });
  const hidden = { ...silent, event: { ...silent.event, seq: 1, kind: 'panic_silent' } };
  await store.commit({ rows: [row(1, { media }), hidden], arming: [], inputs: [] });
  const file = { bytes: bytes.length, sha256: 'ab', mime: 'image/jpeg' };
  for (const seq of [1, 2]) {
    await store.updateMedia([
      { seq, lane: 'alarm', index: 0, at: 9, state: 'ready', file: `${seq}-0.jpg`, ...file },
      { seq, lane: 'alarm', index: 1, at: 9, state: 'failed', reason: 'no answer' },
    ]);
    writeFileSync(join(dir, `${seq}-0.jpg`), bytes);
  }
  const log: AuditDraft[] = [];
  const note = async (entry: AuditDraft) => void log.push(entry);
  const house = {
    store,
    media: { places: (name: string) => [join(dir, name), join(dir, 'kept', name)] },
    controller: { audit: async (entries: readonly AuditDraft[]) => void log.push(...entries) },
  } as unknown as House;
  const clock = manualClock();
  return { port: mediaPort({ house, clock, note }), dir, clock, log, house };
}

const code = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof SitewardError ? error.code : String(error)),
  );

async function token(port: MediaPort): Promise<string> {
  const { export: found } = await port.export(1, localAsker);
  if (found === null) throw new Error('nothing is here');
  return found;
}

test('a file is read in pieces, by an export that is logged, and only what is part of it', async () => {
  const { port, log } = await start();
  expect(await code(port.read({ export: 'made-up', index: 0, offset: 0 }))).toBe('media_gone');
  expect(log).toEqual([]);
  const key = await token(port);
  expect(log).toMatchObject([{ kind: 'export', target: 'media of event 1', after: '1 of 2' }]);
  const read = (index: number, offset: number) => port.read({ export: key, index, offset });
  expect([(await read(0, 0)).length, (await read(0, pieceBytes)).length, (await read(0, bytes.length)).length]).toEqual(
    [...[pieceBytes, 10, 0]],
  );
  expect([await code(read(1, 0)), await code(read(7, 0))]).toEqual(['media_gone', 'media_gone']);
});

test('an export ends after a quarter of an hour, or when eight others began', async () => {
  const { port, clock } = await start();
  const old = await token(port);
  clock.advance(15 * 60_000);
  expect(await code(port.read({ export: old, index: 0, offset: 0 }))).toBe('media_gone');
  const first = await token(port);
  for (let more = 0; more < 7; more += 1) await token(port);
  expect(await code(port.read({ export: first, index: 0, offset: 0 }))).toBe('done');
  await token(port);
  expect(await code(port.read({ export: first, index: 0, offset: 0 }))).toBe('media_gone');
});

test('a file that moves to what is kept, while it is looked at or later, is given out on', async () => {
  const { port, dir, house } = await start();
  const { media } = house;
  mkdirSync(join(dir, 'kept'));
  // As if the cloud got it just after its place was asked for.
  const move = (name: string) => renameSync(join(dir, name), join(dir, 'kept', name));
  house.media = {
    places(name: string) {
      move(name);
      return media?.places(name) ?? [];
    },
  } as unknown as NonNullable<House['media']>;
  const key = await token(port);
  house.media = media;
  expect((await port.show(1)).items[0]).toMatchObject({ here: true });
  expect(await port.read({ export: key, index: 0, offset: 0 })).toHaveLength(pieceBytes);
});

test('nothing leaves that cannot be logged', async () => {
  const { port, house, log } = await start();
  const { controller } = house;
  house.controller = undefined;
  expect(await code(port.export(1, localAsker))).toBe('stopped');
  const full = new SitewardError('queue_full', 'too much is being logged');
  house.controller = { ...controller, audit: () => Promise.reject(full) } as unknown as House['controller'];
  expect(await code(port.export(1, localAsker))).toBe('queue_full');
  expect(log).toEqual([]);
});

test('a file that is gone or of another size is not given out, and the refusal is logged', async () => {
  const { port, dir, log } = await start();
  const key = await token(port);
  writeFileSync(join(dir, '1-0.jpg'), 'short');
  expect((await port.show(1)).items).toMatchObject([
    { here: false, missing: expect.stringContaining('not the ') },
    { here: false, missing: 'no answer' },
  ]);
  rmSync(join(dir, '1-0.jpg'));
  expect((await port.show(1)).items[0]).toMatchObject({ state: 'ready', missing: 'the file is gone' });
  expect(await code(port.read({ export: key, index: 0, offset: 0 }))).toBe('media_gone');
  expect((await port.export(1, localAsker)).export).toBe(null);
  expect(await code(port.export(4, localAsker))).toBe('media_unknown');
  expect(log.slice(1)).toMatchObject([
    { kind: 'refusal', target: 'media of event 1', reason: 'media_gone' },
    { kind: 'refusal', target: 'media of event 4', reason: 'media_unknown' },
  ]);
});

test('a silent event is in no list and behind no number', async () => {
  const { port } = await start();
  const all = { limit: 50 };
  expect((await port.list(all)).map(({ seq, event }) => [seq, event])).toEqual([[1, 'burglary']]);
  expect((await port.list({ ...all, event: 1 })).map(({ event }) => event)).toEqual(['burglary']);
  expect(await port.list({ ...all, event: 2 })).toEqual([]);
  expect((await port.show(1)).event).toBe('burglary');
  expect(await code(port.show(2))).toBe('media_unknown');
  expect(await code(port.export(2, localAsker))).toBe('media_unknown');
});

test('since when the cloud has a picture is found of visible events only, once it is uploaded', async () => {
  const { house } = await start();
  const store = house.store as Store;
  await store.settle(
    [1, 2].map((seq) => ({ seq, lane: 'alarm' as const, verdict: 'delivered' as const, at: 5000, tries: 1 })),
  );
  const of = () => Promise.all([1, 2].map((seq) => uploadedAt(store, seq, 0)));
  expect(await of()).toEqual([undefined, undefined]);
  for (const seq of [1, 2]) await store.updateMedia([{ seq, lane: 'alarm', index: 0, at: 6000, state: 'uploaded' }]);
  expect(await of()).toEqual([5000, undefined]);
  expect([await uploadedAt(store, 1, 1), await uploadedAt(store, 3, 0)]).toEqual([undefined, undefined]);
});
