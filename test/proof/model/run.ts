import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '#sandbox/demo/processes.ts';
import { randomOf } from '../random.ts';
import type { Look, Quiet } from './box-answers.ts';
import { pictureOf } from './box-protocol.ts';
import { folder, smallDisk } from './disk.ts';
import { entriesOf, type Final, type History } from './history.ts';
import type { Stage } from './stage.ts';
import type { Plan } from './steps.ts';
import { tailOf } from './told.ts';
import { World } from './world.ts';

const mib = 1024 ** 2;
/** Rounds of minutes in which the outbox must have emptied itself on a clean line. */
const lastRounds = 150;

/** Plays a plan to its end, lets the outbox empty itself, and gives all that was seen. */
export async function play(plan: Plan, stage: Stage): Promise<History> {
  const disk = plan.disk ? smallDisk() : folder();
  const world = new World({ stage, plan, disk, random: randomOf(plan.seed + 1) });
  try {
    await stage.cloud.control('reset', { method: 'POST' });
    await world.start();
    for (const [index, step] of plan.steps.entries()) await world.step(index, step);
    await world.calm();
    // A file that could not be opened on a full disk is tried again every five seconds.
    await eventually('open files', () => world.box.ask<Look>('look'), { timeoutMs: 15_000, everyMs: 250 });
    // What the full disk did not take waits in memory and is tried again every five seconds: it is in no look before.
    const written = async () => ((await world.box.ask<Quiet>('quiet')).waitingRows === 0 ? true : undefined);
    await eventually('an empty memory', written, { timeoutMs: 30_000, everyMs: 50 });
    await world.whole();
    await drain(world);
    await world.end('stop');
    await world.start();
    await world.whole();
    const wanted = new Set(
      (await world.box.ask<Look>('look')).media.flatMap(({ file, state }) => (state === 'ready' ? [file] : [])),
    );
    const spool = () => world.files().flatMap((name) => /^spool\/(.+)$/.exec(name)?.[1] ?? []);
    // The sweep runs in the background; what it leaves is for the invariants to judge.
    const swept = () => (spool().every((name) => wanted.has(name)) ? true : undefined);
    await eventually('the sweep', swept, { timeoutMs: 10_000, everyMs: 50 }).catch(() => undefined);
    const look = await world.box.ask<Look>('look');
    const left = spool();
    await world.end('stop');
    return { seed: plan.seed, entries: world.entries, final: await finalOf({ world, look, spool: left, stage, plan }) };
  } catch (error) {
    const last = `seed ${plan.seed} came to no end: ${String(error).split('\n')[0]}`;
    throw new Error([String(error), ...tailOf(world.entries), last].join('\n'), { cause: error });
  } finally {
    await world.close();
    disk.close();
  }
}

/** Lets minutes pass, each as soon as nothing is under way, until everything was delivered or parked. */
async function drain(world: World): Promise<void> {
  for (let round = 0; round < lastRounds; round += 1) {
    await atRest(world);
    const { pending, media, parked } = await world.box.ask<Look>('look');
    const kept = new Set(parked.map(({ seq }) => seq));
    const open = media.filter(({ seq, state }) => (state === 'planned' || state === 'ready') && !kept.has(seq));
    if (pending.length + open.length === 0) return;
    // Whatever wait there is ends by itself: the longest, after a refused permission, is an hour.
    await world.skip(round < 6 ? 61_000 : 310_000);
  }
}

/** No request is under way, and for a moment none began. */
async function atRest(world: World): Promise<void> {
  const counts = () => {
    const { entries } = world;
    const life = entries.findLastIndex(({ what }) => what === 'life');
    const posts = entries.slice(life).filter(({ what }) => what === 'post').length;
    return { posts, open: posts - entries.slice(life).filter(({ what }) => what === 'posted').length };
  };
  let last = -1;
  const quiet = () => {
    const { posts, open } = counts();
    const still = open === 0 && posts === last;
    last = posts;
    return still ? true : undefined;
  };
  await eventually('the end of all requests', quiet, { timeoutMs: 30_000, everyMs: 40 });
  await pause(20);
}

async function finalOf(of: {
  world: World;
  look: Look;
  spool: readonly string[];
  stage: Stage;
  plan: Plan;
}): Promise<Final> {
  const { world, look, stage, plan } = of;
  const isOurs = ({ event_id }: { readonly event_id: string }) => !stage.past.has(event_id);
  const accepted = (await stage.cloud.events()).filter(isOurs);
  const uploads = (await stage.cloud.uploads()).filter(isOurs);
  for (const { event_id } of accepted) stage.past.add(event_id);
  const tokens = entriesOf(world, 'numbered').filter(({ media }) => media);
  return {
    accepted,
    uploads,
    ...{ pending: look.pending, parked: look.parked, known: look.known, gaps: look.gaps, media: look.media },
    anchors: look.anchors,
    spool: of.spool,
    pictures: new Map(tokens.map(({ token }) => [token, sha256(pictureOf(token))])),
    sizes: world.sizes,
    caps: {
      'site.db': 1024 * mib,
      'bulk.db': plan.bulkBytes ?? 1024 * mib,
      'site.db-wal': 32 * mib,
      'bulk.db-wal': 32 * mib,
    },
    slots: 4,
  };
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
