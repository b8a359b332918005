import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connectAsync, type MqttClient } from 'mqtt';
import { afterEach, expect, it, onTestFailed } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Site, startSite } from '../harness/site.ts';
import { withFile } from '../site/store/helpers.ts';
import { randomOf } from './random.ts';

/** A call for help that was answered is on disk, once, whenever the daemon was killed (safety 1). */
const kinds = ['audible', 'silent', 'medical', 'fire'] as const;
const points = ['commit.begun', 'commit.rows', 'commit.committed', 'commit.answered', 'published'] as const;
const names = { audible: 'panic', silent: 'panic_silent', medical: 'medical', fire: 'fire' } as const;

let site: Site | undefined;
let clients: MqttClient[] = [];
afterEach(async () => {
  for (const client of clients) await client.endAsync(true);
  clients = [];
  await site?.close();
  site = undefined;
});

async function client(of: Site, clientId: string): Promise<MqttClient> {
  const made = await connectAsync(of.mqttUrl, { clientId, reconnectPeriod: 50 });
  made.on('error', () => undefined);
  clients.push(made);
  return made;
}

/** A keypad that repeats a call until it is told that it is kept. */
async function keypad(of: Site) {
  const self = await client(of, 'kp1');
  const done = new Set<string>();
  self.on('message', (_topic, payload) => {
    const reply = JSON.parse(payload.toString());
    if (reply.outcome === 'done') done.add(reply.id);
  });
  await self.subscribeAsync(`${of.root}/reply/kp1/#`, { qos: 1 });
  return {
    async call(kind: (typeof kinds)[number], id: string) {
      const body = {
        id,
        kind,
        partition: 'p1',
        issued_at: new Date().toISOString(),
        reply_to: `${of.root}/reply/kp1/${id}`,
      };
      await self.publishAsync(`${of.root}/cmd/panic`, JSON.stringify(body), { qos: 1 });
    },
    isDone: (id: string) => done.has(id),
  };
}

/** Others who send whatever they may as fast as they may, and a wrong code at times, which locks them. */
async function flood(of: Site) {
  const noisy = await client(of, 'noisy');
  let isOver = false;
  const run = (async () => {
    for (let n = 0; !isOver; n += 1) {
      const verb = ['arm', 'disarm', 'query', 'bypass'][n % 4];
      const about = [{ mode: 'away' }, { code: '00009999' }, { what: 'zones' }, { zone: '1', on: true }][n % 4];
      const body = { id: randomUUID(), issued_at: new Date().toISOString(), partition: 'p1', ...about };
      void noisy.publishAsync(`${of.root}/cmd/${verb}`, JSON.stringify(body), { qos: 0 }).catch(() => undefined);
      await pause(3);
    }
  })();
  return async () => {
    isOver = true;
    await run;
  };
}

/** How often each kind of call is in the files. */
function kept(of: Site): Record<string, number> {
  const rows = withFile(join(of.folder, 'state', 'site.db'), (db) =>
    db.prepare<[], { event: string }>('SELECT event FROM ev').all(),
  ).map(({ event }) => JSON.parse(event) as { kind: string; status: string });
  return Object.fromEntries(
    kinds.map((kind) => [kind, rows.filter((one) => one.kind === names[kind] && one.status === 'active').length]),
  );
}

it('kill -9 between a call and its answer, at random and at each step of its commit, under a flood: never lost, never twice', {
  timeout: 400_000,
}, async () => {
  const random = randomOf();
  onTestFailed(() => void process.stderr.write(`repeat with SITEWARD_SEED=${random.seed}\n`));
  const started = await startSite({ yaml: () => 'partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]\n' });
  site = started;
  const { daemon } = started;
  const pad = await keypad(started);
  const stop = await flood(started);
  const calls: { id: string; kind: (typeof kinds)[number]; before: boolean }[] = [];
  let answeredBefore = 0;
  for (let round = 0; round < 20; round += 1) {
    const point = round < 10 ? points[round % points.length] : undefined;
    const kind = kinds[round % kinds.length] ?? 'audible';
    const id = randomUUID();
    if (point !== undefined) {
      // Of a start and a flood there are commits too: it dies at one of them, before, in or after that of the call.
      const nth = random.between(2, 12);
      await daemon.restart({ SITEWARD_CRASH_AT: `${point}:${nth}` }).catch(() => undefined);
    }
    await pad.call(kind, id).catch(() => undefined);
    if (point === undefined) await pause(random.between(0, 40));
    else await Promise.race([daemon.ended(5000).catch(() => undefined), pause(1500)]);
    const before = pad.isDone(id);
    if (before) answeredBefore += 1;
    await daemon.kill();
    await daemon.restart();
    calls.push({ id, kind, before });
    await eventually(
      `the call ${round} is answered`,
      async () => {
        if (!pad.isDone(id) || before) await pad.call(kind, id);
        return pad.isDone(id) ? true : undefined;
      },
      { timeoutMs: 20_000, everyMs: 300 },
    );
  }
  await stop();
  // Each again, long after its answer: it is known.
  for (const { id, kind } of calls) await pad.call(kind, id);
  await pause(500);
  await daemon.stop();
  process.stdout.write(`seed ${random.seed}: ${calls.length} calls, ${answeredBefore} answered before the kill\n`);
  const expected = Object.fromEntries(kinds.map((kind) => [kind, calls.filter((one) => one.kind === kind).length]));
  expect(kept(started)).toEqual(expected);
});
