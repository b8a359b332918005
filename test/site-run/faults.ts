import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket, metricsOf } from '../harness/control.ts';
import type { PowerCutDisk } from '../harness/power-cut.ts';
import type { Random } from '../proof/random.ts';
import type { Fault } from './history.ts';
import type { World } from './world.ts';
import { cameraIds } from './world-yaml.ts';

/** What goes wrong, in two lines side by side: with the box and the LAN, and with the line to the cloud and the clock. */
export interface Faults {
  /** While this lasts nothing is wrong with the line and the clock. */
  quietly(then: () => Promise<void>): Promise<void>;
  /** Lets what is under way end, which puts everything right. */
  stop(): Promise<void>;
  /** Whether the disk is full, or has not taken yet what waited for it. */
  diskIsFull(): boolean;
  /** Rejects when a fault could not be put right. */
  readonly failed: Promise<never>;
}

type Mishap = readonly [name: string, happen: () => Promise<unknown>];
/** What ends the daemon's process. */
const endings: ReadonlySet<string> = new Set(['killed', 'restarted', 'power cut']);

export function startFaults(options: {
  world: World;
  random: Random;
  disk: PowerCutDisk | undefined;
  fill: (() => void) | undefined;
  free: () => void;
  restMs: readonly [low: number, high: number];
  /** From then on nothing ends the daemon; `performance.now()`, milliseconds. */
  endsUntil?: number;
  note: (fault: Fault) => void;
}): Faults {
  const { world, random, disk } = options;
  const { site } = world;
  const { daemon, broker, cloud, line } = site;
  let isOver = false;
  let isFull = false;
  let holds = 0;
  let lineIsIdle: Promise<unknown> = Promise.resolve();

  const plant = (fault: object) => cloud.control('faults', { method: 'POST', body: fault });
  const during = async (low: number, high: number) => pause(random.between(low, high));

  async function fillDisk(): Promise<void> {
    isFull = true;
    options.fill?.();
    await during(3000, 7000);
    options.free();
    // Asked until it takes what waited: a gauge of the store says so.
    await eventually('the disk takes everything again', async () =>
      /siteward_store_storage_level\{level="(?:hard|full|readonly|failing)"\} 1/.test(await metricsOf(site.socket))
        ? undefined
        : isOnDisk(),
    );
    isFull = false;
  }

  /** All that was kept in memory has been written: a command shows it, since what it made is on disk when it is answered. */
  async function isOnDisk(): Promise<true | undefined> {
    const { body } = await askSocket(site.socket, 'GET', '/api/v1/events?limit=200');
    const inMemory = (body.items as { event: { data: { durable?: boolean } } }[]).slice(0, 1);
    return inMemory.every(({ event }) => event.data.durable !== false) ? true : undefined;
  }

  const ofTheBox: readonly Mishap[] = [
    [
      'killed',
      async () => {
        await daemon.kill();
        await during(0, 1500);
        await daemon.restart();
      },
    ],
    ['restarted', () => daemon.restart()],
    [
      'camera rebooted',
      async () => world.cameras.get(random.pick(cameraIds.slice(0, 12)))?.reboot(random.whole(300, 2500)),
    ],
    ...(broker === undefined ? [] : [['broker restarted', () => broker.restart()] as const]),
    ...(options.fill === undefined ? [] : [['disk full', fillDisk] as const]),
    ...(disk === undefined
      ? []
      : [
          [
            'power cut',
            async () => {
              // In this order: nothing runs on while its disk is gone, as nothing does without power.
              await daemon.kill();
              disk.cut();
              disk.restore();
              await daemon.restart();
            },
          ] as const,
        ]),
  ];

  const ofTheLine: readonly Mishap[] = [
    [
      'line cut',
      async () => {
        await line.cut();
        await during(500, 6000);
        await line.restore();
      },
    ],
    [
      'slow cloud',
      async () => {
        await plant({ path: '/*', mode: 'delay', delay_ms: random.whole(500, 2500), count: -1 });
        await during(2000, 6000);
        await cloud.control('faults', { method: 'DELETE' });
      },
    ],
    [
      'cloud busy',
      () =>
        plant({ path: '/partner/v1/events', method: 'POST', mode: 'status', status: 503, count: random.whole(1, 6) }),
    ],
    [
      'answer lost',
      () =>
        plant({ path: '/partner/v1/events', method: 'POST', mode: 'reset', when: 'after', count: random.whole(1, 4) }),
    ],
    ['token revoked', () => cloud.control('revoke', { method: 'POST' })],
    // Addresses for pictures live a quarter of an hour.
    ['time passes', () => world.passTime(16 * 60_000)],
    [
      'clock wrong',
      async () => {
        world.setError(random.pick([-1, 1]) * random.whole(60, 3 * 3600));
        await during(1500, 6000);
        world.setError(0);
      },
    ],
  ];

  async function happen([what, run]: Mishap): Promise<void> {
    const from = Date.now();
    await run();
    options.note({ what, from, to: Date.now() });
  }

  const mayHappen = ([name]: Mishap) =>
    !endings.has(name) || performance.now() < (options.endsUntil ?? Number.POSITIVE_INFINITY);

  /** Each once in an order of its own, over and over, so that a short run has them all. */
  async function* turns(mishaps: readonly Mishap[]): AsyncGenerator<Mishap> {
    while (!isOver) {
      const left = mishaps.filter(mayHappen);
      while (left.length > 0 && !isOver) {
        await during(...options.restMs);
        const [next] = left.splice(random.whole(0, left.length), 1);
        if (next !== undefined && !isOver && mayHappen(next)) yield next;
      }
    }
  }

  async function box(): Promise<void> {
    for await (const mishap of turns(ofTheBox)) await happen(mishap);
  }

  async function lines(): Promise<void> {
    for await (const mishap of turns(ofTheLine)) {
      while (holds > 0 && !isOver) await pause(100);
      if (isOver) return;
      lineIsIdle = happen(mishap);
      await lineIsIdle;
    }
  }

  const running = Promise.all([box(), lines()]);
  const failed = new Promise<never>((_, reject) => void running.catch(reject));
  failed.catch(() => undefined);
  return {
    failed,
    diskIsFull: () => isFull,
    async quietly(then) {
      holds += 1;
      try {
        await lineIsIdle;
        await then();
      } finally {
        holds -= 1;
      }
    },
    async stop() {
      isOver = true;
      await running;
      await cloud.control('faults', { method: 'DELETE' });
    },
  };
}
