import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StatusDocument } from '#lan/http/schemas.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { code as personCode, type Site, startSite } from '../harness/site.ts';

const secret = 'mirror-partner-secret';
const contact = {
  external_contact_id: 'k1',
  first_name: 'Zwetlana',
  last_name: 'Quiddelbacher',
  phone_number: '+49 30 5550177',
};
const words = ['Zwetlana', 'Quiddelbacher', '5550177'];
const station = { external_monitoring_station_id: 'central', name: 'Central station' };
const path = '/partner/v1/dealers/17/sites/4711';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml: '  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    env: { PARTNER: secret },
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
verification: { contacts: [ { user: anna, contact_id: 987654 } ] }
`,
    async prepare(cloud) {
      const place = { site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' };
      const sites = [{ ...place, security_type: 3, contacts: [contact] }];
      const dealer = { dealer_id: 17, external_dealer_id: 'd17', monitoring_stations: [station], sites };
      await cloud.control('dealers', { method: 'POST', body: dealer });
      await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
    },
  });
}, 60_000);
afterAll(() => site?.close());

const ask = async (where: string) => (await askSocket(site.socket, 'GET', where)).body;
const kept = () => ask('/api/v1/cloud/contacts');
const status = async () => (await site.api('/api/v1/status')) as StatusDocument;
const troubles = async () => (await status()).troubles.map(({ kind }) => kind);
const withContacts = () =>
  eventually(
    'the contacts and the stations',
    async () => {
      const { contacts, stations } = await ask('/api/v1/cloud/site');
      return contacts.count > 0 && stations.items.length > 0 ? true : undefined;
    },
    { timeoutMs: 45_000 },
  );

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
it('contacts are there without a line, and nowhere but on the LAN API: no log, no bundle, no topic, no plain file', async () => {
  await withContacts();
  await site.line.cut();
  await site.daemon.restart();
  expect((await kept()).items).toEqual([expect.objectContaining(contact)]);
  expect(await ask('/api/v1/cloud/site')).toMatchObject({
    // Whether it was read before or after siteward said that it stands there is nothing to it.
    site: { name: 'Proof', timezone: 'Europe/Berlin', has_physical_bridge: expect.any(Boolean) },
    stations: { items: [expect.objectContaining({ name: 'Central station' })] },
    contacts: { count: 1, stale: false },
  });
  await site.line.restore();
  const bundle = await askSocket(site.socket, 'POST', '/api/v1/support-bundle', {});
  expect(bundle.text.includes('"parts"')).toBe(true);
  const folder = join(site.folder, 'state');
  const files = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile() && name !== 'reserve');
  expect(files).toContain('cloud-mirror');
  const places: Record<string, Buffer> = {
    bundle: Buffer.from(bundle.text),
    log: Buffer.from(site.daemon.lines().join('\n')),
    topics: Buffer.from(await topics()),
    ...Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name))])),
  };
  const leaks = Object.entries(places).filter(([, bytes]) => words.some((word) => bytes.includes(word)));
  expect(leaks.map(([name]) => name)).toEqual([]);
}, 180_000);

/** All that a new client is sent at once. */
async function topics(): Promise<string> {
  const client = await connectAsync(site.mqttUrl, { protocolVersion: 4 });
  const seen: string[] = [];
  client.on('message', (topic, payload) => void seen.push(`${topic} ${payload.toString('utf8')}`));
  const below = [
    'status',
    'info',
    'outbox',
    'partition/#',
    'zone/#',
    'link/#',
    'camera/#',
    'event/+',
    'verification/+',
  ];
  await client.subscribeAsync(
    below.map((one) => `${site.root}/${one}`),
    { qos: 1 },
  );
  await eventually('the retained topics', () => (seen.some((one) => one.includes('partition/p1')) ? true : undefined));
  await client.endAsync();
  return seen.join('\n');
}

it('a request to verify an alarm names a contact the service has', async () => {
  const id = '0b3f5c1e-0d1f-4c9b-8f5e-0d6f7d3c2b1a';
  const request = (contact_id: number) =>
    askSocket(site.socket, 'POST', '/api/v1/verifications', { verification_id: id, contact_id });
  const { body, status: code } = await request(987_654);
  expect([code, body.detail]).toEqual([409, expect.stringContaining('no contact of this id')]);
  const known = Number((await kept()).items[0].contact_id);
  const asked = await request(known);
  expect(asked).toMatchObject({ status: 200, body: { outcome: 'done' } });
  expect(asked.body.warning).toBeUndefined();
  // Who answers is bound to a contact that the service does not list: the answer goes up all the same, and says so.
  const answer = await askSocket(site.socket, 'POST', `/api/v1/verifications/${id}/answer`, {
    ...{ id: '7d3c2b1a-0d1f-4c9b-8f5e-0d6f0b3f5c1e', action: 'dispatch', code: personCode },
    issued_at: new Date().toISOString(),
  });
  expect(answer).toMatchObject({ status: 200, body: { outcome: 'accepted', warning: 'CONTACT_UNKNOWN' } });
  await eventually('the service has spoken', async () => {
    const { log } = (await site.cloud.control('log')) as { log: { method: string; path: string }[] };
    return log.some((one) => one.method === 'PATCH' && one.path.endsWith(`/alarm-verifications/${id}`))
      ? true
      : undefined;
  });
}, 60_000);

it('a site that is deleted is one trouble: protection and events go on, contacts go, and it comes back', async () => {
  await site.cloud.control('faults', {
    method: 'POST',
    body: { path: `${path}*`, mode: 'status', status: 404, body: {}, count: -1 },
  });
  await site.daemon.restart();
  await eventually('the trouble', async () => ((await troubles()).includes('site_gone') ? true : undefined), {
    timeoutMs: 60_000,
  });
  expect(await troubles()).not.toContain('arming_sync');
  expect((await status()).hints).toContainEqual(expect.objectContaining({ about: 'cloud site deleted' }));
  await eventually('the contacts go', async () => ((await kept()).items.length === 0 ? true : undefined));
  const reply = await site.lan.ask('arm', { partition: 'p1', mode: 'away' });
  expect(reply).toMatchObject({ outcome: 'done' });
  await eventually('the arming at the cloud', async () =>
    (await site.cloud.events()).some(({ body }) => body.payload.kind === 'armed_away') ? true : undefined,
  );
  await site.cloud.control('faults', { method: 'DELETE' });
  await site.daemon.restart();
  await eventually(
    'the end of the trouble',
    async () => ((await troubles()).includes('site_gone') ? undefined : true),
    {
      timeoutMs: 60_000,
    },
  );
  await withContacts();
  await site.lan.ask('disarm', { partition: 'p1', code: personCode });
}, 300_000);

it('without a way to the site nothing is kept of it', async () => {
  const files = ['cloud-mirror', 'cloud-mirror-key'].map((name) => join(site.folder, 'state', name));
  expect(files.map(existsSync)).toEqual([true, true]);
  const text = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, text.replace(/^( {2}partner|verification): .*\n/gm, ''));
  site.daemon.reload();
  await eventually('the files go', () => (files.some(existsSync) ? undefined : true), { timeoutMs: 30_000 });
  expect(await kept()).toEqual({ read_at: null, stale: true, left_out: 0, items: [] });
}, 60_000);
