import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { createCloudClient, createManagement, interfaceWatch, type Management } from '#cloud/client/index.ts';
import { defaultDialect } from '#cloud/contract/index.ts';
import { createDeviceSync, type DeviceSync, type DeviceSyncOptions, type Wanted } from '#cloud/sync/index.ts';
import { systemClock } from '#lib/clock.ts';
import type { Transport } from '#lib/contract/client.ts';
import { Secret } from '#lib/secret.ts';
import { type SandboxCloud, seedSchema, startCloud } from '#sandbox/cloud/index.ts';
import { quiet } from '../../support.ts';
import { memoryOf } from '../audio-rig.ts';

export const place = { dealerId: '1', siteId: '1' };
export const sitePath = '/partner/v1/dealers/1/sites/1';
export const devicesPath = `${sitePath}/devices`;
export const nvrsPath = `${sitePath}/nvrs`;
const secret = 'device-partner-secret';
const { signal } = new AbortController();

export type SeedDevice = Record<string, unknown>;

export interface Rig {
  readonly cloud: SandboxCloud;
  readonly kept: Map<string, string>;
  /** Of another client, beside every fault of the transport. */
  readonly operator: Management;
  wanted: Wanted;
  sync: DeviceSync;
  end(): Promise<void>;
  /** Another one over what is kept, as after a restart; the former has ended. */
  restart(): Promise<void>;
  devices(): Promise<readonly Record<string, unknown>[]>;
  /** Method and path of the writes that arrived, faults included. */
  writes(): readonly string[];
  metric(name: string): Promise<string>;
}

interface RigOptions {
  readonly devices?: readonly SeedDevice[];
  readonly wanted?: Partial<Wanted>;
  readonly dialect?: Record<string, unknown>;
  readonly transport?: (real: Transport) => Transport;
  readonly more?: Partial<DeviceSyncOptions>;
}

/** The reconciliation over the real client against the sandbox; ends with the test. */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const rig = await makeRig(options);
  onTestFinished(() => rig.end());
  return rig;
}

/** The same, for whoever ends it. */
export async function makeRig(options: RigOptions = {}): Promise<Rig> {
  const cloud = await startCloud({
    listen: { host: '127.0.0.1', port: 0 },
    clients: [{ clientId: 'partner-1', clientSecret: secret }],
    tokenLifeS: 3600,
    dialect: options.dialect ?? {},
    dealers: seedSchema.parse({
      dealers: [
        {
          ...{ dealer_id: 1, external_dealer_id: 'd1' },
          sites: [
            {
              ...{ site_id: 1, external_site_id: 'hq', name: 'Shop', timezone: 'Europe/Berlin' },
              devices: options.devices ?? [],
            },
          ],
        },
      ],
    }).dealers,
  });
  const client = createCloudClient({
    ...{ baseUrl: cloud.url, authUrl: cloud.url, clientId: 'none', keys: { current: { pem: new Secret('') } } },
    partner: { clientId: 'partner-1', secret: new Secret(secret) },
    ...{ clock: systemClock(), log: quiet },
  });
  const { transport } = client.http;
  const { partnerTokens } = client;
  const managed = (way: Transport) =>
    createManagement({
      transport: way,
      sources: partnerTokens === undefined ? {} : { partner: partnerTokens },
      ...{ watch: interfaceWatch({ onChange: () => undefined }), clock: systemClock(), log: quiet },
      ...{ dialect: defaultDialect(), retry: { tries: 2, baseMs: 1, capMs: 1 } },
      rate: { perSecond: 1e6, burst: 1e6 },
    });
  const manage = managed(options.transport?.(transport) ?? transport);
  const operator = managed(transport);
  const kept = new Map<string, string>();
  const registries: Registry[] = [];
  const made = () => {
    const metrics = new Registry();
    registries.push(metrics);
    return createDeviceSync({
      ...{ manage, place, memory: memoryOf(kept), clock: systemClock(), log: quiet, metrics },
      wanted: () => rig.wanted,
      ...{ random: () => 0.5, waits: { baseMs: 1, capMs: 5, spreadMs: 0 } },
      ...options.more,
    });
  };
  const rig: Rig = {
    ...{ cloud, kept, operator },
    wanted: { devices: [], nvrs: [], ...options.wanted },
    // Made below, when `wanted` can be asked.
    ...({} as Pick<Rig, 'sync'>),
    async end() {
      await rig.sync.stop();
      await client.close();
      await cloud.close();
    },
    async restart() {
      await rig.sync.stop();
      rig.sync = made();
    },
    devices: async () => (await operator.listDevices({ params: place, signal })).value.map((device) => ({ ...device })),
    writes: () =>
      cloud
        .log()
        .filter(({ method, path }) => method !== 'GET' && path.startsWith('/partner/'))
        .map(({ method, path }) => `${method} ${path.slice(sitePath.length)}`),
    metric: async (name) =>
      ((await registries.at(-1)?.metrics()) ?? '')
        .split('\n')
        .filter((line) => line.startsWith(name))
        .join('\n'),
  };
  rig.sync = made();
  return rig;
}

export const camera = (id: string, more: Partial<Wanted['devices'][number]> = {}): Wanted['devices'][number] => ({
  ...{ external_device_id: id, device_type: 'camera', name: `Camera ${id}`, furtherZones: [] },
  ...more,
});

export const bridge = (more: Partial<Wanted['devices'][number]> = {}): Wanted['devices'][number] => ({
  ...{ external_device_id: 'sw-1', device_type: 'bridge', name: 'Bridge', furtherZones: [] },
  ...more,
});
