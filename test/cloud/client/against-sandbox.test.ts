import pino from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CloudClient, createCloudClient, type InterfaceChange } from '#cloud/client/index.ts';
import { defaultDialect } from '#cloud/contract/index.ts';
import { systemClock } from '#lib/clock.ts';
import { Secret } from '#lib/secret.ts';
import { defaultSeed, type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { keyPair } from '../support.ts';

const { signal } = new AbortController();
const changes: InterfaceChange[] = [];
let sandbox: SandboxCloud;
let cloud: CloudClient;
let params: { dealerId: string; siteId: string };

beforeAll(async () => {
  const key = keyPair();
  sandbox = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [
      { clientId: 'bridge-1', publicKeyPem: key.publicPem },
      { clientId: 'partner-1', clientSecret: 's3cr+t/%:x' },
    ],
    dealers: defaultSeed().dealers,
    tokenLifeS: 3600,
  });
  cloud = createCloudClient({
    baseUrl: sandbox.url,
    authUrl: sandbox.url,
    extBaseUrl: sandbox.url,
    clientId: 'bridge-1',
    keys: { current: { pem: key.pem } },
    partner: { clientId: 'partner-1', secret: new Secret('s3cr+t/%:x') },
    apiKey: new Secret(sandbox.issueToken('api_key', { lifetimeS: 3600 })),
    dialect: { ...defaultDialect(), activation_body: 'none' },
    clock: systemClock(),
    log: pino({ level: 'silent' }),
    onInterfaceChange: (change) => changes.push(change),
  });
  params = { dealerId: String(sandbox.dealers()[0]?.dealer_id), siteId: String(sandbox.sites()[0]?.site_id) };
});
afterAll(async () => {
  await cloud.close();
  await sandbox.close();
  // What the sandbox answers is what is described: the client finds nothing to wonder about.
  expect(changes).toEqual([]);
});

const body = { external_site_id: 'new, with a comma', name: 'New', timezone: 'Europe/Berlin' };

describe('against the sandbox', () => {
  it('a site is created once although the reply to it was lost, activated, and deleted', async () => {
    const { manage } = cloud;
    const path = `/partner/v1/dealers/${params.dealerId}/sites`;
    sandbox.plant({ path, method: 'POST', mode: 'reset', when: 'after', count: 1 });
    const created = await manage.createSite({ params, body, signal });
    const there = { dealerId: params.dealerId, siteId: created.value.site_id };
    const all: string[] = [];
    for await (const site of manage.listAllSites({ params, signal })) all.push(site.site_id);
    expect(all.filter((id) => id === there.siteId)).toHaveLength(1);
    const activation = `${path}/${there.siteId}/activation-status`;
    sandbox.plant({ path: activation, method: 'PATCH', mode: 'reset', when: 'after', count: 1 });
    expect((await manage.setActivation({ params: there, active: true, signal })).value.is_activated).toBe(1);
    sandbox.plant({ path: `${path}/${there.siteId}`, method: 'DELETE', mode: 'reset', when: 'after', count: 1 });
    await manage.deleteSite({ params: there, signal });
    await expect(manage.getSite({ params: there, signal })).rejects.toMatchObject({ code: 'cloud_not_found' });
  });

  it('devices are created once each, changed and deleted, with what failed on its own', async () => {
    const { manage } = cloud;
    const path = `/partner/v1/dealers/${params.dealerId}/sites/${params.siteId}/devices`;
    sandbox.plant({ path, method: 'POST', mode: 'reset', when: 'after', count: 1 });
    const items = ['x-1', 'x-2'].map(
      (id) => ({ external_device_id: id, device_type: 'camera', zone_number: '9' }) as const,
    );
    const created = await manage.createDevices({ params, items, signal });
    expect([created.allOk, created.succeeded(() => {}).length]).toEqual([true, 2]);
    const listed = (await manage.listDevices({ params, signal })).value;
    const ids = listed.filter((one) => one.external_device_id?.startsWith('x-')).map((one) => one.device_id);
    expect(ids).toHaveLength(2);
    const changed = await manage.updateDevices({
      params,
      items: [
        { device_id: Number(ids[0]), name: 'Yard' },
        { device_id: 999_999, name: 'Nobody' },
      ],
      signal,
    });
    expect(changed.failed.map(({ input, status }) => [input.device_id, status])).toEqual([[999_999, 404]]);
    const deleted = await manage.deleteDevices({ params, items: [...ids, '999999'], signal });
    expect(deleted.failed.map(({ input }) => input)).toEqual(['999999']);
  });

  it('every question of the interface is answered as described', async () => {
    const { manage } = cloud;
    const site = { site_id: params.siteId };
    await manage.getDealer({ params, signal });
    await manage.getSite({ params, signal });
    await manage.listMonitoringStations({ params, signal });
    await manage.listContacts({ params, signal });
    await manage.getArmingSettings({ params, signal });
    await manage.getArmingStatus({ params, signal });
    await manage.listActivityLogs({ params, signal });
    await manage.listAudioMessages({ params: site, signal });
    await manage.getAuditLog({ params: site, signal });
  });

  it('a revoked token is replaced within the call', async () => {
    await cloud.manage.getDealer({ params, signal });
    sandbox.revoke();
    expect((await cloud.manage.getDealer({ params, signal })).value.dealer_id).toBe(params.dealerId);
  });

  it('a refusal names its field', async () => {
    const call = cloud.manage.updateSite({ params, body: { timezone: 'Mars' }, signal });
    await expect(call).rejects.toMatchObject({ code: 'cloud_refused', facts: { status: 400, field: 'timezone' } });
  });
});
