import { deviceCreate, deviceOperations, deviceRef, deviceUpdate } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { isReply, notFound, numberOf, onSite, type Params } from '../access.ts';
import { failItem, type ItemFailure, runBulk } from '../bulk.ts';
import { changed, namesOf } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { deviceOf } from '../world/answers.ts';
import { addDevice } from '../world/create.ts';
import type { DeviceRow, SiteRow } from '../world/rows.ts';

/** Code of the partner that registers devices through the interface; the service's own are not published (S-131). */
const partnerCode = 'partner_a';

export function devicesResource(state: CloudState): Resource {
  const { world, dialect } = state;
  const find = (params: Params, site: SiteRow): DeviceRow | Reply =>
    deviceAt(state, site, numberOf(params.deviceId)) ?? notFound('device');
  const note = (site: SiteRow, word: string, description: string) =>
    world.note(site.site_id, { type: `device_${word}`, description, at: state.time() });
  return partnerResource(
    state,
    deviceOperations,
    {
      createDevices: onSite(state, ({ body, identity: { exchange } }, site) => {
        const known = new Set(world.devices.of(site.site_id).map((device) => device.external_device_id));
        const zones = new Set(world.devices.of(site.site_id).map((device) => device.zone_number));
        const result = runBulk(body, {
          item: deviceCreate,
          strict: dialect.strict_unknown,
          apply: (item) => {
            if (known.has(item.external_device_id)) {
              return failItem(dialect.duplicate_status, 'external_device_id: is used by another device of this site');
            }
            const device = addDevice(world, site.site_id, item, { at: state.time(), registeredBy: partnerCode });
            known.add(item.external_device_id);
            // Unique zones are advice, so only a word about it (S-130).
            if (zones.has(item.zone_number)) exchange.note = `zone ${item.zone_number} is used more than once`;
            zones.add(item.zone_number);
            note(site, 'created', `${device.device_type} ${device.device_id} created in zone ${device.zone_number}`);
            return deviceOf(device);
          },
        });
        return { status: 201, body: result };
      }),
      listDevices: onSite(state, (_, site) => ({ status: 200, body: world.devices.of(site.site_id).map(deviceOf) })),
      getDevice: onSite(state, ({ params }, site) => {
        const device = find(params, site);
        return isReply(device) ? device : { status: 200, body: deviceOf(device) };
      }),
      updateDevices: onSite(state, ({ body }, site) => {
        const apply = ({ device_id, ...change }: ReturnType<typeof deviceUpdate.parse>) => {
          const device = deviceAt(state, site, device_id);
          if (device === undefined) return noDevice(device_id);
          const row = world.devices.put({ ...changed(device, change), updated_at: state.time() });
          note(site, 'updated', `device ${device_id} changed: ${namesOf(change)}`);
          const { device_type, zone_number, name, updated_at } = row;
          return { device_id, device_type, zone_number, name, updated_at };
        };
        return { status: 200, body: runBulk(body, { item: deviceUpdate, strict: dialect.strict_unknown, apply }) };
      }),
      // A repeated id finds its device gone and fails with 404, as an unknown one does (S-136).
      deleteDevices: onSite(state, ({ body }, site) => {
        const apply = ({ device_id }: { device_id: number }) => {
          const device = deviceAt(state, site, device_id);
          if (device === undefined) return noDevice(device_id);
          removeDevice(state, device);
          note(site, 'deleted', `device ${device_id} deleted`);
          return { device_id, device_type: device.device_type, zone_number: device.zone_number };
        };
        const items = body.deviceIds.map((device_id) => ({ device_id }));
        return { status: 200, body: runBulk(items, { item: deviceRef, apply }) };
      }),
    },
    (params, _, site) => (params.deviceId === undefined || site === undefined ? undefined : find(params, site)),
  );
}

const noDevice = (deviceId: number): ItemFailure => failItem(404, `device_id: there is no device ${deviceId} here`);

/** The device with this id, if it is one of the site (S-007). */
export function deviceAt(state: CloudState, site: SiteRow, deviceId: number): DeviceRow | undefined {
  const device = state.world.devices.get(deviceId);
  return device?.site_id === site.site_id ? device : undefined;
}

function removeDevice(state: CloudState, { device_id, site_id }: DeviceRow): void {
  state.world.devices.delete(device_id);
  for (const nvr of state.world.nvrs.of(site_id).filter((one) => one.device_ids.includes(device_id))) {
    state.world.nvrs.put({ ...nvr, device_ids: nvr.device_ids.filter((id) => id !== device_id) });
  }
}
