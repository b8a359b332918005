import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AccessBook, KeptPerson } from '#lan/access/book.ts';
import type { Derive, KeptPassword } from '#lan/access/password-hash.ts';
import type { Role } from '#lan/access/permissions.ts';

export const folder = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-access-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

export const text = (dir: string): string => readFileSync(join(dir, 'access.json'), 'utf8');

/** As sure as scrypt for a test, without its time; counts its calls. `meanwhile` is done once, during the next. */
export function countingDerive(): Derive & { calls: number; meanwhile: (() => Promise<unknown>) | undefined } {
  const derive = async (password: string, salt: Uint8Array): Promise<Buffer> => {
    counting.calls += 1;
    const { meanwhile } = counting;
    counting.meanwhile = undefined;
    await meanwhile?.();
    return createHash('sha256').update(password).update(salt).digest();
  };
  const counting = Object.assign(derive, { calls: 0, meanwhile: undefined as (() => Promise<unknown>) | undefined });
  return counting;
}

export const somePassword: KeptPassword = { salt: 'B'.repeat(22), hash: `${'B'.repeat(42)}A` };

export const kept = (id: string, role: Role, more: Partial<KeptPerson> = {}): KeptPerson => ({
  id,
  name: `Name of ${id}`,
  role,
  createdAt: '2026-11-27T20:00:00.000Z',
  createdBy: 'claim',
  password: somePassword,
  acceptedAt: '2026-11-27T20:00:00.000Z',
  ...more,
});

export const bookOf = (people: readonly KeptPerson[], more: Partial<AccessBook> = {}): AccessBook => ({
  version: 1,
  ...(people.length === 0 && { claim: '01ABCD10' }),
  people,
  keys: [],
  ...more,
});

/** The code, field and message of what is thrown or rejected. */
export async function refusal(work: () => unknown): Promise<{ code: string; message: string; field: unknown }> {
  try {
    await work();
  } catch (error) {
    const { code, message, facts } = error as { code: string; message: string; facts: { field?: unknown } };
    return { code, message, field: facts?.field };
  }
  throw new Error('it was not refused');
}
