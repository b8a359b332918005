import { connectAsync } from 'mqtt';
import { Pool, request } from 'undici';
import { digestMemory, parseChallenges, pickDigest } from '#lib/http-digest.ts';
import { sendAtOnce } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Figure, percentile, rounded } from './figure.ts';
import { type BenchSite, cameraPassword, openSite } from './site.ts';

export const cameras = 16;
export const pictureMs = 300;
export const alarms = 100;
export const rounds = 10;
const warmAlarms = 5;
const betweenMs = 500;
const betweenRoundsMs = 3000;
const firstGoalMs = 2000;
const allGoalMs = 1000;
const never = new AbortController().signal;

/** Of alarms with a picture of one camera, and of alarms with one of each. */
export async function pictureFigures(program: string, tell: (progress: string) => void): Promise<Figure[]> {
  const zone = (number: number, seen: string) =>
    `      "${number}": { type: fire, key: smoke_${number}, partition: p1${seen} }`;
  const zones = Array.from({ length: cameras }, (_, at) => zone(at + 1, `, cameras: [cam${at + 1}]`));
  // Without cameras of its own: all of the partition.
  zones.push(zone(cameras + 1, ''));
  const site = await openSite({
    program,
    cameras,
    pictureMs,
    yaml: `media: { snapshots: 1, max_per_event: ${cameras} }
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones:
${zones.join('\n')}
`,
  });
  try {
    await site.daemon();
    await everyCamera(site);
    return await measure(site, tell);
  } finally {
    await site.close();
  }
}

async function measure(site: BenchSite, tell: (progress: string) => void): Promise<Figure[]> {
  const bare = percentile(await bareTimes(site), 0.95);
  const single = (at: number) => (at % cameras) + 1;
  const turns = [
    ...Array.from({ length: warmAlarms + alarms }, (_, at) => ({ zone: single(at), waitMs: betweenMs })),
    ...Array.from({ length: rounds + 1 }, () => ({ zone: cameras + 1, waitMs: betweenRoundsMs })),
  ];
  tell(`${alarms} alarms with a picture, ${rounds} with ${cameras}`);
  const sent = await send(site, turns);
  const pictures = warmAlarms + alarms + (rounds + 1) * cameras;
  const arrived = await eventually('every picture in the cloud', () => arrivals(site, sent.length, pictures), {
    timeoutMs: 60_000,
    everyMs: 500,
  });
  const took = arrived.map((times, at) => Math.max(...times) - (sent[at] ?? Number.NaN));
  const first = took.slice(warmAlarms, warmAlarms + alarms);
  // The first of these makes its connections too; nobody is to wait for those of a warm daemon.
  const all = took.slice(warmAlarms + alarms + 1);
  const p95 = percentile(first, 0.95);
  const slowest = Math.max(...all);
  return [
    { name: 'a bare client gets a picture, p95', value: rounded(bare), unit: 'ms' },
    { name: 'alarm to its picture in the cloud, median', value: rounded(percentile(first, 0.5)), unit: 'ms' },
    {
      name: 'alarm to its picture in the cloud, p95',
      value: rounded(p95),
      unit: 'ms',
      ratio: rounded(p95 / bare),
      goal: `under ${firstGoalMs} ms`,
      met: p95 < firstGoalMs,
    },
    {
      name: `alarm to the last of ${cameras} pictures in the cloud, median`,
      value: rounded(percentile(all, 0.5)),
      unit: 'ms',
    },
    {
      name: `alarm to the last of ${cameras} pictures in the cloud, slowest of ${rounds}`,
      value: rounded(slowest),
      unit: 'ms',
      ratio: rounded(slowest / bare),
      goal: `under ${allGoalMs} ms`,
      met: slowest < allGoalMs,
    },
  ];
}

