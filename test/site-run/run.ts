import { copyFileSync, createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { StatusDocument } from '#lan/http/index.ts';
import type { Plant } from '#sandbox/demo/line.ts';
import { eventually, freePort } from '#sandbox/demo/processes.ts';
import { inUnit } from '../../bench/site.ts';
import { diskFiller } from '../harness/disk-filler.ts';
import { noPowerCut, powerCutDisk } from '../harness/power-cut.ts';
import { outboxIsEmpty } from '../proof/outbox.ts';
import { type Random, randomOf } from '../proof/random.ts';
import { type Faults, startFaults } from './faults.ts';
import type { Bounds, Sample } from './flat.ts';
import type { Answered, Deed, Fault, History } from './history.ts';
import { type Evidence, judge, type Verdict } from './judge.ts';
import { kiosk, untilOnSite } from './kiosk.ts';
import { deed, everybody, type Life, type Quarter } from './people.ts';
import { openSides } from './sides.ts';
import { collectTrail } from './trail.ts';
import { answersOf, openPlatform } from './verifications.ts';
import { boundsOf, watchDaemon } from './watch.ts';
import { witness } from './witness.ts';
import { startWorld, type World } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  readonly minutes: number;
  /** The daemon's program. */
  readonly program: string;
  /** A defect of the line to the cloud, to see that it is found. */
  readonly plant?: Plant;
  /**
   * For a long run: the daemon is watched, runs with the flags of its unit, is ended in the first sixtieth only, what goes wrong for one partition does not end its life, and what it keeps is
   * bounded so that the bounds are soon reached.
   */
  readonly soak?: boolean;
  /** What the daemon is started under. */
  readonly under?: readonly string[];
  /** A folder for the daemon's log and, at the end, for all the verdict rests on. */
  readonly folder: string;
  /** Told how it goes. */
  readonly tell: (text: string) => void;
}

export interface Run {
  readonly seed: number;
  readonly broker: 'mosquitto' | 'embedded';
  /** Why there were no full disk and no power cut; undefined where there were. */
  readonly withoutDisk: string | undefined;
  readonly seconds: number;
  readonly history: History;
  readonly evidence: Evidence;
  readonly verdict: Verdict;
  /** Of a soak. */
  readonly samples: readonly Sample[];
  readonly bounds: Bounds;
}

const settleMs = 300_000;
/** A camera that waits after failures is heard late on a slow box. */
const slowPatienceMs = 400_000;
/**
 * Of its unit; `media` and the disk are small, so that both are used up soon. What the disk holds is history until little room is left; arming records and the audit log, which give way to their own bounds only,
 * take the place of history then and must find enough of it.
 */
const soaking = {
  diskMib: (minutes: number) => (minutes < 60 ? 24 : 96),
  media: ', budget: 2MB, keep: 30d',
  picturesMib: 2e6 / 1024 ** 2,
} as const;

/** The flags and the environment of the unit, of which the bundle's own cache is none of a soak's. */
function asInUnit(): { nodeFlags: readonly string[]; env: Readonly<Record<string, string>> } {
  const { flags, environment } = inUnit('');
  const { NODE_COMPILE_CACHE: _, ...env } = environment;
  return { nodeFlags: flags, env };
}

/** The certificate of the line is good for a month. */
const daysAtMost = 25;

