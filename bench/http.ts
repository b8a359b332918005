import { request as overHttps } from 'node:https';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { Client } from 'undici';
import { sendAtOnce } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import { eventually, freePort, member, type Running, startProcess } from '#sandbox/demo/processes.ts';
import { withBundle } from './bundle.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';
import { cpuMsOf, memoryOf } from './machine.ts';
import { type BenchSite, openSite } from './site.ts';

const requestsPerSecond = 1000;
const loadS = 30;
const connections = 20;
const streamsOfKey = 4;
const streamKeys = 4;
const eventsPerSecond = 200;
const streamS = 60;
const detectors = 50;
const contacts = 60;
const partitions = 4;
const goalMs = 20;
const never = new AbortController().signal;
const password = 'bench-walnut-ferry-quartz';

/** What pages and programs on the LAN ask of a bridge at most. */
export const http: Measurement = {
  name: 'http',
  title: `The LAN API: ${requestsPerSecond} requests/s, and ${streamsOfKey * streamKeys} streams of ${eventsPerSecond} events/s`,
  about: `The daemon from the bundle with the flags of its unit, the sandbox cloud, the sender and the readers are processes on loopback; the LAN API is asked over HTTPS with API keys. First
${requestsPerSecond} times a second the status document of a site with ${partitions} partitions and ${contacts + detectors} zones, over ${connections} kept connections, for ${loadS} s: the clock of a request runs from the
moment it was due. Then ${streamsOfKey * streamKeys} streams of events are read for ${streamS} s, while ${eventsPerSecond} panel messages a second each become an event on disk. The lag of
the event loop is what the daemon's metrics say of that time; they look every 10 ms, so that a loop without any work shows 10 ms.`,
  run: (tell) => withBundle((program) => measure(program, tell)),
};

async function measure(program: string, tell: (progress: string) => void): Promise<Figure[]> {
  const port = await freePort();
  const of = (count: number, line: (n: number) => string) => Array.from({ length: count }, (_, n) => line(n + 1));
  const site = await openSite({
    program,
    asUnit: true,
    http: `, listen: "127.0.0.1:${port}"`,
    partitions: `[ ${of(partitions, (n) => `{ id: p${n}, name: Area ${n} }`).join(', ')} ]`,
    yaml: `panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
${of(detectors, (n) => `      "${n}": { type: fire, key: smoke_${n}, partition: p${(n % partitions) + 1} }`).join('\n')}
${of(contacts, (n) => `      "${100 + n}": { type: perimeter, key: door_${n}, partition: p${(n % partitions) + 1} }`).join('\n')}
`,
  });
  try {
    const { running } = await site.daemon();
    const url = `https://127.0.0.1:${port}`;
    const keys = await makeKeys(site, url);
    return [
      ...(await status(site, running, { url, keys, tell })),
      ...(await streams(site, running, { url, keys, tell })),
    ];
  } finally {
    await site.close();
  }
}

interface Ways {
  readonly url: string;
  readonly keys: readonly string[];
  readonly tell: (progress: string) => void;
}

async function status(site: BenchSite, running: Running, { url, keys, tell }: Ways): Promise<Figure[]> {
  const run = async (seconds: number) => {
    const args = [
      join(import.meta.dirname, 'http-load.ts'),
      url,
      keys[0] ?? '',
      requestsPerSecond,
      seconds,
      connections,
    ];
    const load = startProcess({ name: 'load', args: args.map(String) });
    try {
      const match = (line: string) =>
        line.startsWith('{"load"') ? (JSON.parse(line) as { load: Load }).load : undefined;
      return await load.until(match, 'the load', (seconds + 60) * 1000);
    } finally {
      await load.stop();
    }
  };
  tell('5 s to warm up');
  await run(5);
  await lagMs(site);
  const before = cpuMsOf(running.pid);
  tell(`${loadS} s of requests`);
  const { answered, seconds, others, bytes, tookMs } = await run(loadS);
  const lag = await lagMs(site);
  const busy = (cpuMsOf(running.pid) - before) / (seconds * 1000);
  const rate = answered / seconds;
  return [
    {
      ...{ name: 'status answered', value: rounded(rate), unit: 'a second' },
      ...{ goal: `${requestsPerSecond}`, met: rate >= 0.99 * requestsPerSecond },
    },
    ...(Object.keys(others).length === 0
      ? []
      : [{ name: `otherwise ${JSON.stringify(others)}`, value: Object.values(others).length, unit: 'kinds' }]),
    { name: 'one answer', value: bytes, unit: 'bytes' },
    { name: 'due to answered, median', value: rounded(percentile(tookMs, 0.5)), unit: 'ms' },
    { name: 'due to answered, p99', value: rounded(percentile(tookMs, 0.99)), unit: 'ms' },
    { name: 'processor', value: rounded(100 * busy), unit: '% of a core' },
    loopLag(lag),
  ];
}

interface Load {
  readonly answered: number;
  readonly seconds: number;
  readonly others: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly tookMs: readonly number[];
}

interface Seen {
  readonly events: number;
  readonly wrong: number;
  readonly gaps: number;
}

