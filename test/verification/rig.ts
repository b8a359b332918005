import { randomUUID } from 'node:crypto';
import { connectAsync, type MqttClient } from 'mqtt';
import { eventually } from '#sandbox/demo/processes.ts';
import type { VerificationDocument } from '#site/model/index.ts';
import { siteward } from '../cli/run-cli.ts';
import { type Site, type SiteOptions, startSite } from '../harness/site.ts';

/** Eight digits each, so that none stands in a number by chance. */
export const codes = { anna: '29041738', annaDuress: '65092814', wrong: '93820571' };
export const passwords = { guard: 'guard-Pa55-walnut-ferry', platform: 'platform-Pa55-zebra-quartz' };
const secret = 'correct horse battery';

const place = { dealer_id: 17, site_id: 4711 };
export const contact = 7;
const people = [7, 8].map((id) => ({
  contact_id: id,
  external_contact_id: `contact-${id}`,
  first_name: 'Ada',
  last_name: 'Byron',
  phone_number: '+49 30 5550100',
}));
const dealer = {
  dealer_id: place.dealer_id,
  external_dealer_id: 'verifying',
  sites: [
    { site_id: place.site_id, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin', contacts: people },
  ],
};

export interface Answer {
  readonly contact_id: number;
  readonly action: string;
  readonly responded_at: string;
}

export interface VerificationSite extends Site {
  /** A request of the service, in the sandbox. */
  requested(expiresInS?: number): Promise<string>;
  /** What the service has recorded. */
  recorded(id: string): Promise<Answer | null>;
  /** Everything the service logged of it, oldest first. */
  heard(id: string): Promise<readonly string[]>;
  /** The partner platform hands a request on; resolves with the reply. */
  handOn(body: Readonly<Record<string, unknown>>): Promise<Told>;
  /** Gives an answer over MQTT; resolves with all replies to it, the final one last. */
  verify(body: Readonly<Record<string, unknown>>): Promise<Told[]>;
  cli(args: readonly string[]): ReturnType<typeof siteward>;
  list(): Promise<readonly VerificationDocument[]>;
  state(id: string): Promise<string | undefined>;
}

export interface Told {
  readonly id: string | null;
  readonly outcome: string;
  readonly final: boolean;
  readonly error?: { readonly code: string; readonly field?: string };
  readonly data?: { readonly verification?: VerificationDocument };
}

export async function startVerificationSite(
  options: Partial<SiteOptions> & { readonly broker: 'mosquitto' | 'embedded' },
): Promise<VerificationSite> {
  const embedded = options.broker === 'embedded';
  const clients = `, clients: [ { id: guard-1, role: guard, password: { env: GUARD } }, { id: platform-1, role: platform, password: { env: PLATFORM } } ]`;
  const guard = embedded ? `, { client: guard-1, contact_id: ${contact} }` : '';
  const site = await startSite({
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    mqttYaml: embedded ? clients : '',
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: perimeter, name: Door, key: door, partition: p1 }, "2": { type: 24h_burglary, name: Safe, key: safe, partition: p1 } } } ]
verification: { contacts: [ { user: anna, contact_id: ${contact} }, { user: ben, contact_id: 8 }${guard} ] }
log: { level: trace }
`,
    ...options,
    env: {
      HARNESS_CODE: codes.anna,
      HARNESS_DURESS: codes.annaDuress,
      GUARD: passwords.guard,
      PLATFORM: passwords.platform,
      PARTNER: secret,
      ...options.env,
    },
  });
  await site.cloud.control('dealers', { method: 'POST', body: dealer });
  await site.cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
  const platform = await connectAsync(site.mqttUrl, {
    clientId: 'platform-1',
    protocolVersion: 4,
    ...(embedded && { username: 'platform-1', password: passwords.platform }),
  });
  const replies = await repliesTo(platform, `${site.root}/reply/platform-1`);
  const keypad = await connectAsync(site.mqttUrl, { clientId: 'keypad-7', protocolVersion: 4 });
  const answers = await repliesTo(keypad, `${site.root}/reply/keypad-7`);

  const cli = (args: readonly string[]) => siteward(['verification', ...args, '--socket', site.socket]);
  const list = async () => ((await site.api('/api/v1/verifications')) as { items: VerificationDocument[] }).items;
  return {
    ...site,
    async requested(expiresInS = 300) {
      const body = { ...place, contact_id: contact, expires_in: expiresInS };
      const answer = await site.cloud.control('verifications', { method: 'POST', body });
      return (answer as { verification_id: string }).verification_id;
    },
    async recorded(id) {
      const { verifications } = (await site.cloud.control('verifications')) as {
        verifications: { verification_id: string; answer: Answer | null }[];
      };
      return verifications.find((one) => one.verification_id === id)?.answer ?? null;
    },
    async heard(id) {
      const { log } = (await site.cloud.control('log')) as { log: { method: string; path: string; status: number }[] };
      return log.flatMap(({ method, path, status }) => (path.includes(id) ? [`${method} ${status}`] : []));
    },
    async handOn(body) {
      const before = replies.length;
      const correlation = randomUUID();
      const payload = { reply_to: `${site.root}/reply/platform-1/x`, correlation, ...body };
      await platform.publishAsync(`${site.root}/in/verification`, JSON.stringify(payload), { qos: 1 });
      return eventually('the reply to the platform', () => replies.slice(before).at(0));
    },
    async verify(body) {
      const id = randomUUID();
      const reply_to = `${site.root}/reply/keypad-7/${id}`;
      const payload = { id, issued_at: new Date().toISOString(), reply_to, ...body };
      await keypad.publishAsync(`${site.root}/cmd/verify`, JSON.stringify(payload), { qos: 1 });
      const mine = () => answers.filter((reply) => reply.id === payload.id);
      await eventually('the final reply', () => mine().find(({ final }) => final), { timeoutMs: 30_000 });
      return mine();
    },
    cli,
    list,
    state: async (id) => (await list()).find((one) => one.verification_id === id)?.state,
    async close() {
      await platform.endAsync(true);
      await keypad.endAsync(true);
      await site.close();
    },
  };
}

async function repliesTo(client: MqttClient, topic: string): Promise<Told[]> {
  const told: Told[] = [];
  client.on('error', () => undefined);
  client.on('message', (_, payload) => told.push(JSON.parse(payload.toString()) as Told));
  await client.subscribeAsync(`${topic}/#`, { qos: 1 });
  return told;
}
