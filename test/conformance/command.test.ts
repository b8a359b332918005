import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#sandbox/demo/processes.ts';

const root = join(import.meta.dirname, '..', '..');

/** The command as a user runs it; `code` is its exit status. */
function conformance(...args: string[]): Promise<{ readonly code: number | string; readonly out: string }> {
  const env = { PATH: process.env.PATH };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, 'tools', 'conformance.ts'), ...args], { cwd: root, env }, (error, out) =>
      resolve({ code: error?.code ?? 0, out }),
    );
  });
}

test('a service that is not there does not conform', async () => {
  const { code, out } = await conformance('--base-url', `http://127.0.0.1:${await freePort()}`, '--only', 'F');
  expect(out).toContain('nothing answers at');
  expect(out).toContain('0 passed, 0 failed');
  expect(code).toBe(1);
});
