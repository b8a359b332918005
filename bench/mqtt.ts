import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { connectAsync, type MqttClient } from 'mqtt';
import { sendAtOnce } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import { member, startProcess } from '#sandbox/demo/processes.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';
import { memoryOf } from './machine.ts';
import { cameraPassword, openSite } from './site.ts';

const clients = 10;
const perSecond = 20;
const changes = 1000;
const zones = 100;
/** So many that a client reaches each of them at most five times a minute, and each is disarmed again at its turn (C8). */
const partitions = 30;
const stride = partitions / clients;
const warmMs = 10_000;
const floodMs = 600_000;
const never = new AbortController().signal;
const root = 'siteward/1/bench';

/** Commands of many keypads while the house is busy. */
export const mqtt: Measurement = {
  name: 'mqtt',
  title: `Commands of ${clients} clients while ${changes} zones change a second`,
  about: `The daemon from the bundle, with the flags of its unit and the embedded broker, the house and the clients are three processes on loopback. The house is a panel bridge with
${partitions} partitions, which confirms each arming, and ${zones} zones that change ${changes} times a second in all. ${clients} clients with passwords arm one
partition after the other, ${perSecond} commands a second in all, for ${floodMs / 60_000} minutes after ${warmMs / 1000} s to warm up. The clock runs from just before the publish to
the reply \`accepted\` (the command is judged and on its way to the panel) and to the final one (the panel has shown the state, and it is on
disk). The ratio is to a message from one client to another through the same broker, measured between the commands.`,
  run: (tell) => withBundle((program) => measure(program, tell)),
};

interface Keypad {
  readonly client: MqttClient;
  readonly name: string;
  /** When each command was sent, by its id; bounded by what waits for its final reply. */
  readonly sent: Map<string, number>;
}

async function measure(program: string, tell: (progress: string) => void): Promise<Figure[]> {
  const names = Array.from({ length: clients }, (_, n) => `keypad-${n + 1}`);
  const ids = Array.from({ length: partitions }, (_, n) => n + 1);
  const of = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n + 1));
  const site = await openSite({
    program,
    asUnit: true,
    mqtt: `, clients: [ ${names.map((id) => `{ id: ${id}, role: keypad, password: { env: CAMERA_PASSWORD } }`).join(', ')} ]`,
    partitions: `[ ${[...ids, ids.length + 1].map((n) => `{ id: p${n}, name: Area ${n} }`).join(', ')} ]`,
    yaml: `panels:
  - id: main
    profile: pai
    partitions: { ${ids.map((n) => `p${n}: area_${n}`).join(', ')} }
    zones:
${of(zones, (n) => `      "${n}": { type: perimeter, key: zone_${n}, partition: p${ids.length + 1} }`).join('\n')}
`,
  });
  const flood = () => {
    const script = join(import.meta.dirname, 'mqtt-flood.ts');
    return startProcess({ name: 'house', args: [script, site.mqttUrl, changes, zones, ids.length].map(String) });
  };
  const { running } = await site.daemon();
  const house = flood();
  const keypads: Keypad[] = [];
  try {
    await house.until((line) => member(line, 'flood'), 'start');
    const accepted: number[] = [];
    const final: number[] = [];
    const others: Record<string, number> = {};
    for (const name of names) keypads.push(await keypad(site.mqttUrl, name, { accepted, final, others }));
    tell(`${warmMs / 1000} s to warm up`);
    await arm(keypads, warmMs);
    const before = memoryOf(running.pid).rss;
    accepted.length = 0;
    final.length = 0;
    tell(`${floodMs / 60_000} minutes`);
    const bare: number[] = [];
    await Promise.all([arm(keypads, floodMs), probe(site.mqttUrl, floodMs, bare)]);
    const after = memoryOf(running.pid).rss;
    await sleep(2000, never);
    const ms = (name: string, value: number): Figure => ({ name, value: rounded(value), unit: 'ms' });
    const p99 = percentile(accepted, 0.99);
    const refused = Object.values(others).reduce((sum, count) => sum + count, 0);
    return [
      { name: 'commands accepted', value: accepted.length, unit: `of ${(floodMs / 1000) * perSecond}` },
      { name: `answered otherwise ${JSON.stringify(others)}`, value: refused, unit: 'commands' },
      ms('client to client through the broker, p99', percentile(bare, 0.99)),
      ms('command to accepted, median', percentile(accepted, 0.5)),
      {
        ...ms('command to accepted, p99', p99),
        ratio: rounded(p99 / percentile(bare, 0.99)),
        goal: 'under 20 ms',
        met: p99 < 20,
      },
      ms('command to its end, p99', percentile(final, 0.99)),
      { name: 'RSS when warm', value: rounded(before), unit: 'MiB' },
      {
        name: `RSS after ${floodMs / 60_000} minutes`,
        value: rounded(after),
        unit: 'MiB',
        ratio: rounded(after / before),
      },
    ];
  } finally {
    for (const { client } of keypads) await client.endAsync(true);
    await house.stop();
    await site.close();
  }
}

async function keypad(
  url: string,
  name: string,
  seen: { accepted: number[]; final: number[]; others: Record<string, number> },
): Promise<Keypad> {
  const client = await connectAsync(url, {
    clientId: name,
    username: name,
    password: cameraPassword,
    protocolVersion: 4,
  });
  sendAtOnce(client);
  const sent = new Map<string, number>();
  client.on('message', (_topic, payload) => {
    const at = performance.now();
    const { id, outcome, final, error } = JSON.parse(payload.toString());
    const began = sent.get(id);
    if (began === undefined) return;
    if (outcome === 'accepted') seen.accepted.push(at - began);
    else if (outcome === 'done') seen.final.push(at - began);
    else seen.others[error?.code ?? outcome] = (seen.others[error?.code ?? outcome] ?? 0) + 1;
    if (final === true) sent.delete(id);
  });
  await client.subscribeAsync(`${root}/reply/${name}/#`, { qos: 1 });
  return { client, name, sent };
}

/** One command after the other in an even rhythm, of each client in turn. */
async function arm(keypads: readonly Keypad[], forMs: number): Promise<void> {
  const began = performance.now();
  for (let count = 0; count < (forMs / 1000) * perSecond; count += 1) {
    const dueMs = began + (count * 1000) / perSecond - performance.now();
    if (dueMs > 0) await sleep(dueMs, never);
    const index = count % keypads.length;
    const { client, sent } = keypads[index] as Keypad;
    const partition = `p${((Math.floor(count / keypads.length) + stride * index) % partitions) + 1}`;
    const id = randomUUID();
    const body = JSON.stringify({ id, issued_at: new Date().toISOString(), partition, mode: 'away' });
    sent.set(id, performance.now());
    client.publish(`${root}/cmd/arm`, body, { qos: 1 });
  }
}

/** What the broker and the machine take of a message without siteward, in the same time. */
async function probe(url: string, forMs: number, took: number[]): Promise<void> {
  const [from, to] = await Promise.all(
    ['probe-a', 'probe-b'].map((clientId) => connectAsync(url, { clientId, protocolVersion: 4 })),
  );
  if (from === undefined || to === undefined) return;
  sendAtOnce(from);
  sendAtOnce(to);
  to.on('message', (_topic, payload) => took.push(performance.now() - Number(payload.toString())));
  await to.subscribeAsync('probe/ping', { qos: 1 });
  const end = performance.now() + forMs;
  for (; performance.now() < end; await sleep(100, never))
    from.publish('probe/ping', String(performance.now()), { qos: 1 });
  await Promise.all([from.endAsync(), to.endAsync()]);
}
