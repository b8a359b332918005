import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSpool, type Spool } from '#devices/media/spool.ts';

let dir: string;
let now: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-kept-'));
  now = 1_800_000_000_000;
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const hour = 3_600_000;
async function start({ keepMs = hour, budgetBytes = 1000 } = {}): Promise<Spool> {
  const spool = createSpool({ dir, budgetBytes, keepMs, wall: () => now });
  await spool.measure(await spool.open());
  return spool;
}
const place = (seq: number) => ({ seq, index: 0, lane: 'alarm' as const, kind: 'snapshot' as const });
const bytes = Buffer.alloc(400, 1);
const there = (spool: Spool, seq: number) => existsSync(spool.path(`${seq}-0.jpg`));

describe('what the cloud has', () => {
  it('goes at once unless it shall be kept', async () => {
    const spool = await start({ keepMs: 0 });
    const { file } = await spool.write(place(1), bytes);
    await spool.keep(file);
    expect([readdirSync(dir), spool.usedBytes]).toEqual([[], 0]);
  });

  it('stays until its time is over, also over a restart, and is still found under its name', async () => {
    const first = await start();
    const { file } = await first.write(place(1), bytes);
    now += 10 * hour;
    const placesThere = () => first.places(file).map((path) => existsSync(path));
    expect(placesThere()).toEqual([true, false]);
    await first.keep(file);
    expect(placesThere()).toEqual([false, true]);
    expect([readFileSync(first.path(file)), first.usedBytes, first.shownBytes]).toEqual([bytes, 400, 400]);
    const spool = await start();
    expect([readFileSync(spool.path(file)), spool.usedBytes]).toEqual([bytes, 400]);
    now += hour - 1;
    await spool.expire();
    expect(there(spool, 1)).toBe(true);
    now += 2;
    await spool.expire();
    expect([there(spool, 1), spool.usedBytes]).toEqual([false, 0]);
  });

  it('stays no longer where it comes here late, as after a restart', async () => {
    const spool = await start();
    const { file } = await spool.write(place(1), bytes);
    await spool.keep(file, now - hour + 1);
    await spool.expire();
    expect(there(spool, 1)).toBe(true);
    now += 1;
    await spool.expire();
    expect(there(spool, 1)).toBe(false);
  });

  it('is none of what waits: a start neither takes it in nor removes it', async () => {
    const first = await start();
    await first.keep((await first.write(place(1), bytes)).file);
    const spool = createSpool({ dir, budgetBytes: 1000, keepMs: hour, wall: () => now });
    const names = await spool.open();
    expect(names).toEqual([]);
    await spool.measure(names);
    expect(there(spool, 1)).toBe(true);
  });

  it('is looked at in the background of a start, whatever else lies there', async () => {
    const first = await start({ budgetBytes: 10_000 });
    for (const seq of [1, 2, 3]) await first.keep((await first.write(place(seq), bytes)).file);
    symlinkSync('nowhere', join(dir, 'kept', '0-0.jpg'));
    const spool = createSpool({ dir, budgetBytes: 10_000, keepMs: hour, wall: () => now });
    const names = await spool.open();
    expect(spool.usedBytes).toBe(0);
    const measured = spool.measure(names);
    // Of the same number as one that is not looked at yet, by another database.
    await spool.write(place(3), Buffer.from('fresh'));
    await measured;
    expect([spool.usedBytes, readFileSync(spool.path('3-0.jpg'), 'utf8')]).toEqual([805, 'fresh']);
  });

  it('gives way first, the oldest of it, and nothing that waits goes as long as that is enough', async () => {
    const spool = await start({ budgetBytes: 1300 });
    for (const seq of [1, 2]) {
      now += 1000;
      await spool.keep((await spool.write(place(seq), bytes)).file);
    }
    await spool.write(place(3), bytes);
    expect((await spool.write(place(4), bytes)).gone).toEqual([]);
    expect([1, 2, 3, 4].filter((seq) => there(spool, seq))).toEqual([2, 3, 4]);
    expect(spool.usedBytes).toBe(1200);
  });

  it('never gives way for a silent event (safety 4)', async () => {
    const spool = await start();
    for (const seq of [1, 2]) await spool.keep((await spool.write(place(seq), bytes)).file);
    await spool.write({ ...place(3), silent: true }, bytes);
    expect([1, 2, 3].filter((seq) => there(spool, seq))).toEqual([1, 2, 3]);
    expect([spool.usedBytes, spool.shownBytes]).toEqual([1200, 800]);
  });

  it('stays where a picture is refused that would not fit without it either', async () => {
    const spool = await start();
    await spool.keep((await spool.write(place(1), bytes)).file);
    await expect(spool.write(place(2), Buffer.alloc(1001))).rejects.toMatchObject({ code: 'queue_full' });
    expect(there(spool, 1)).toBe(true);
  });

  it('goes when it shall be kept no longer by new settings, whatever the clock says', async () => {
    const first = await start();
    const { file } = await first.write(place(1), bytes);
    await first.keep(file);
    utimesSync(first.path(file), now / 1000 + 999_999, now / 1000 + 999_999);
    const spool = await start({ keepMs: 0 });
    await spool.expire();
    expect(there(spool, 1)).toBe(false);
  });

  it('is forgotten with its event', async () => {
    const spool = await start();
    const { file } = await spool.write(place(1), bytes);
    await spool.keep(file);
    await spool.remove(file);
    expect([there(spool, 1), spool.usedBytes]).toEqual([false, 0]);
  });

  it('never stands for a fresh picture of the same number, given by another database', async () => {
    const first = await start();
    await first.keep((await first.write(place(1), bytes)).file);
    const spool = await start();
    const fresh = Buffer.from('fresh');
    const { file } = await spool.write(place(1), fresh);
    expect([readFileSync(spool.path(file)), spool.usedBytes]).toEqual([fresh, fresh.length]);
  });

  it('does not stay where it cannot be kept, and is not counted for ever', async () => {
    const spool = await start();
    const { file } = await spool.write(place(1), bytes);
    writeFileSync(join(dir, 'kept'), 'a file in the place of the folder');
    await spool.keep(file);
    expect([there(spool, 1), spool.usedBytes]).toEqual([false, 0]);
  });
});
