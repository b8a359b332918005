import { audioCategories } from '#site/model/index.ts';
import type { AlarmMark, PlayRequest } from '../../../../../src/devices/audio/engine/index.ts';
import { type Random, randomOf } from '../../../../proof/random.ts';
import { request } from '../rig.ts';
import { Checker } from './checker.ts';
import { type Core, core, World } from './world.ts';

/** One random life of a site's speakers: what broke, and what it has seen. */
export interface Outcome {
  readonly broken: readonly string[];
  readonly steps: number;
  readonly seen: ReadonlyMap<string, number>;
}

type Action = (world: World, random: Random, nth: number) => void;

function alarmOf(random: Random): AlarmMark {
  const id = random.pick(['i1', 'i2', 'i3']);
  const cause = random.pick(['burglary', 'burglary', 'burglary', 'life_safety', 'fire'] as const);
  return cause === 'burglary'
    ? { cause, id, partition: random.pick(['p1', 'p2']) }
    : { cause, id, of: random.pick(['z1', 'z2']) };
}

function asked(world: World, random: Random, id: string): PlayRequest {
  const key = `m${random.whole(0, 7)}`;
  const named = world.plan.speakers.map((one) => one.id).filter(() => random.chance(0.5));
  return request(id, {
    message: { id: key, key, name: key, sha256: key },
    category: random.pick(audioCategories),
    volume: random.pick([0, 70, 70, 100]),
    repeat: random.pick([1, 1, 2, 5]),
    ...(random.chance(0.4) ? { alarm: alarmOf(random) } : {}),
    ...(named.length === 0 ? {} : { speakers: named }),
  });
}

const play: Action = (world, random, nth) => world.input({ kind: 'play', request: asked(world, random, `p${nth}`) });

const again: Action = (world, random, nth) => {
  const known = [...world.state.playbacks.values()];
  if (known.length === 0) return;
  const { id, message, category, alarm, volume, repeat, requestedBy, parts } = random.pick(known);
  const speakers = parts.map(({ speaker }) => speaker);
  const same = { message, category, volume, repeat, requestedBy, speakers, ...(alarm === undefined ? {} : { alarm }) };
  world.input({ kind: 'play', request: { ...same, id: random.pick([id, `again ${nth}`]) } });
};

const flood: Action = (world, random, nth) => {
  for (let at = 0; at < 30; at += 1) world.input({ kind: 'play', request: asked(world, random, `f${nth}-${at}`) });
};

const cancel: Action = (world, random) => {
  const ids = [...world.state.playbacks.keys()];
  const alarms = random.chance(0.5);
  const targets = [
    'all',
    { speaker: 'gate' },
    { category: random.pick(audioCategories) },
    ...ids.slice(-8).map((playback) => ({ playback })),
  ] as const;
  const target = random.pick(targets);
  world.input({ kind: 'cancel', target, alarms });
  if (random.chance(0.3)) world.input({ kind: 'cancel', target, alarms });
};

const crash: Action = (world, random) => {
  world.die();
  world.line.pass(random.whole(200, 4_000));
  const reboot = random.chance(0.3) ? { wallBy: random.pick([0, 0, 3_600_000, -3_600_000]) } : undefined;
  world.come(reboot);
};

const restart: Action = (world, random, nth) => {
  world.input({ kind: 'shutdown' });
  for (let waited = 0; waited < 40 && world.state.closing === 'waits'; waited += 1) {
    if (random.chance(0.1)) world.input({ kind: 'play', request: asked(world, random, `late ${nth}-${waited}`) });
    world.line.pass(1_000);
  }
  world.die();
  world.line.pass(1_000);
  world.come(undefined);
};

const actions: readonly (readonly [share: number, act: Action])[] = [
  [34, play],
  [10, again],
  [0.4, flood],
  [10, cancel],
  [8, (world, random) => world.input({ kind: 'hush', partition: random.pick(['p1', 'p2', 'all']) })],
  [
    5,
    (world, random) =>
      world.input({ kind: 'probed', speaker: random.pick(['gate', 'hall', 'cam']), ok: random.chance(0.7) }),
  ],
  [2, (world, random) => world.jump(random.pick([-3_600_000, 3_600_000, 30_000]))],
  [2, (world, random) => world.replan(random)],
  [3, (world, random) => world.disk.hang(random.whole(100, 4_000))],
  [3, crash],
  [1, restart],
  [21, (world, random) => world.line.pass(random.whole(0, 12_000))],
];
const total = actions.reduce((sum, [share]) => sum + share, 0);

function choose(random: Random): Action {
  let left = random.between(0, total);
  for (const [share, act] of actions) {
    left -= share;
    if (left < 0) return act;
  }
  return play;
}

export function live(seed: number, steps: number, under: Core = core): Outcome {
  const random = randomOf(seed);
  const world = new World(random, under);
  const checker = new Checker(world);
  const seen = new Map<string, number>();
  const told = world.disk.onTell;
  world.disk.onTell = (playback, durable) => {
    for (const { status, reason } of playback.devices)
      seen.set(`${status} ${reason ?? ''}`, (seen.get(`${status} ${reason ?? ''}`) ?? 0) + 1);
    told(playback, durable);
  };
  world.come(undefined);
  let nth = 0;
  for (; nth < steps && checker.broken.size === 0; nth += 1) {
    choose(random)(world, random, nth);
    if (random.chance(0.7)) world.line.pass(random.whole(0, 400));
    if (nth % 10 === 0) checker.checkEnds();
  }
  world.devices.faults = false;
  for (let minute = 0; minute < 12 && checker.broken.size === 0; minute += 1) {
    world.line.pass(60_000);
    checker.checkEnds();
  }
  return { broken: [...checker.broken], steps: nth, seen };
}
