import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFailed } from 'vitest';
import { eventually, freePort } from '#sandbox/demo/processes.ts';
import { frameOf, nameOf, type Said, tell } from '../harness/dc09.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { outboxIsEmpty } from './outbox.ts';
import { type Random, randomOf } from './random.ts';

/**
 * Two panels call the real daemon by SIA DC-09, one in clear over TCP and UDP, one encrypted, and
 * send each frame until it is acknowledged, while the daemon is ended with SIGKILL between a frame and its answer.
 */
const key = 'a-key-of-sixteen';

const yaml = (port: number) => `
partitions: [ { id: p1, name: Shop }, { id: p2, name: Store } ]
dc09: { listen: "127.0.0.1:${port}" }
panels:
  - id: shop
    profile: sia-dc09
    dc09: { account: "1234", from: [127.0.0.1] }
    partitions: { p1: "1" }
    zones:
      "2": { type: perimeter, name: Window, partition: p1 }
      "F1": { type: fire, name: Fire, key: fire, partition: p1 }
  - id: store
    profile: sia-dc09
    dc09: { account: AB12, key: { env: DC09_KEY } }
    partitions: { p2: "2" }
    zones: { "5": { type: perimeter, name: Gate, partition: p2 } }
`;

interface Step {
  readonly said: Omit<Said, 'seq'>;
  readonly udp?: boolean;
  /** The events it makes, as `kind status place`. */
  readonly makes: readonly string[];
}

const shop = { account: '1234' } as const;
const store = { account: 'AB12', key, id: 'ADM-CID' } as const;

const story: readonly Step[] = [
  { said: { ...shop, data: 'Nri1/CL7' }, makes: ['armed_away active p1'] },
  { said: { ...store, data: '3441 02 003' }, makes: ['armed_home active p2'] },
  { said: { ...shop, data: 'Nri1/BA002' }, udp: true, makes: ['burglary_perimeter active 2'] },
  { said: { ...store, data: '1130 02 005' }, makes: ['burglary_perimeter active 5'] },
  // Another report of the same alarm, without the end of the first.
  {
    said: { ...shop, data: 'Nri1/BA002' },
    makes: ['burglary_perimeter restored 2', 'burglary_perimeter active 2'],
  },
  { said: { ...store, data: '1602 00 000' }, makes: ['periodic_test active '] },
  { said: { ...shop, data: 'Nri1/BH002' }, makes: ['burglary_perimeter restored 2'] },
  { said: { ...store, data: '3130 02 005' }, udp: true, makes: ['burglary_perimeter restored 5'] },
  { said: { ...shop, data: 'Nri1/FA009' }, makes: ['fire active F1'] },
  { said: { ...shop, data: 'Nri1/FH009' }, udp: true, makes: ['fire restored F1'] },
  { said: { ...store, data: '1401 02 003' }, makes: ['burglary_perimeter cancelled 5', 'disarmed active p2'] },
  { said: { ...shop, data: 'Nri1/OP7' }, udp: true, makes: ['burglary_perimeter cancelled 2', 'disarmed active p1'] },
];

let site: Site | undefined;
afterEach(async () => {
  await site?.close();
  site = undefined;
});

async function started(): Promise<{ site: Site; port: number }> {
  const port = await freePort();
  site = await startSite({ yaml: () => yaml(port), env: { DC09_KEY: key } });
  return { site, port };
}

/** Sends a frame as panels do: the same again, with the time of the sending, until it is acknowledged. */
async function untilAcknowledged(port: number, { said, udp = false }: Step, seq: string): Promise<number> {
  for (let tries = 1; tries <= 60; tries += 1) {
    const answer = await tell(port, frameOf({ ...said, seq }), { udp, timeoutMs: 2000 });
    if (isAck(answer, { said })) return tries;
    await pause(100);
  }
  throw new Error(`frame ${seq} was never acknowledged`);
}

const isAck = (answer: string | undefined, { said }: Pick<Step, 'said'>): boolean =>
  answer !== undefined && nameOf(answer, said.key) === 'ACK';

const seqOf = (index: number): string => String(index + 1).padStart(4, '0');

async function kinds(of: Site): Promise<string[]> {
  await outboxIsEmpty(of, { timeoutMs: 60_000 });
  const told = (await of.history()).filter(({ event }) => ['alarm', 'arming', 'trouble', 'test'].includes(event.class));
  return told.map(({ event }) => `${event.kind} ${event.status} ${event.zone ?? event.partition ?? ''}`);
}

const expected = (upTo = story.length) =>
  story
    .slice(0, upTo)
    .flatMap(({ makes }) => [...makes])
    .sort();