async function streams(site: BenchSite, running: Running, { url, keys, tell }: Ways): Promise<Figure[]> {
  const args = [join(import.meta.dirname, 'http-streams.ts'), url, streamsOfKey, ...keys.slice(0, streamKeys)].map(
    String,
  );
  const reader = startProcess({ name: 'readers', args });
  const client = await connectAsync(site.mqttUrl, { clientId: 'bench', protocolVersion: 4 });
  sendAtOnce(client);
  try {
    await reader.until((line) => member(line, 'streams'), 'the streams');
    await client.publishAsync('zigbee2mqtt/bridge/state', '{"state":"online"}', { qos: 1, retain: true });
    const look = () =>
      reader.ask(
        'report',
        (line) => (line.startsWith('{"seen"') ? (JSON.parse(line) as { seen: Seen[] }).seen : undefined),
        'report',
      );
    const warm = 2 * detectors;
    let sent = await send(client, 0, warm);
    await eventually('the first events', async () => (await look()).every(({ events }) => events >= warm) || undefined);
    const before = {
      rss: memoryOf(running.pid).rss,
      cpu: cpuMsOf(running.pid),
      counts: (await look()).map(({ events }) => events),
    };
    await lagMs(site);
    tell(`${streamS} s of events`);
    const began = performance.now();
    const wanted = eventsPerSecond * streamS;
    sent = await send(client, sent, wanted);
    const seconds = (performance.now() - began) / 1000;
    const lag = await lagMs(site);
    const busy = (cpuMsOf(running.pid) - before.cpu) / (seconds * 1000);
    const arrived = (seen: readonly Seen[]) => seen.map(({ events }, index) => events - (before.counts[index] ?? 0));
    const seen = await eventually(
      'every event on every stream',
      async () => {
        const now = await look();
        return arrived(now).every((count) => count >= wanted) ? now : undefined;
      },
      { timeoutMs: 60_000, everyMs: 500 },
    ).catch(look);
    const rss = memoryOf(running.pid).rss;
    return [
      {
        ...{ name: 'events on each of the streams, fewest', value: Math.min(...arrived(seen)), unit: `of ${wanted}` },
        ...{
          goal: 'all, in order',
          met: arrived(seen).every((n) => n >= wanted) && seen.every((one) => one.wrong + one.gaps === 0),
        },
      },
      {
        name: 'out of order or told as missing',
        value: seen.reduce((sum, one) => sum + one.wrong + one.gaps, 0),
        unit: 'events',
      },
      { name: 'messages sent', value: rounded((wanted * seen.length) / seconds), unit: 'a second' },
      { name: 'processor', value: rounded(100 * busy), unit: '% of a core' },
      loopLag(lag),
      { name: 'RSS when warm', value: rounded(before.rss), unit: 'MiB' },
      { name: `RSS after ${streamS} s`, value: rounded(rss), unit: 'MiB', ratio: rounded(rss / before.rss) },
    ];
  } finally {
    await client.endAsync(true);
    await reader.stop();
  }
}

/** One message after the other in an even rhythm, each of which changes one detector and is one event. */
async function send(client: Awaited<ReturnType<typeof connectAsync>>, from: number, count: number): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < count; n += 1) {
    const dueMs = began + (n * 1000) / eventsPerSecond - performance.now();
    if (dueMs > 0) await sleep(dueMs, never);
    const turn = from + n;
    const smoke = Math.floor(turn / detectors) % 2 === 0;
    client.publish(`zigbee2mqtt/smoke_${(turn % detectors) + 1}`, JSON.stringify({ smoke, battery: 97 }), { qos: 1 });
  }
  return from + count;
}

/** The p99 since it was asked last, as the daemon measures it. */
async function lagMs(site: BenchSite): Promise<number> {
  const text = await overSocket(site, 'GET', '/metrics');
  return 1000 * Number(/^siteward_nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1] ?? Number.NaN);
}

async function overSocket({ socket }: BenchSite, method: 'GET' | 'POST', path: string): Promise<string> {
  const client = new Client('http://localhost', { socketPath: socket });
  try {
    return await (await client.request({ method, path })).body.text();
  } finally {
    await client.close();
  }
}

/** Claims the bridge and makes keys, as an owner would. */
async function makeKeys(site: BenchSite, url: string): Promise<string[]> {
  const { claim_code: code } = JSON.parse(await overSocket(site, 'GET', '/api/v1/access/claim-code')) as {
    claim_code: string;
  };
  const claim = { code, id: 'bench', name: 'Bench', role: 'owner', password };
  const { cookie } = await eventually('the claim', () => post(`${url}/api/v1/access/claim`, claim));
  const keys: string[] = [];
  for (let n = 0; n < streamKeys; n += 1) {
    const wish = { name: `Bench ${n + 1}`, scopes: ['state', 'events'] };
    const { body } = await post(`${url}/api/v1/access/keys`, wish, cookie);
    keys.push((JSON.parse(body) as { token: string }).token);
  }
  return keys;
}

function post(url: string, body: unknown, cookie = ''): Promise<{ body: string; cookie: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      origin: new URL(url).origin,
      ...(cookie !== '' && { cookie }),
    };
    const call = overHttps(url, { method: 'POST', headers, rejectUnauthorized: false, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => {
        const [given = ''] = answer.headers['set-cookie'] ?? [];
        if (answer.statusCode === 200) resolve({ body: text, cookie: given.split(';')[0] ?? '' });
        else reject(new Error(`${url}: ${answer.statusCode} ${text}`));
      });
    });
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}

const loopLag = (ms: number): Figure => ({
  name: 'event loop meanwhile, p99',
  value: rounded(ms),
  unit: 'ms',
  goal: `under ${goalMs} ms`,
  met: ms < goalMs,
});
