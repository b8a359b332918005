import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSpool, type Place, type Spool } from '#devices/media/spool.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-spool-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function start(budgetBytes: number, keepMs = 0): Promise<Spool> {
  const spool = createSpool({ dir, budgetBytes, keepMs, wall: Date.now });
  await spool.measure(await spool.open());
  return spool;
}
const of = (seq: number, kind: Place['kind'] = 'snapshot'): Place => ({ seq, index: 0, lane: 'alarm', kind });

describe('a budget used up by clips that wait', () => {
  async function full(): Promise<Spool> {
    const spool = await start(1000);
    for (let seq = 1; seq <= 10; seq += 1) await spool.take(of(seq, 'short_mp4'), (part) => writeFile(part, clip));
    return spool;
  }
  const clip = new Uint8Array(100);

  it('makes room for each once, also where the first of two is not in its place yet', async () => {
    const spool = await full();
    const [large, small] = await Promise.all([
      spool.write(of(20), new Uint8Array(500)),
      spool.write(of(21), new Uint8Array(10)),
    ]);
    expect([large.gone.length, small.gone.length]).toEqual([5, 1]);
    expect([spool.usedBytes, spool.shownBytes]).toEqual([910, 910]);
    expect(readdirSync(dir)).toHaveLength(6);
  });

  it('has room for a picture while a clip that takes all others’ place is not in its own yet', async () => {
    const spool = await full();
    const place = { ...of(20), lane: 'activity' as const };
    const [all, later] = await Promise.allSettled([
      spool.write(of(21), new Uint8Array(950)),
      spool.write(place, new Uint8Array(50)),
    ]);
    expect([all.status, later.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(spool.usedBytes).toBe(1000);
  });

  it('counts one that goes, or was uploaded, while it gives way only once', async () => {
    const spool = await full();
    await Promise.all([spool.write(of(20), new Uint8Array(200)), spool.remove('1-0.mp4'), spool.keep('2-0.mp4')]);
    expect([spool.usedBytes, spool.shownBytes]).toEqual([1000, 1000]);
  });

  it('is as it was where the picture cannot be put in its place', async () => {
    const spool = await full();
    mkdirSync(join(dir, '20-0.jpg'));
    await expect(spool.write(of(20), new Uint8Array(300))).rejects.toThrow();
    expect([spool.usedBytes, spool.shownBytes]).toEqual([1000, 1000]);
    const { gone } = await spool.write(of(21), new Uint8Array(100));
    expect(gone).toMatchObject([{ file: '1-0.mp4' }]);
  });
});

describe('a file that is kept and forgotten at once', () => {
  it.each<[string, (spool: Spool) => Promise<unknown>]>([
    ['kept first', (spool) => Promise.all([spool.keep('1-0.jpg'), spool.remove('1-0.jpg')])],
    ['forgotten first', (spool) => Promise.all([spool.remove('1-0.jpg'), spool.keep('1-0.jpg')])],
  ])('%s goes, and counts once', async (_what, both) => {
    const spool = await start(1000, 60_000);
    await spool.write(of(1), new Uint8Array(100));
    await spool.write(of(2), new Uint8Array(300));
    await both(spool);
    expect([spool.usedBytes, spool.shownBytes]).toEqual([300, 300]);
    expect(existsSync(join(dir, 'kept', '1-0.jpg'))).toBe(false);
  });
});