/** A day of life at the whole site, or as many as fit into the minutes, and what is wrong with its record afterwards. */
export async function runSite(options: RunOptions): Promise<Run> {
  const { seed, tell, soak = false } = options;
  const random = randomOf(seed);
  const broker = seed % 2 === 0 ? 'mosquitto' : 'embedded';
  const began = performance.now();
  const { folder } = options;
  const log = createWriteStream(join(folder, 'siteward.log'));
  const withoutDisk = noPowerCut();
  const disk =
    withoutDisk === undefined ? powerCutDisk({ mib: soak ? soaking.diskMib(options.minutes) : 96 }) : undefined;
  const ends: (() => Promise<unknown> | unknown)[] = [() => log.end(), () => disk?.remove()];
  try {
    const httpPort = await freePort();
    const world = await startWorld({
      ...{ program: options.program, broker, httpPort, clockFolder: folder },
      ...(disk !== undefined && { stateDir: disk.dir }),
      ...(options.plant !== undefined && { plant: options.plant }),
      ...(options.under !== undefined && { under: options.under }),
      ...(soak && { media: soaking.media, ...asInUnit(), keepsSubscriptions: true }),
      startsAt: Date.now() + untilOnSite(Date.now(), 13, 0),
      onLog: (line) => void log.write(`${line}\n`),
    });
    ends.push(world.close);
    copyFileSync(world.site.config, join(folder, 'siteward.yaml'));
    const history = openHistory(world);
    const sides = await openSides(world, { httpPort });
    ends.push(sides.close);
    let faults: Faults | undefined;
    let endsUntil = Number.POSITIVE_INFINITY;
    const platform = await openPlatform(world.site, broker === 'embedded', world.now);
    ends.push(platform.close);
    const life: Life = {
      ...{ world, sides, random, note: history.deed },
      verify: async () => history.answer(await platform.verify(random)),
      witness: witness(
        world.site,
        () => faults?.diskIsFull() === true || performance.now() > endsUntil,
        options.under === undefined ? undefined : slowPatienceMs,
      ),
    };
    await everythingIsClosed(life);
    tell(`the site is up with ${broker}: 16 cameras, a recorder of 8 channels, 2 panels, 7 sensors, 4 speakers`);

    if (soak) endsUntil = performance.now() + options.minutes * 1000;
    const full = disk === undefined ? undefined : diskFiller(disk.mount);
    faults = startFaults({
      ...{ world, random, disk, fill: full?.fill, free: full?.free ?? (() => undefined) },
      restMs: [1500, 4000],
      note: history.fault,
      endsUntil,
    });
    const { quietly } = faults;
    async function passUntil(hour: number, minute: number): Promise<void> {
      const from = Date.now();
      await world.passTime(untilOnSite(world.now(), hour, minute));
      history.fault({ what: 'time passes', from, to: Date.now() });
    }
    const until = performance.now() + options.minutes * 60_000;
    const quarters = [
      ...everybody(life),
      kiosk(life, { quietly, passUntil, dayMs: Math.max(12_000, (options.minutes * 60_000) / daysAtMost) }),
    ];
    const lives = quarters.map((quarter) => live(quarter, { until, history, goesOn: soak, tell }));
    const passing = passersBy(world, random, until);
    const trail = collectTrail(world.site, faults.diskIsFull);
    const watching = soak ? watchAlong(world, options) : undefined;
    const telling = tellAlong({ world, history: history.told(), until, tell });
    await Promise.race([Promise.all([...lives, passing]), faults.failed]);
    await telling;
    const samples = (await watching?.stop()) ?? [];
    await faults.stop();
    tell('all faults are over; waiting until nothing waits any more');
    // What is seen from now on may not have arrived when the record is read.
    const seen = [...world.site.lan.events];
    await outboxIsEmpty(world.site, { timeoutMs: settleMs }).catch((error: unknown) => history.unseen(String(error)));
    await trail.stop();
    await eventually('every answer is recorded', () => allRecorded(world, history.told()), {
      timeoutMs: settleMs,
    }).catch((error: unknown) => history.unseen(String(error)));

    const evidence: Evidence = {
      record: await world.site.cloud.events(),
      uploads: await world.site.cloud.uploads(),
      seen,
      steps: world.clockSteps,
      answers: await answersOf(world.site.cloud),
      trail: trail.with(await world.site.history()),
      gaveWay: trail.gaveWay,
    };
    const verdict = judge(history.told(), evidence);
    const seconds = Math.round((performance.now() - began) / 1000);
    const kept = {
      history: history.told(),
      ...evidence,
      answers: [...evidence.answers],
      gaveWay: [...evidence.gaveWay],
      verdict,
      samples,
    };
    for (const [name, value] of Object.entries(kept))
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(value, undefined, 1));
    const bounds = disk === undefined ? {} : boundsOf(disk.mount, soaking.picturesMib);
    return { seed, broker, withoutDisk, seconds, history: history.told(), evidence, verdict, samples, bounds };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

function openHistory(world: World) {
  const deeds: Deed[] = [];
  const faults: Fault[] = [];
  const unseen: string[] = [];
  const answers: Answered[] = [];
  return {
    deed: (one: Deed) => void deeds.push(one),
    fault: (one: Fault) => void faults.push(one),
    answer: (one: Answered) => void answers.push(one),
    unseen: (text: string) => void unseen.push(text),
    told: (): History => ({ deeds, faults, unseen, answers, orders: world.orders }),
  };
}

async function allRecorded(world: World, { answers }: History): Promise<true | undefined> {
  const recorded = await answersOf(world.site.cloud);
  return answers.every(({ verification_id: id }) => (recorded.get(id) ?? null) !== null) ? true : undefined;
}

/** What every device says when it is switched on. */
async function everythingIsClosed(life: Life): Promise<void> {
  const { world } = life;
  const sensors = [
    'shop_door',
    'shop_window',
    'shop_smoke',
    'office_door',
    'office_window',
    'office_water',
    'kiosk_hatch',
  ];
  const say = () => {
    for (const name of sensors) world.sensors.close(name);
    for (const number of [1, 2]) world.channel(number, false);
  };
  const known = async () => {
    say();
    const { zones, partitions } = (await world.site.api('/api/v1/status')) as StatusDocument;
    return zones.unknown.length === 0 && partitions.every(({ state }) => state === 'disarmed') ? true : undefined;
  };
  await eventually('every zone and partition is known', known, { timeoutMs: 90_000, everyMs: 1000 });
  const about = { by: 'panel', what: 'switched on', expects: ['arming disarmed active -'] } as const;
  for (const partition of ['p4', 'p5']) await deed(life, { partition, ...about }, () => undefined);
}

async function live(
  quarter: Quarter,
  of: { until: number; history: ReturnType<typeof openHistory>; goesOn: boolean; tell: RunOptions['tell'] },
): Promise<void> {
  const { until, history, goesOn, tell } = of;
  let isOver = false;
  do {
    try {
      await quarter.round();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      history.unseen(text);
      tell(`never seen: ${text}`);
      isOver = !goesOn;
    }
  } while (!isOver && performance.now() < until);
}

/** Cameras that watch no zone see somebody now and then. */
async function passersBy(world: World, random: Random, until: number): Promise<void> {
  const passed = [...world.cameras].slice(0, 12);
  while (performance.now() < until) {
    const [, camera] = random.pick(passed);
    camera.person(true);
    await pause(random.between(50, 400));
    camera.person(false);
    await pause(random.between(50, 400));
  }
}

async function tellAlong(of: {
  world: World;
  history: History;
  until: number;
  tell: (text: string) => void;
}): Promise<void> {
  while (performance.now() < of.until) {
    await pause(Math.min(15_000, Math.max(0, of.until - performance.now())));
    const { deeds, faults } = of.history;
    const clock = new Date(of.world.now()).toISOString().slice(5, 16).replace('T', ' ');
    const last = faults.at(-1)?.what ?? 'nothing yet';
    of.tell(
      `${clock} UTC there: ${deeds.length} deeds, ${of.world.site.lan.events.length} events seen, ${faults.length} faults, last ${last}`,
    );
  }
}

/** A sample every 5 s, and of a short run 200 in all; one a minute is told. */
function watchAlong({ site }: World, { minutes, tell }: RunOptions) {
  const everyMs = Math.min(5000, Math.max(200, minutes * 300));
  let toldAt = Number.NEGATIVE_INFINITY;
  return watchDaemon({
    ...{ site, everyMs },
    onSample({ at, pid, values }) {
      if (at - toldAt < 60) return;
      toldAt = at;
      const text = Object.entries(values).map(
        ([name, value]) => `${name} ${(value ?? 0).toFixed(1).replace(/\.0$/, '')}`,
      );
      tell(`siteward, process ${pid}: ${text.join(', ')}`);
    },
  });
}
