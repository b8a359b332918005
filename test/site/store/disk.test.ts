import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { commitOf, row, startStore } from './helpers.ts';

/** A file system of its own in memory, small enough to be filled; needs root, as CI has. */
let mount: string;

beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), 'siteward-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', mount]);
});

afterEach(() => {
  execFileSync('umount', ['--lazy', mount]);
  rmSync(mount, { recursive: true });
});

function fill(): void {
  for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
    try {
      while (statfsSync(mount).bavail > 0) appendFileSync(join(mount, 'filler'), Buffer.alloc(size));
    } catch {
      // Full for this size: the next smaller one.
    }
  }
}

describe('a full disk', () => {
  it('never lets two lives hand out the same ids, when no number can be set aside on it', async () => {
    const dir = join(mount, 'state');
    mkdirSync(dir, { mode: 0o700 });
    const first = await startStore(dir);
    await first.commit(commitOf([row(first.recovery().nextSeq)]));
    await first.stop();
    fill();
    const lives: string[] = [];
    for (let life = 0; life < 3; life += 1) {
      const store = await startStore(dir);
      const { storeId, epoch, nextSeq } = store.recovery();
      lives.push(`${storeId}/${epoch}/${nextSeq}`);
      await store.stop();
    }
    expect(new Set(lives).size).toBe(3);
  });
});

describe('a state directory that turned read-only', () => {
  it('does not keep siteward from starting: the store says so, and its numbers are new', async () => {
    const dir = join(mount, 'state');
    mkdirSync(dir, { mode: 0o700 });
    const first = await startStore(dir);
    await first.commit(commitOf([row(first.recovery().nextSeq)]));
    const former = first.recovery();
    await first.stop();
    execFileSync('mount', ['-o', 'remount,ro', mount]);
    const second = await startStore(dir);
    expect(second.health()).toMatchObject({ state: 'down' });
    expect(second.recovery().storeId).not.toBe(former.storeId);
    expect(second.recovery()).toMatchObject({ lost: true, state: undefined });
    await expect(second.commit(commitOf([row(second.recovery().nextSeq)]))).rejects.toMatchObject({
      code: expect.stringMatching(/^store_/),
    });
    await second.stop();
  });
});
