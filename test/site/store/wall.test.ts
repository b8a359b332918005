import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Files } from '#site/store/files.ts';
import { defaultLimits } from '#site/store/index.ts';
import { readSide } from '#site/store/side.ts';
import { wireCommit } from '#site/store/wire.ts';
import { commitOf, row, temporaryDir } from './helpers.ts';

const dayMs = 86_400_000;
const now = 1_900_000_000_000;

function opened(dir: string, wall: () => number): Files {
  const limits = { ...defaultLimits, alarmCopy: 'off' as const };
  const data = { dir, bootId: 'boot-1', limits, sent: new Int32Array(1) };
  const files = new Files({ data, note: () => {}, wall });
  files.open();
  return files;
}

describe('the wall clock of the store', () => {
  it('stamps the record of what is missing', () => {
    const dir = temporaryDir();
    const first = opened(dir, () => now);
    const site = first.site();
    if (site === undefined) throw new Error('site.db is not open');
    const rows = wireCommit(commitOf([row(1), row(2)]), 1).site ?? [];
    first.transactions.durably(site, () => site.outbox.insert(rows));
    first.close(2);
    rmSync(join(dir, 'site.db'));
    // It has stepped back by a day.
    const second = opened(dir, () => now - dayMs);
    expect(second.site()?.reader.gaps({ limit: 10, unreported: true, withSilent: true })).toMatchObject([
      { count: 2, why: 'damage', at: now - dayMs },
    ]);
    second.close(2);
  });

  it('gives the epoch when the side file cannot be read', () => {
    const dir = temporaryDir();
    writeFileSync(join(dir, 'epoch.json'), 'torn');
    expect(readSide(dir, () => 20_000 * dayMs + 1)?.epoch).toBe(20_000);
  });
});
