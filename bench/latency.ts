import { connectAsync, type MqttClient } from 'mqtt';
import { request } from 'undici';
import { sendAtOnce } from '#lib/mqtt.ts';
import { sleep } from '#lib/wait.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Figure, type Measurement, percentile, rounded } from './figure.ts';
import { type BenchSite, openSite } from './site.ts';

const eventsPerSecond = 50;
const warmEvents = 100;
const events = 2000;
const detectors = 25;

/** Event to durable to accepted POST, over real sockets between real processes. */
export const latency: Measurement = {
  name: 'latency',
  title: `Panel message to accepted event, ${eventsPerSecond} events/s`,
  about: `The daemon, the sandbox cloud and the sender are three processes on loopback, with the embedded broker. The sender
publishes ${events} zigbee2mqtt messages at ${eventsPerSecond}/s, each of which is a fire alarm or its restore, and so one durable event. The clock
runs from just before the publish to the event on the LAN (\`event/alarm\`, which is sent after the commit) and to the
sandbox's acceptance (its own time stamp, whole milliseconds).`,
  async run(tell) {
    const zones = Array.from(
      { length: detectors },
      (_, index) => `      "${index + 1}": { type: fire, key: smoke_${index + 1}, partition: p1 }`,
    );
    const site = await openSite({
      yaml: `panels:\n  - id: sensors\n    profile: zigbee2mqtt\n    zones:\n${zones.join('\n')}\n`,
    });
    try {
      await site.daemon();
      return await measure(site, tell);
    } finally {
      await site.close();
    }
  },
};

async function measure(site: BenchSite, tell: (progress: string) => void): Promise<Figure[]> {
  const client = await connectAsync(site.mqttUrl, { clientId: 'bench', protocolVersion: 4 });
  sendAtOnce(client);
  try {
    const seen = await watchEvents(client);
    await client.publishAsync('zigbee2mqtt/bridge/state', '{"state":"online"}', { qos: 1, retain: true });
    await every(client, warmEvents);
    await eventually('the first events on the LAN', () => (seen.size >= warmEvents ? true : undefined));
    await eventually(
      'the first events in the cloud',
      async () => (await accepted(site)).size >= warmEvents || undefined,
    );
    seen.clear();
    tell(`${events} events`);
    const sent = await every(client, events);
    await eventually('every event on the LAN', () => (seen.size >= events ? true : undefined), { timeoutMs: 30_000 });
    const inCloud = await eventually('every event in the cloud', async () => {
      const found = await accepted(site);
      return found.size >= warmEvents + events ? found : undefined;
    });
    const order = [...seen.keys()];
    const toLan = order.map((id, index) => (seen.get(id) ?? Number.NaN) - (sent[index] ?? Number.NaN));
    const toCloud = order.map((id, index) => (inCloud.get(id) ?? Number.NaN) - (sent[index] ?? Number.NaN));
    return [
      ...figures('publish to durable, seen on the LAN', toLan),
      ...figures('publish to accepted by the cloud', toCloud),
    ];
  } finally {
    await client.endAsync(true);
  }
}

const figures = (name: string, values: readonly number[]): Figure[] => [
  { name: `${name}, median`, value: rounded(percentile(values, 0.5)), unit: 'ms' },
  { name: `${name}, p99`, value: rounded(percentile(values, 0.99)), unit: 'ms' },
  { name: `${name}, slowest`, value: rounded(Math.max(...values)), unit: 'ms' },
];

/** Sends `count` messages in an even rhythm, each of which changes one detector; answers when each was sent. */
async function every(client: MqttClient, count: number): Promise<number[]> {
  const stepMs = 1000 / eventsPerSecond;
  const never = new AbortController().signal;
  const began = performance.now();
  const sent: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const waitMs = began + index * stepMs - performance.now();
    if (waitMs > 0) await sleep(waitMs, never);
    const detector = (index % detectors) + 1;
    const smoke = Math.floor(index / detectors) % 2 === 0;
    sent.push(now());
    client.publish(`zigbee2mqtt/smoke_${detector}`, JSON.stringify({ smoke, battery: 97, linkquality: 120 }), {
      qos: 1,
    });
  }
  return sent;
}

/** When each event was seen, by id, in the order of their numbers. */
async function watchEvents(client: MqttClient): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  client.on('message', (_topic, payload) => {
    seen.set((JSON.parse(payload.toString('utf8')) as { event_id: string }).event_id, now());
  });
  await client.subscribeAsync('siteward/1/bench/event/alarm', { qos: 1 });
  return seen;
}

async function accepted({ cloudUrl }: BenchSite): Promise<Map<string, number>> {
  const { body } = await request(`${cloudUrl}/__sandbox/events`);
  const { events: all } = (await body.json()) as {
    events: { event_id: string; received_at: string; body: { payload: { class: string } } }[];
  };
  const alarms = all.filter(({ body: event }) => event.payload.class === 'alarm');
  return new Map(alarms.map(({ event_id: id, received_at: at }) => [id, Date.parse(at)]));
}

/** Wall clock with fractions of a millisecond, comparable with other processes. */
const now = () => performance.timeOrigin + performance.now();
