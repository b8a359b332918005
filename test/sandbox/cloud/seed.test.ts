import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultSeed, type Seed, seedSchema } from '../../../src/sandbox/cloud/index.ts';
import { loadDealers } from '../../../src/sandbox/cloud/load-seed.ts';
import { World } from '../../../src/sandbox/cloud/world/world.ts';

const at = '2026-01-01T00:00:00.000Z';
const load = (seed: Seed, world = new World()) => {
  loadDealers(world, seed.dealers, { at, securityType: 4 });
  return world;
};
const site = (members: object = {}) => ({ external_site_id: 'a', name: 'A', timezone: 'UTC', ...members });
const seedOf = (...dealers: object[]) => seedSchema.parse({ dealers });

describe('seed', () => {
  it('config/sandbox-seed.example.json is one, with every part', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../config/sandbox-seed.example.json'), 'utf8');
    const seed = seedSchema.parse(JSON.parse(text));
    const world = load(seed);
    for (const table of ['dealers', 'sites', 'stations', 'contacts', 'devices', 'nvrs', 'partitions'] as const) {
      expect(world[table].size, table).toBeGreaterThan(0);
    }
    expect(seed.clients.length).toBeGreaterThan(0);
    expect(world.nvrs.get(501)?.device_ids).toEqual([402, 403]);
    expect(world.dealers.all().map(({ external_dealer_id }) => external_dealer_id)).toEqual(['acme', null]);
  });
  it('without a file there is a connected dealer with a site, devices and a contact', () => {
    const world = load(defaultSeed());
    expect(world.dealers.all()).toMatchObject([{ dealer_id: 1, external_dealer_id: 'acme' }]);
    expect(world.sites.all()).toMatchObject([{ site_id: 101, external_site_id: 'hq' }]);
    expect(world.devices.of(101)).toHaveLength(3);
    expect(world.contacts.of(101)).toHaveLength(1);
  });
  it('an id is so small that the next ones are still different from each other', () => {
    const world = load(seedOf({ dealer_id: 999_999_999_999_999 }, {}, {}));
    expect(world.dealers.size).toBe(3);
    expect(() => seedOf({ dealer_id: Number.MAX_SAFE_INTEGER })).toThrow('dealer_id');
  });
  it('a site has a partition of its own when none is described', () => {
    const world = load(seedOf({ sites: [site({ site_id: 7 })] }));
    expect(world.partitions.of(7)).toMatchObject([{ partition_id: '7-1', status: 'disarmed' }]);
  });
  it.each([
    ['an id that is taken', [{ dealer_id: 1 }, { dealer_id: 1 }], 'dealers[1].dealer_id'],
    [
      'a binding that is taken',
      [{ external_dealer_id: 'x' }, { external_dealer_id: 'x' }],
      'dealers[1].external_dealer_id',
    ],
    ['an external id twice', [{ sites: [site(), site()] }], 'dealers[0].sites[1].external_site_id'],
    [
      'a station nobody described',
      [{ sites: [site({ external_monitoring_station_id: 's' })] }],
      'dealers[0].sites[0].external_monitoring_station_id',
    ],
    [
      'a partition that is taken',
      [{ sites: [site({ partitions: [{ partition_id: 'p' }, { partition_id: 'p' }] })] }],
      'dealers[0].sites[0].partitions[1].partition_id',
    ],
    [
      'a device of nobody on a recorder',
      [{ sites: [site({ nvrs: [{ external_nvr_id: 'n', name: 'N', external_device_ids: ['d'] }] })] }],
      'dealers[0].sites[0].nvrs[0].external_device_ids',
    ],
  ])('names the place of %s, and loads nothing', (_, dealers, field) => {
    const world = load(seedOf({ company_name: 'Was there', dealer_id: 900 }));
    const before = world.snapshot();
    const attempt = () => load(seedOf(...(dealers as object[])), world);
    expect(attempt).toThrow(
      expect.objectContaining({ code: 'config_invalid', facts: expect.objectContaining({ field }) }),
    );
    expect(world.snapshot()).toEqual(before);
  });
  it.each([
    [{ dealer: [] }, ''],
    [{ dealers: [{ name: 'x' }] }, 'dealers.0'],
    [{ dealers: [{ sites: [site({ timezone: 'Mars/Base' })] }] }, 'dealers.0.sites.0.timezone'],
    [
      { dealers: [{ sites: [site({ devices: [{ device_type: 'siren' }] })] }] },
      'dealers.0.sites.0.devices.0.device_type',
    ],
    [{ clients: [{}] }, 'clients.0.client_id'],
    [{ dialect: { profile: 'C' } }, 'dialect.profile'],
  ])('refuses %j and names the place', (seed, place) => {
    const result = seedSchema.safeParse(seed);
    expect(result.error?.issues.map(({ path }) => path.join('.'))).toContain(place);
  });
});
