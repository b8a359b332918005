import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createAccess } from '#lan/access/index.ts';
import { systemClock } from '#lib/clock.ts';
import { never } from '#lib/wait.ts';
import { box, claim, lan, passwords } from '../access/box.ts';
import { folder } from '../access/rig.ts';
import { network } from './access-rig.ts';

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;
/** Signals are let go of once the loop has turned. */
const heapMb = async (): Promise<number> => {
  for (let turn = 0; turn < 2; turn += 1) {
    await sleep(20);
    collect();
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const home = lan(200);

it('10,000 wrong logins leave the owner his way in and grow nothing', { timeout: 120_000 }, async () => {
  const made = box();
  const access = await made.start();
  await claim(access, 'olga', 'owner', home);
  const net = network(access);
  const seen = new Map<number, number>();
  const heaps: number[] = [];
  /** From ever other addresses, at the owner's name and at names that nobody has. */
  async function flood(from: number, count: number): Promise<void> {
    for (let n = from; n < from + count; n += 1) {
      const address = `10.${n % 3}.${(n >> 8) % 256}.${n % 256}`;
      const { status } = await net.login(n % 2 === 0 ? 'olga' : `name${n}`, `wrong-${n}`, { from: address });
      seen.set(status, (seen.get(status) ?? 0) + 1);
    }
    net.texts.length = 0;
    net.log.length = 0;
    heaps.push(await heapMb());
  }
  for (let round = 0; round < 10; round += 1) {
    await flood(round * 1000, 1000);
    const owner = await net.login('olga', passwords.olga, { from: home });
    expect(owner.status).toBe(200);
    expect((await net.login('olga', passwords.olga, { from: 'here' })).status).toBe(200);
    expect((await net.post('/api/v1/access/logout', undefined, { session: owner.session })).status).toBe(200);
  }
  expect([...seen.keys()].sort()).toEqual([401, 429]);
  // From an address that nobody has seen the owner waits as he is told to, and is in: nobody is shut out for good.
  const elsewhere = lan(201);
  const early = await net.login('olga', passwords.olga, { from: elsewhere });
  expect(early.status).toBe(429);
  const waitS = Number(early.headers.get('retry-after'));
  expect(waitS).toBeLessThanOrEqual(60);
  made.clock.advance(waitS * 1000);
  expect((await net.login('olga', passwords.olga, { from: elsewhere })).status).toBe(200);
  // What is held reaches its caps in the first half.
  expect(Math.max(...heaps.slice(5)) - (heaps[4] ?? 0)).toBeLessThan(2);
  expect(made.audit.length).toBeLessThan(100);
});

it('a flood that real hashes are made for leaves the owner at another address his way in', {
  timeout: 60_000,
}, async () => {
  const access = createAccess({
    ...{ dir: folder(), clock: systemClock(), quality: () => 'synced', metrics: new Registry() },
    note: () => undefined,
  });
  await access.start(never());
  const code = access.claimCode()?.reveal() ?? '';
  const olga = { code, id: 'olga', name: 'Olga', role: 'owner', password: passwords.olga, address: home } as const;
  await access.claim(olga, never());
  const net = network(access);
  const flood = Array.from({ length: 48 }, (_, n) =>
    net.login(n % 2 === 0 ? 'olga' : `name${n}`, 'wrong', { from: lan(n) }),
  );
  const owner = await net.login('olga', passwords.olga, { from: home });
  expect(owner.status).toBe(200);
  const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
  expect([...statuses].sort()).toEqual([401, 429, 503]);
  await access.stop();
});
