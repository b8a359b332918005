import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CloudDeviceList, StatusDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { siteward } from '../cli/run-cli.ts';
import { askSocket } from '../harness/control.ts';
import { type Site, startSite } from '../harness/site.ts';

const secret = 'purge-partner-secret';
const person = {
  external_contact_id: 'k1',
  first_name: 'Zwetlana',
  last_name: 'Quiddelbacher',
  phone_number: '+49 30 5550177',
};
const words = ['Zwetlana', 'Quiddelbacher', '5550177', 'cloud-mirror'];

let site: Site;
let before = '';
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    siteYaml: 'id: "4711", dealer_id: "17"',
    cloudYaml: '  devices: manual\n  partner: { client_id: partner-9, client_secret: { env: PARTNER } }',
    // As under systemd, which starts it again after a reset.
    env: { PARTNER: secret, INVOCATION_ID: '5f3b2c0d' },
    yaml: () => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
nvrs: [ { id: rec, name: Recorder, url: "http://127.0.0.1:9/onvif/device_service", channels: [ { id: door, position: 1 } ] } ]
supervision: { cloud: { report_after: 1h }, cameras: { report_after: 1h } }
verification: { contacts: [ { user: anna, contact_id: 7 } ] }
`,
    async prepare(cloud) {
      const place = { site_id: 4711, external_site_id: 'proof', name: 'Proof', timezone: 'Europe/Berlin' };
      const dealer = { dealer_id: 17, external_dealer_id: 'd17', sites: [{ ...place, contacts: [person] }] };
      await cloud.control('dealers', { method: 'POST', body: dealer });
      await cloud.control('clients', { method: 'POST', body: { client_id: 'partner-9', client_secret: secret } });
    },
  });
  before = readFileSync(site.config, 'utf8');
}, 120_000);
afterAll(() => site?.close());

const kept = async () => (await askSocket(site.socket, 'GET', '/api/v1/cloud/contacts')).body.items as unknown[];
const known = async () => (await site.api('/api/v1/cloud/devices')) as CloudDeviceList;
const orders = async () => {
  const { log } = (await site.cloud.control('log')) as { log: { method: string; path: string }[] };
  return log.filter(({ method, path }) => method !== 'GET' && /\/sites\/4711\/(devices|nvrs)/.test(path)).length;
};
const withContacts = () =>
  eventually('the contacts', async () => ((await kept()).length > 0 ? true : undefined), { timeoutMs: 45_000 });
/** Names of files in the state directory, and those that say something of a contact. */
const state = () => {
  const folder = join(site.folder, 'state');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const isTelling = (name: string) => {
    const path = join(folder, name);
    if (!statSync(path).isFile() || name === 'reserve') return false;
    const bytes = readFileSync(path);
    return words.slice(0, 3).some((word) => bytes.includes(word));
  };
  return { mirror: names.filter((name) => name.startsWith('cloud-mirror')).sort(), telling: names.filter(isTelling) };
};

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
it('with cloud.devices: manual nothing is told by itself, and nvr sync tells all when somebody asks', async () => {
  await withContacts();
  const plan = await siteward(['device', 'plan', '--socket', site.socket]);
  expect(plan).toMatchObject({ code: 1, out: expect.stringMatching(/^3 to create, /) });
  expect(await known()).toMatchObject({ mode: 'manual', state: 'behind' });
  await site.daemon.restart();
  await withContacts();
  // As long as it takes to read the contacts twice, it has not told anything.
  expect(await orders()).toBe(0);
  expect((await siteward(['status', '--socket', site.socket])).out).toMatch(/devices in the cloud: 0 of 3 known/);
  const dry = await siteward(['nvr', 'sync', '--dry-run', '--socket', site.socket]);
  expect(dry).toMatchObject({ code: 1, out: expect.stringContaining('recorders to create') });
  expect(await orders()).toBe(0);
  const { code, out } = await siteward(['nvr', 'sync', '--socket', site.socket]);
  expect([code, out]).toEqual([0, expect.stringMatching(/recorder created +rec\nnow of recorder +rec: door/)]);
  expect(out).not.toContain('sw-proof');
  const after = await orders();
  expect(await siteward(['nvr', 'sync', '--socket', site.socket])).toMatchObject({
    code: 0,
    out: expect.stringContaining('nothing was to be told'),
  });
  expect(await orders()).toBe(after);
  const { out: listed } = await siteward(['nvr', 'list', '--json', '--socket', site.socket]);
  expect(JSON.parse(listed)).toMatchObject({ external_id: 'rec', state: 'known', cloud_id: expect.any(String) });
}, 180_000);

it('the cloud that is forgotten takes the contacts and their key off the disk', async () => {
  await withContacts();
  await eventually('it is on disk', () =>
    state().mirror.join() === 'cloud-mirror,cloud-mirror-key' ? true : undefined,
  );
  expect(state().telling).toEqual([]);
  const answer = await askSocket(site.socket, 'POST', '/api/v1/danger/forget-cloud', { confirm: 'proof' });
  expect(answer).toMatchObject({ status: 200, body: { taken: true } });
  // What has no effect without it goes with it; the rest stays.
  const text = readFileSync(site.config, 'utf8');
  expect(text).not.toMatch(/^(cloud|verification):/m);
  expect(text).toMatch(/^supervision: *\{ *cameras: *\{ *report_after: *1h *\} *\}/m);
  await eventually('the files go', () => (state().mirror.length === 0 ? true : undefined), { timeoutMs: 30_000 });
  expect([await kept(), state().telling]).toEqual([[], []]);
  const { cloud } = (await site.api('/api/v1/status')) as StatusDocument;
  expect(cloud?.devices).toBeUndefined();
  await site.daemon.restart();
  expect([await kept(), state()]).toEqual([[], { mirror: [], telling: [] }]);
}, 120_000);

it('a factory reset takes them off the disk, too', async () => {
  writeFileSync(site.config, before);
  await site.daemon.restart();
  await withContacts();
  await eventually('it is on disk', () =>
    state().mirror.join() === 'cloud-mirror,cloud-mirror-key' ? true : undefined,
  );
  const reset = { confirm: 'proof', even_undelivered: true };
  expect(await askSocket(site.socket, 'POST', '/api/v1/danger/factory-reset', reset)).toMatchObject({ status: 202 });
  await site.daemon.ended(30_000);
  await site.daemon.restart();
  expect([await kept(), state()]).toEqual([[], { mirror: [], telling: [] }]);
}, 120_000);
