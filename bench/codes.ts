import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { systemClock } from '#lib/clock.ts';
import { createUsers, type Users } from '#site/users/index.ts';
import { disarmOverMqtt } from './code-door.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';

const sizes = [1, 100, 500] as const;
const tries = 60;

/** How long the check of a code takes, right or wrong, by the number of users. */
export const codes: Measurement = {
  name: 'codes',
  title: 'Codes of users',
  about: `One code at a time against a book of ${sizes.join(', ')} users, ${tries} right ones and ${tries} that nobody has; each is one keyed
lookup and one scrypt. Then eight at once, as from eight keypads, until the last is answered. At last through the door: the daemon with
100 users and the embedded broker, from the publish of a disarm with a code to its final reply, which leaves when the disarm is on disk.`,
  async run(tell) {
    const figures: Figure[] = [];
    for (const count of sizes) {
      tell(`${count} users`);
      figures.push(...(await withUsers(count, (users) => measure(users, count))));
    }
    tell('the daemon');
    return [...figures, ...(await disarmOverMqtt())];
  },
};

const codeOf = (n: number): string => String(10_000_003 + n * 137);

async function withUsers<T>(count: number, work: (users: Users) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'siteward-codes-'));
  const users = createUsers({
    dir,
    configured: [],
    timezone: () => 'Europe/Berlin',
    clock: systemClock(),
    quality: () => 'synced',
    metrics: new Registry(),
  });
  try {
    await users.start(new AbortController().signal);
    for (let n = 0; n < count; n += 1)
      await users.add({ id: `u${n}`, name: 'Somebody', role: 'user', code: codeOf(n) }, 'bench');
    return await work(users);
  } finally {
    await users.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(users: Users, count: number): Promise<Figure[]> {
  const right: number[] = [];
  const wrong: number[] = [];
  for (let n = 0; n < tries; n += 1) {
    right.push(await timed(() => users.check(codeOf(n % count))));
    wrong.push(await timed(() => users.check(String(1000 + n))));
  }
  const eightMs = await timed(() => Promise.all(Array.from({ length: 8 }, (_, n) => users.check(codeOf(n % count)))));
  const named = (what: string) => `${count} ${count === 1 ? 'user' : 'users'}, ${what}`;
  return [
    { name: named('right code, median'), value: rounded(percentile(right, 0.5)), unit: 'ms' },
    { name: named('right code, p99'), value: rounded(percentile(right, 0.99)), unit: 'ms' },
    { name: named('wrong code, median'), value: rounded(percentile(wrong, 0.5)), unit: 'ms' },
    { name: named('eight at once, the last'), value: rounded(eightMs), unit: 'ms' },
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
