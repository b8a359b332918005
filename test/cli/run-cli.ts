import { execFile } from 'node:child_process';
import { join } from 'node:path';

export const main = join(import.meta.dirname, '../../src/cli/main.ts');

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs one command line as a child process of its own, as a user would. */
export function siteward(args: readonly string[], env: Record<string, string> = {}, input?: string): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env }, timeout: 30_000 };
    const child = execFile(process.execPath, [main, ...args], options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, out, err });
    });
    // One that ends without reading is no failure of the test.
    child.stdin?.on('error', () => {});
    if (input !== undefined) child.stdin?.end(input);
  });
}

/** What `camera add` and `camera replace` say when all goes well. */
export const askedOnly = /^asking \S+ what it is\n(\S+ has not told .*\n)*$/;
