import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isMissing, systemCode, unlessMissing } from '#lib/system-code.ts';

const here = import.meta.dirname;

describe('what the system calls a failure', () => {
  it('is its code; an error of another kind has none', async () => {
    expect(systemCode(await readFile(here).catch((error: unknown) => error))).toBe('EISDIR');
    expect([new Error('no'), new DOMException('gone', 'AbortError'), 'ENOENT', undefined].map(systemCode)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('tells what is not there from what cannot be had', async () => {
    const missing = join(here, 'no-such-file');
    expect(isMissing(await access(missing).catch((error: unknown) => error))).toBe(true);
    expect(await readFile(missing).catch(unlessMissing)).toBe(undefined);
    await expect(readFile(here).catch(unlessMissing)).rejects.toThrow('EISDIR');
  });
});
