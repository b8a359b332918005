import { expect, it, vi } from 'vitest';
import { createAccount } from '#devices/onvif/account.ts';
import { createAccountGuard } from '#devices/onvif/account-guard.ts';
import { accountMemory } from '#devices/onvif/account-memory.ts';
import { manualClock } from '#lib/clock.fake.ts';
import { memoryPort } from './harness.ts';

const { signal } = new AbortController();
const holdMs = 15 * 60_000;
const turn = () => new Promise((resolve) => setTimeout(resolve, 50));

function rig() {
  const clock = manualClock();
  const kept = new Map<string, string>();
  const start = (login = 'wrong') => createAccountGuard({ key: 'login/a', login, memory: memoryPort(kept), clock });
  return { clock, kept, start };
}

it('two tries are all, over a start, until another password or the hold time', async () => {
  const { clock, start } = rig();
  for (let tries = 0; tries < 2; tries += 1) {
    const guard = start();
    await guard.enter(signal, signal);
    guard.judged(false);
    await turn();
  }
  const guard = start();
  await expect(guard.enter(signal, signal)).rejects.toMatchObject({
    code: 'camera_auth',
    message: expect.stringMatching(/^The speaker does not let siteward in.*Correct username and password$/),
  });
  await expect(start('right').enter(signal, signal)).resolves.toBeUndefined();
  clock.advance(holdMs);
  await expect(start().enter(signal, signal)).resolves.toBeUndefined();
});

it('one at a time: the next waits for the verdict, or for the end of the connection, which is no refusal', async () => {
  const { kept, start } = rig();
  const guard = start();
  const over = new AbortController();
  await guard.enter(signal, over.signal);
  expect([...kept.keys()]).toEqual(['login/a']);
  let isIn = false;
  const next = guard.enter(signal, signal).then(() => {
    isIn = true;
  });
  await turn();
  expect(isIn).toBe(false);
  over.abort();
  await next;
  guard.judged(true);
  await vi.waitUntil(() => kept.get('login/a')?.includes('"taken":true'), { timeout: 10_000 });
  expect(JSON.parse(kept.get('login/a') ?? '')).not.toHaveProperty('counts');
});

it('what an earlier version wrote of cameras counts on', async () => {
  const { clock, kept } = rig();
  const open = () => {
    const account = createAccount(clock, holdMs);
    const place = { key: 'onvif/login/yard', memory: memoryPort(kept) };
    return { account, memory: accountMemory({ ...{ account, clock, holdMs }, login: 'wrong', kept: place }) };
  };
  const before = open();
  before.account.refused('streams');
  before.account.refused('streams');
  await before.memory.keep();
  const { counts, ...rest } = JSON.parse(kept.get('onvif/login/yard') ?? '{}');
  const { speaker: _, ...older } = counts;
  kept.set('onvif/login/yard', JSON.stringify({ ...rest, counts: older }));
  const after = open();
  await after.memory.recall();
  expect(() => after.account.check('streams')).toThrow('Correct username and password');
});
