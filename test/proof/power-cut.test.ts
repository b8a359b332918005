import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFailed } from 'vitest';
import { createSpool } from '#devices/media/spool.ts';
import { sweep } from '#devices/media/sweep.ts';
import type { MediaOutcome } from '#site/model/index.ts';
import type { Recovery, Store } from '#site/store/index.ts';
import { noPowerCut, type PowerCutDisk, powerCutDisk } from '../harness/power-cut.ts';
import { startStore } from '../site/store/helpers.ts';
import { buildWriters } from './durable/build.ts';
import { type Broken, brokenIn, createPromises, type Promises } from './durable/record.ts';
import { startWriters } from './durable/run.ts';
import { type Random, randomOf } from './random.ts';

/** The power fails at random moments while several writers are promised that what they wrote is on disk. */
const rounds = 30;
/** Enough for the control to show that the rounds can fail; one is nearly always. */
const controlRounds = 4;
/** Seeds that once failed. They are run again with fewer rounds each. */
const failedSeeds: readonly number[] = [];

const why = noPowerCut();
const skipped = why === undefined ? '' : ` (skipped: ${why})`;

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

interface Cuts {
  readonly promises: Promises;
  readonly broken: readonly Broken[];
  /** `isAbove`: the next number is above all that were promised. */
  readonly recoveries: readonly (Pick<Recovery, 'epoch' | 'lost'> & { readonly isAbove: boolean })[];
  /** After the sweep: rows that still wait for a file, and files that are of no row and are not known as such. */
  readonly astray: readonly string[];
}

/** Rounds of writing, cut, mount and recovery on one disk; stops early when `until` says so. */
async function cutPower(options: {
  weak: boolean;
  rounds: number;
  random: Random;
  until?: (broken: Broken) => boolean;
}): Promise<Cuts> {
  const { random } = options;
  const disk: PowerCutDisk = powerCutDisk({ mib: 128 });
  cleanups.push(disk.remove);
  const program = await buildWriters(options);
  cleanups.push(program.remove);
  const promises = createPromises();
  const broken: Broken[] = [];
  const recoveries: Cuts['recoveries'][number][] = [];
  const astray: string[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    await oneCut({ disk, path: program.path, random, promises });
    // The daemon's own recovery, then a look at the files behind its back.
    const store = await startStore(disk.dir);
    const { epoch, lost, nextSeq } = store.recovery();
    recoveries.push({ epoch, lost, isAbove: nextSeq > Math.max(0, ...promises.events.keys()) });
    astray.push(...(await sweptAstray(store, join(disk.dir, 'spool'))));
    await store.stop();
    const found = brokenIn(disk.dir, promises);
    broken.push(found);
    if (options.until?.(found) === true) break;
  }
  return { promises, broken, recoveries, astray };
}

/** Sweeps the spool as a start does. */
async function sweptAstray(store: Store, dir: string): Promise<string[]> {
  const spool = createSpool({ dir, budgetBytes: 64 * 1024 ** 2, keepMs: 0, wall: Date.now });
  const names = await spool.open();
  await spool.measure(names);
  const table = {
    update: (outcomes: readonly MediaOutcome[]) => store.updateMedia(outcomes),
    list: (states: readonly ('planned' | 'ready')[], limit: number) => store.media(states, limit),
    isWhole: () => true,
    uploadedAt: async () => undefined,
  };
  const orphans = await sweep({
    ...{ spool, table, names, wall: Date.now, signal: new AbortController().signal },
    record: (outcome) => store.updateMedia([outcome]),
    retake: () => false,
    onReady: () => undefined,
  });
  const planned = (await store.media(['planned'], 1000)).map(({ seq, index }) => `${seq}-${index} waits`);
  const ready = new Set((await store.media(['ready'], 10_000)).map(({ file }) => file));
  const files = (await spool.open()).filter((name) => !ready.has(name) && !orphans.includes(name));
  return [...planned, ...files];
}

async function oneCut(options: {
  disk: PowerCutDisk;
  path: string;
  random: Random;
  promises: Promises;
}): Promise<void> {
  const { disk, random } = options;
  // Slow writers show a missing sync best: fast ones make the log overflow all the time, which syncs.
  const writers = startWriters([process.execPath, options.path, disk.dir, String(random.whole(2, 12))]);
  let heard = 0;
  try {
    await writers.promised(1);
    await pause(random.between(20, 900));
    heard = writers.said.length;
    disk.cut();
  } finally {
    options.promises.add(await writers.kill(), heard);
  }
  disk.restore();
}

const lost = (broken: readonly Broken[]): number => broken.at(-1)?.events.length ?? 0;

describe.skipIf(why !== undefined)(`a power cut${skipped}`, () => {
  it.each([{ seed: undefined, count: rounds, of: 'a new seed' }, ...failedSeeds.map((seed) => ({ seed, count: 5 }))])(
    'at $count random moments loses no promised event, verdict or picture, and no number is given twice ($of)',
    {
      timeout: 180_000,
    },
    async ({ seed, count }) => {
      const random = randomOf(seed);
      onTestFailed(() => void process.stderr.write(`repeat with SITEWARD_SEED=${random.seed}\n`));
      const { promises, broken, recoveries, astray } = await cutPower({ weak: false, rounds: count, random });
      const { events, settled, pictures, twice, failures } = promises;
      process.stdout.write(
        `seed ${random.seed}: ${broken.length} power cuts, ${events.size} events, ${settled.length} verdicts and ` +
          `${pictures.length} pictures promised, ${lost(broken)} events lost, ${failures} writes failed\n`,
      );
      const whole: Broken = { events: [], settled: [], pictures: [], doubled: [], dangling: [] };
      expect(broken).toEqual(broken.map(() => whole));
      expect(recoveries).toEqual(recoveries.map(() => ({ epoch: 1, lost: false, isAbove: true })));
      expect(twice).toEqual([]);
      expect(astray).toEqual([]);
      expect(events.size).toBeGreaterThan(count * 10);
      expect(pictures.length).toBeGreaterThan(count / 2);
    },
  );

  it('loses promised events as soon as the store does not sync each commit, so that the rounds above can fail', {
    timeout: 60_000,
  }, async () => {
    const random = randomOf();
    const { promises, broken } = await cutPower({
      ...{ weak: true, rounds: controlRounds, random },
      until: ({ events }) => events.length > 0,
    });
    process.stdout.write(
      `seed ${random.seed}: weakened, ${broken.length} power cuts, ${promises.events.size} events promised, ${lost(broken)} lost\n`,
    );
    expect(lost(broken)).toBeGreaterThan(0);
  });
});
