import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { atEnd, until } from './helpers.ts';
import { isRoot, smallDisk } from './small-disk.ts';

describe.skipIf(!isRoot)('a disk that others fill while the store writes', () => {
  it('does not end the process: no part of a database lies in memory that the disk has to back', async () => {
    const small = smallDisk('ext4', 24);
    const child = spawn(process.execPath, [join(import.meta.dirname, 'writing-child.ts'), small.dir], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let ended: string | undefined;
    child.once('exit', (code, signal) => {
      ended = signal ?? `code ${code}`;
    });
    const exit = new Promise((resolve) => child.once('close', resolve));
    atEnd(() => {
      child.kill('SIGKILL');
      return exit;
    });
    let answers = 0;
    createInterface({ input: child.stdout }).on('line', () => {
      answers += 1;
    });
    const more = async (count: number) => {
      const before = answers;
      await until(() => ended !== undefined || answers >= before + count);
    };
    await more(1);
    small.fill();
    child.stdin.write('go\n');
    await more(20);
    for (let round = 0; round < 4 && ended === undefined; round += 1) {
      small.fill();
      await more(60);
      small.free();
      await more(3);
    }
    expect(ended).toBeUndefined();
    expect(existsSync(join(small.dir, 'site.db-shm'))).toBe(false);
  }, 60_000);
});
