import { execFile } from 'node:child_process';
import { program } from '../harness/program.ts';

export const main = program;

export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs one command line as a child process of its own, as a user would. */
export function siteward(args: readonly string[], env: Record<string, string> = {}, input?: string): Promise<Ran> {
  return new Promise((resolve) => {
    // With the suite's compiled sources it starts in half the time.
    const { PATH, NODE_COMPILE_CACHE = '' } = process.env;
    const options = { env: { PATH, NODE_COMPILE_CACHE, ...env }, timeout: 30_000 };
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