describe('panels that call by SIA DC-09', () => {
  it('are events at the cloud and states on the LAN', { timeout: 120_000 }, async () => {
    const { site, port } = await started();
    for (const [index, step] of story.entries()) expect(await untilAcknowledged(port, step, seqOf(index))).toBe(1);
    expect((await kinds(site)).sort()).toEqual(expected());
    await site.lan.shows('partition/p1/state', 'disarmed');
    await site.lan.shows('link/panel/shop', 'online');
    // They only report.
    expect((await site.lan.ask('arm', { partition: 'p1', mode: 'away', code })).outcome).toBe('refused');
  });

  it('have their own codes and numbers in the payload at the cloud', { timeout: 120_000 }, async () => {
    const { site, port } = await started();
    const frames: readonly Omit<Said, 'seq'>[] = [
      { ...store, data: '3408 02 003' },
      { ...store, data: '1134 02 005' },
      { ...store, data: '1351 00 000' },
      { ...store, data: '1333 00 004' },
      { ...shop, data: 'Nri0/LT' },
      { ...shop, data: 'Nri1/KA009' },
      { ...store, data: '3351 00 000' },
    ];
    for (const [index, said] of frames.entries()) await untilAcknowledged(port, { said, makes: [] }, seqOf(index));
    await outboxIsEmpty(site, { timeoutMs: 60_000 });
    const told = (await site.cloud.events()).flatMap(({ body: { payload } }) =>
      ['alarm', 'arming', 'trouble'].includes(payload.class)
        ? [[payload.kind, payload.status, payload.contact_id, payload.sia, payload.zone, payload.data.reported]]
        : [],
    );
    const reported = (code: string, term: string, number?: string) => ({ code, term, ...(number && { number }) });
    const none = undefined;
    expect(told).toHaveLength(frames.length);
    for (const event of [
      ['armed_away', 'active', '408', 'CL', none, reported('408', 'quick_arm', '3')],
      ['burglary_perimeter', 'active', '134', 'BA', '5', reported('134', 'entry_exit', '5')],
      ['comm_fail', 'active', '351', 'YC', none, reported('351', 'phone_line_1')],
      ['system', 'active', '333', 'YX', none, reported('333', 'expander_failure', '4')],
      ['comm_fail', 'active', '350', 'LT', none, reported('LT', 'phone_line')],
      ['fire', 'active', '110', 'KA', 'F1', reported('KA', 'heat', '9')],
      ['comm_fail', 'restored', '351', 'YK', none, reported('351', 'phone_line_1')],
    ])
      expect(told).toContainEqual(event);
  });

  it('are taken under another account after a reload', { timeout: 120_000 }, async () => {
    const { site, port } = await started();
    const closing = { said: { account: '4321', data: 'Nri1/CL7' }, makes: [] };
    expect(nameOf((await tell(port, frameOf({ ...closing.said, seq: '0001' }))) ?? '')).toBe('DUH');
    const text = readFileSync(site.config, 'utf8');
    writeFileSync(site.config, text.replace('account: "1234"', 'account: "4321"'));
    site.daemon.reload();
    await eventually('the new account', async () => {
      const answer = await tell(port, frameOf({ ...closing.said, seq: '0002' }), { timeoutMs: 2000 });
      return nameOf(answer ?? '') === 'ACK' ? true : undefined;
    });
    await site.lan.shows('partition/p1/state', 'armed_away');
  });

  it('lose nothing when the daemon is killed between a frame and its answer', {
    timeout: 300_000,
  }, async () => {
    const random: Random = randomOf();
    onTestFailed(() => void process.stderr.write(`repeat with SITEWARD_SEED=${random.seed}\n`));
    const { site, port } = await started();
    for (const [index, step] of story.entries()) {
      const first = tell(port, frameOf({ ...step.said, seq: seqOf(index) }), {
        udp: step.udp === true,
        timeoutMs: 2000,
      });
      await pause(random.between(0, 30));
      await site.daemon.kill();
      const isDone = isAck(await first, step);
      await site.daemon.restart();
      // A panel does not send again what was acknowledged.
      if (!isDone) await untilAcknowledged(port, step, seqOf(index));
    }
    // What is not acknowledged comes again, and is known by what is on disk.
    expect((await kinds(site)).sort()).toEqual(expected());
  });

  it.each(['commit.begun', 'commit.rows', 'commit.committed', 'published'])(
    'lose nothing and repeat nothing when the power fails at %s',
    { timeout: 300_000 },
    async (point) => {
      const { site, port } = await started();
      let deaths = 0;
      let nth = 1;
      for (const [index, step] of story.slice(0, 3).entries()) {
        nth = await restartBefore(site, point, nth);
        const frame = frameOf({ ...step.said, seq: seqOf(index) });
        const answer = await tell(port, frame, { udp: step.udp === true, timeoutMs: 5000 });
        if (answer === undefined) deaths += 1;
        await site.daemon.kill();
        await site.daemon.restart();
        if (!isAck(answer, step)) await untilAcknowledged(port, step, seqOf(index));
      }
      expect((await kinds(site)).sort()).toEqual(expected(3));
      expect(deaths).toBeGreaterThan(0);
    },
  );
});

/** The daemon runs and ends at the next time it comes by the point, or soon after: its own start comes by first. */
async function restartBefore(site: Site, point: string, first: number): Promise<number> {
  for (let nth = first; nth <= first + 12; nth += 1) {
    const isReady = await site.daemon.restart({ SITEWARD_CRASH_AT: `${point}:${nth}` }).then(
      () => true,
      () => false,
    );
    if (!isReady) continue;
    await pause(500);
    if (
      await site.api('/api/v1/status').then(
        () => true,
        () => false,
      )
    )
      return nth;
  }
  throw new Error(`the daemon does not start with ${point}`);
}
