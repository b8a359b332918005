import { randomUUID } from 'node:crypto';
import { connectAsync, type MqttClient } from 'mqtt';
import { Client } from 'undici';
import { sendAtOnce } from '#lib/mqtt.ts';
import { type Figure, percentile, rounded } from './figure.ts';
import { type BenchSite, openSite } from './site.ts';

const users = 100;
const tries = 60;
const goalMs = 250;
const root = 'siteward/1/bench';
const codeOf = (n: number): string => String(10_000_003 + n * 137);

/** Disarming over MQTT: from the publish of the command to the final reply, which leaves when it is on disk. */
export async function disarmOverMqtt(): Promise<Figure[]> {
  const site = await openSite({});
  try {
    await site.daemon();
    await addUsers(site);
    const client = await connectAsync(site.mqttUrl, { clientId: 'bench', protocolVersion: 4 });
    sendAtOnce(client);
    try {
      const ask = await asking(client);
      const took: number[] = [];
      for (let n = 0; n < tries; n += 1) {
        // The same person: within two seconds of another one's arming a disarm does not prevail (safety 5).
        const code = codeOf((n * 7) % users);
        await ask('arm', { mode: 'away', skip_exit_delay: true, code });
        const began = performance.now();
        await ask('disarm', { code });
        took.push(performance.now() - began);
      }
      const p99 = percentile(took, 0.99);
      const name = `${users} users, a disarm over MQTT`;
      return [
        { name: `${name}, median`, value: rounded(percentile(took, 0.5)), unit: 'ms' },
        { name: `${name}, p99`, value: rounded(p99), unit: 'ms', goal: `< ${goalMs} ms`, met: p99 < goalMs },
      ];
    } finally {
      await client.endAsync(true);
    }
  } finally {
    await site.close();
  }
}

async function addUsers({ socket }: BenchSite): Promise<void> {
  const http = new Client('http://localhost', { socketPath: socket });
  try {
    for (let n = 0; n < users; n += 1) {
      const body = JSON.stringify({ id: `u${n}`, name: 'Somebody', code: codeOf(n) });
      const headers = { 'content-type': 'application/json' };
      const answer = await http.request({ method: 'POST', path: '/api/v1/users', headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`user ${n} was not added: ${answer.statusCode} ${text}`);
    }
  } finally {
    await http.close();
  }
}

/** Sends commands; resolves with the final reply, which must be `done`. */
async function asking(client: MqttClient): Promise<(verb: string, body: object) => Promise<void>> {
  const waiting = new Map<string, (outcome: string) => void>();
  client.on('message', (_topic, payload) => {
    const { id, outcome, final } = JSON.parse(payload.toString('utf8')) as {
      id: string;
      outcome: string;
      final: boolean;
    };
    if (final) waiting.get(id)?.(outcome);
  });
  await client.subscribeAsync(`${root}/reply/#`, { qos: 1 });
  return async (verb, body) => {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<string>();
    waiting.set(id, resolve);
    const command = {
      ...{ id, issued_at: new Date().toISOString(), reply_to: `${root}/reply/bench/${id}`, partition: 'p1' },
      ...body,
    };
    await client.publishAsync(`${root}/cmd/${verb}`, JSON.stringify(command), { qos: 1 });
    const outcome = await promise;
    waiting.delete(id);
    if (outcome !== 'done') throw new Error(`${verb} is ${outcome}`);
  };
}
