import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claimStateDir, runningDaemon } from '#box/lock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const lock = new URL('../../src/box/lock.ts', import.meta.url).pathname;

test('a state directory belongs to one living process at a time', async () => {
  const script = `import { claimStateDir, runningDaemon } from '${lock}'; claimStateDir(process.argv[1]); console.log('claimed'); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', script, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(other.stdout, 'data');
    expect(() => claimStateDir(dir)).toThrow(`in use by another siteward (process ${other.pid})`);
  } finally {
    other.kill('SIGKILL');
    await once(other, 'exit');
  }
  claimStateDir(dir);
  expect(JSON.parse(readFileSync(join(dir, 'siteward.pid'), 'utf8'))).toMatchObject({ pid: process.pid });
});

/** In a container the sandbox of the unit shows the boot id of the host, and everybody else that of the container. */
test.skipIf(process.getuid?.() !== 0)('a process that sees another boot id is seen by root all the same', async () => {
  writeFileSync(join(dir, 'boot'), '11111111-2222-4333-8444-555555555555\n');
  const script = `import { claimStateDir } from '${lock}'; claimStateDir(process.argv[1]); console.log('claimed'); setInterval(() => {}, 1000);`;
  const start = 'mount --bind "$1/boot" /proc/sys/kernel/random/boot_id && exec "$2" --input-type=module -e "$3" "$1"';
  const other = spawn('unshare', ['--mount', 'sh', '-c', start, 'sh', dir, process.execPath, script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(other.stdout, 'data');
    expect(readFileSync(join(dir, 'siteward.pid'), 'utf8')).toContain('11111111-2222');
    expect(runningDaemon(dir)).toBe(other.pid);
  } finally {
    other.kill('SIGKILL');
    await once(other, 'exit');
  }
  expect(runningDaemon(dir)).toBeUndefined();
});

test('the note of another boot, of a process id given again, or half of one is nobody', () => {
  for (const note of [JSON.stringify({ pid: 1, start: 'another boot 1' }), '{"pid":1', '']) {
    writeFileSync(join(dir, 'siteward.pid'), note);
    claimStateDir(dir);
    expect(JSON.parse(readFileSync(join(dir, 'siteward.pid'), 'utf8'))).toMatchObject({ pid: process.pid });
  }
});

test('a directory that is not there yet is made', () => {
  claimStateDir(join(dir, 'deep', 'state'));
  expect(readFileSync(join(dir, 'deep', 'state', 'siteward.pid'), 'utf8')).toContain(String(process.pid));
});