/** A picture needs an address, which a session learns at its start. */
async function everyCamera({ mqttUrl }: BenchSite): Promise<void> {
  const client = await connectAsync(mqttUrl, { clientId: 'bench-cameras', protocolVersion: 4 });
  const online = new Set<string>();
  client.on('message', (topic, payload) => void (payload.toString().includes('online') && online.add(topic)));
  try {
    await client.subscribeAsync('siteward/1/bench/camera/+/availability', { qos: 1 });
    await eventually('every camera', () => (online.size === cameras ? true : undefined), { timeoutMs: 60_000 });
  } finally {
    await client.endAsync(true);
  }
}

/** One alarm after the other, each over before the next; answers when each was sent. */
async function send({ mqttUrl }: BenchSite, turns: readonly { zone: number; waitMs: number }[]): Promise<number[]> {
  const client = await connectAsync(mqttUrl, { clientId: 'bench', protocolVersion: 4 });
  sendAtOnce(client);
  const tellSmoke = (zone: number, smoke: boolean) =>
    client.publishAsync(`zigbee2mqtt/smoke_${zone}`, JSON.stringify({ smoke, battery: 97, linkquality: 120 }), {
      qos: 1,
    });
  try {
    await client.publishAsync('zigbee2mqtt/bridge/state', '{"state":"online"}', { qos: 1, retain: true });
    const sent: number[] = [];
    for (const { zone, waitMs } of turns) {
      sent.push(performance.timeOrigin + performance.now());
      await tellSmoke(zone, true);
      await sleep(waitMs / 2, never);
      await tellSmoke(zone, false);
      await sleep(waitMs / 2, never);
    }
    return sent;
  } finally {
    await client.endAsync(true);
  }
}

/** When the pictures of each alarm arrived, in the order of the alarms; undefined until all have. */
async function arrivals({ cloudUrl }: BenchSite, count: number, pictures: number): Promise<number[][] | undefined> {
  const get = async (what: string) => (await (await request(`${cloudUrl}/__sandbox/${what}`)).body.json()) as object;
  const { uploads } = (await get('uploads')) as { uploads: { event_id: string; received_at: string }[] };
  if (uploads.length < pictures) return undefined;
  if (uploads.length > pictures) throw new Error(`${uploads.length} pictures came, of ${pictures}`);
  const { events } = (await get('events')) as {
    events: { event_id: string; body: { payload: { class: string; status: string; seq: number } } }[];
  };
  const wanted = events.filter(({ body }) => body.payload.class === 'alarm' && body.payload.status === 'active');
  if (wanted.length !== count) throw new Error(`${wanted.length} alarms came, of ${count}`);
  wanted.sort((a, b) => a.body.payload.seq - b.body.payload.seq);
  const times = Map.groupBy(uploads, (upload) => upload.event_id);
  return wanted.map(({ event_id }) => (times.get(event_id) ?? []).map((upload) => Date.parse(upload.received_at)));
}

/** What a picture takes without siteward, milliseconds each. */
async function bareTimes({ cameraUrls }: BenchSite): Promise<number[]> {
  const took: number[] = [];
  for (const url of cameraUrls) {
    const pool = new Pool(new URL(url).origin);
    const digest = digestMemory();
    const picture = async () => {
      const proof = digest.authorize('GET', '/snapshot/1', 'siteward', cameraPassword);
      const headers = proof === undefined ? {} : { authorization: proof };
      const answer = await pool.request({ method: 'GET', path: '/snapshot/1', headers });
      await answer.body.arrayBuffer();
      return answer;
    };
    try {
      const asked = (await picture()).headers['www-authenticate'];
      const challenge = pickDigest(parseChallenges(asked ?? ''));
      if (challenge !== undefined) digest.learn(challenge);
      const began = performance.now();
      const { statusCode } = await picture();
      if (statusCode !== 200) throw new Error(`the camera answered ${statusCode}`);
      took.push(performance.now() - began);
    } finally {
      await pool.close();
    }
  }
  return took;
}
