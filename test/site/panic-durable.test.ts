import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import type { CommandResult, PanicCall } from '#site/model/index.ts';
import { type Rig, startRig } from './rig.ts';

let rigs: Rig[] = [];
afterEach(async () => {
  for (const rig of rigs) await rig.remove();
  rigs = [];
});
const start = async (dir?: string) => {
  const rig = await startRig(dir === undefined ? {} : { dir });
  rigs.push(rig);
  return rig;
};

const callBy = (rig: Rig, more: Partial<PanicCall> = {}): Promise<CommandResult> =>
  new Promise((resolve) => {
    rig.controller.panic({ id: 'c1', kind: 'audible', source: 'lan', client: 'kp1', ...more }, resolve);
  });
const untilDone = async (rig: Rig, more: Partial<PanicCall>) => {
  for (let n = 0; n < 200; n += 1) {
    if ((await callBy(rig, more)).outcome === 'done') return;
    await pause(50);
  }
  throw new Error('the call was never kept');
};
const stored = async (rig: Rig, kind = 'panic') =>
  (await rig.store.events({ limit: 50 })).filter(({ event }) => event.kind === kind).length;

it('a call for help is answered when it is on disk, not before (safety 1)', async () => {
  const rig = await start();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  rig.hold = () => held;
  let told: CommandResult | undefined;
  const answer = callBy(rig).then((result) => {
    told = result;
  });
  await pause(50);
  expect(told).toBeUndefined();
  rig.hold = undefined;
  release();
  await answer;
  expect(told).toMatchObject({ outcome: 'done' });
  expect(await stored(rig)).toBe(1);
});

it.each(['audible', 'silent'] as const)(
  'an %s call that no disk takes is BUSY, as are its repeats, until it is kept; then it is done, and one event',
  async (kind) => {
    const rig = await start();
    rig.refuse = true;
    const busy = { outcome: 'failed', error: { code: 'BUSY', retryAfterS: 1 } };
    expect(await callBy(rig, { kind })).toMatchObject(busy);
    expect(await callBy(rig, { kind })).toMatchObject(busy);
    rig.refuse = false;
    await untilDone(rig, { kind });
    const numbers = rig.commits.flatMap(({ rows }) => rows.flatMap((row) => (row.lane === 'alarm' ? [row.seq] : [])));
    expect(new Set(numbers).size).toBe(1);
  },
  20_000,
);

it('a call whose commit failed before a crash comes again with its repeat, whatever else was written meanwhile', async () => {
  const first = await start();
  first.hold = async (commit) => {
    // The disk refuses the call and takes everything else, until the machine goes.
    if (commit.rows.some(({ event }) => event.kind === 'panic')) throw new Error('no sector');
  };
  expect(await callBy(first)).toMatchObject({ outcome: 'failed' });
  await first.open('1', true);
  await first.open('1', false);
  await untilDone(first, { id: 'c2', kind: 'medical' });
  expect(await callBy(first)).toMatchObject({ outcome: 'failed' });
  // A crash: what is in memory is gone.
  first.hold = () => new Promise(() => undefined);
  await first.store.stop();
  const second = await start(first.dir);
  expect(await stored(second)).toBe(0);
  expect(await callBy(second)).toMatchObject({ outcome: 'done' });
  expect(await callBy(second, { id: 'c2', kind: 'medical' })).toMatchObject({ outcome: 'done' });
  expect([await stored(second), await stored(second, 'medical')]).toEqual([1, 1]);
});

it('waits behind no command: each other id and kind has an answer of its own', async () => {
  const rig = await start();
  const [arm, audible, silent] = await Promise.all([
    rig.command({ verb: 'arm', id: 'c1', client: 'kp1', force: true, code: 'ok' }),
    callBy(rig),
    callBy(rig, { kind: 'silent' }),
  ]);
  expect([arm.outcome, audible.outcome, silent.outcome]).toEqual(['done', 'done', 'done']);
  expect(arm).toHaveProperty('seq');
  const { at: _, ...one } = audible;
  const { at: __, ...other } = silent;
  expect(one).toEqual(other);
});

it('two clients under one id are told each, and each is answered for its own call', async () => {
  const rig = await start();
  const results = await Promise.all([callBy(rig), callBy(rig, { client: 'kp2' })]);
  expect(results.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
  expect(await stored(rig)).toBe(2);
});
