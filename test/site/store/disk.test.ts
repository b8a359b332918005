import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitOf, row, startStore } from './helpers.ts';
import { smallDisk } from './small-disk.ts';

describe('a full disk', () => {
  it('never lets two lives hand out the same ids, when no number can be set aside on it', async () => {
    const { dir, fill } = smallDisk('tmpfs', 4);
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
    const { dir } = smallDisk('tmpfs', 4);
    const first = await startStore(dir);
    await first.commit(commitOf([row(first.recovery().nextSeq)]));
    const former = first.recovery();
    await first.stop();
    execFileSync('mount', ['-o', 'remount,ro', dirname(dir)]);
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
