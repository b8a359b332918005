import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { type ManualClock, manualClock } from '#lib/clock.fake.ts';
import { Secret } from '#lib/secret.ts';
import type { ClockQuality } from '#site/model/index.ts';
import { countingHash } from '#site/users/hashing.fake.ts';
import { type ConfiguredUser, createUsers, type NewUser, type Users, type UsersOptions } from '#site/users/index.ts';

export interface Rig {
  readonly dir: string;
  readonly clock: ManualClock;
  readonly hash: ReturnType<typeof countingHash>;
  readonly metrics: Registry;
  quality: ClockQuality;
  /** The book of this folder as a start of the daemon makes it. */
  open(more?: Partial<UsersOptions>): Promise<Users>;
  /** `users.json` as text. */
  text(): string;
}

/** 2026-11-27 is a Friday; 20:00 UTC is 21:00 in Berlin. */
export function rig(): Rig {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-users-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const made: Rig = {
    dir,
    clock: manualClock(),
    hash: countingHash(),
    metrics: new Registry(),
    quality: 'synced',
    async open(more = {}) {
      made.metrics.clear();
      const users = createUsers({
        dir,
        configured: [],
        timezone: () => 'Europe/Berlin',
        clock: made.clock,
        quality: () => made.quality,
        metrics: made.metrics,
        hash: made.hash,
        ...more,
      });
      await users.start(new AbortController().signal);
      onTestFinished(() => users.stop());
      return users;
    },
    text: () => readFileSync(join(dir, 'users.json'), 'utf8'),
  };
  return made;
}

export const person = (id: string, code: string, more: Partial<NewUser> = {}): NewUser => ({
  id,
  name: `Name of ${id}`,
  role: 'user',
  code,
  ...more,
});

export const configured = (id: string, code: string, duress?: string): ConfiguredUser => ({
  id,
  name: `Name of ${id}`,
  code: new Secret(code),
  ...(duress !== undefined && { duress_code: new Secret(duress) }),
});

/** The message and code of what a promise rejects with. */
export async function refusal(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await work;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error('it was not refused');
}
