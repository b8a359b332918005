import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { publicOperations } from '#cloud/contract/index.ts';
import { defineOperation } from '#lib/contract/operation.ts';
import type { Reply } from '#lib/contract/server.ts';
import { apiRules, findKeySite, keyReaches, numberOf, type Params } from '../access.ts';
import { apiError, partnerError } from '../answers.ts';
import { pageOfLog } from '../logs.ts';
import { openRules, type Resource, resource } from '../resource.ts';
import { pictureReply } from '../snapshot.ts';
import type { CloudState } from '../state.ts';
import type { Grant } from '../tokens.ts';
import { setArming } from '../world/arming.ts';
import type { DeviceRow, PartitionRow, SiteRow } from '../world/rows.ts';

const nothing = (what: string): Reply => apiError(404, 'not_found', `there is no ${what} with this id`);

/** The public interface: the one known path and those by analogy (S-178, S-179). */
export function publicResource(state: CloudState): Resource {
  const { world } = state;
  const partitionOf = (params: Params, grant: Grant | undefined): PartitionRow | undefined => {
    const partition = world.partitions.get(params.partition_id ?? '');
    const site = partition && world.sites.get(partition.site_id);
    return site !== undefined && keyReaches(grant, site) ? partition : undefined;
  };
  const cameraOf = (params: Params, grant: Grant | undefined): DeviceRow | undefined => {
    const device = world.devices.get(numberOf(params.device_id));
    const site = device && findKeySite(state, device.site_id, grant);
    return site !== undefined && device?.device_type === 'camera' ? device : undefined;
  };
  const siteOf = (params: Params, grant: Grant | undefined): SiteRow | undefined =>
    findKeySite(state, numberOf(params.site_id), grant);
  const missing = (params: Params, grant: Grant | undefined): Reply | undefined => {
    if (params.partition_id !== undefined) return partitionOf(params, grant) ? undefined : nothing('partition');
    if (params.device_id !== undefined) return cameraOf(params, grant) ? undefined : nothing('camera');
    return siteOf(params, grant) ? undefined : nothing('site');
  };
  const setTo = (status: 'armed' | 'disarmed') => (params: Params, grant: Grant | undefined) => {
    const partition = partitionOf(params, grant);
    if (partition === undefined) return nothing('partition');
    const { partition_id, site_id } = partition;
    setArming(world, { siteId: site_id, partition: partition_id, to: status, at: state.time() });
    return ok({ partition_id, status });
  };
  return resource(
    publicOperations,
    {
      armPartition: ({ params, identity: { grant } }) => setTo('armed')(params, grant),
      disarmPartition: ({ params, identity: { grant } }) => setTo('disarmed')(params, grant),
      getPartition: ({ params, identity: { grant } }) => {
        const partition = partitionOf(params, grant);
        return partition === undefined ? nothing('partition') : ok(shown(partition));
      },
      bypassZones: ({ params, body, identity: { grant } }) => {
        const partition = partitionOf(params, grant);
        if (partition === undefined) return nothing('partition');
        const bypassed_zones = [...new Set([...partition.bypassed_zones, ...body.zones])];
        if (bypassed_zones.length > 500) return apiError(400, 'invalid_request', '500 zones are bypassed already');
        const description = `partition ${partition.partition_id}: ${body.zones.length} zones bypassed`;
        const row = world.partitions.put({ ...partition, bypassed_zones });
        world.note(row.site_id, { type: 'bypass', description, at: state.time() });
        return ok(shown(row));
      },
      captureSnapshot: ({ params, header, identity: { grant } }) => {
        const camera = cameraOf(params, grant);
        if (camera === undefined) return nothing('camera');
        world.note(camera.site_id, { type: 'snapshot', description: `camera ${camera.device_id}`, at: state.time() });
        if (wantsPicture(header('accept'))) return pictureReply(String(camera.device_id), state.now());
        const token = randomBytes(24).toString('base64url');
        state.pictures.set(token, { deviceId: String(camera.device_id), at: state.now() });
        return ok({ url: `${state.publicUrl}/pictures/${token}` });
      },
      dispatchResponder: ({ params, body, identity: { grant } }) => {
        const site = siteOf(params, grant);
        if (site === undefined) return nothing('site');
        const dispatch_id = randomUUID();
        const description = `${body.responder ?? 'guard'} requested, dispatch ${dispatch_id}`;
        world.note(site.site_id, { type: 'dispatch', description, at: state.time() });
        return { ...ok({ dispatch_id, status: 'requested' }), status: 202 };
      },
      getAuditLog: ({ params, query, identity: { grant } }) => {
        const site = siteOf(params, grant);
        return site === undefined ? nothing('site') : ok(pageOfLog(world.activity.of(site.site_id), query));
      },
    },
    { ...apiRules(state), before: (_, params, { grant }) => missing(params, grant) },
  );
}

const ok = (data: object): Reply => ({ status: 200, body: { data } });

const shown = ({ partition_id, status, bypassed_zones }: PartitionRow) => ({
  partition_id,
  status,
  ready: true,
  bypassed_zones,
});

/** JSON unless a picture is asked for by name. */
const wantsPicture = (accept: string | undefined): boolean => /(^|[\s,])image\/(jpeg|\*)/i.test(accept ?? '');

const readPicture = defineOperation({
  id: 'readPicture',
  method: 'GET',
  path: '/pictures/{token}',
  base: 'base',
  summary: 'A picture that was taken on demand',
  params: z.object({ token: z.string() }),
  responses: {
    200: { description: 'The picture', media: 'image/jpeg' },
    404: { description: 'The address was never handed out' },
  },
  // The random path is the permission.
  auth: [],
  repeatable: 'yes',
  rules: ['S-179'],
  tags: ['public'],
});

/** Where the addresses of pictures lead to. */
export function picturesResource(state: CloudState): Resource {
  return resource(
    { readPicture },
    {
      readPicture: ({ params }) => {
        const taken = state.pictures.get(params.token);
        if (taken === undefined) return partnerError(404, 'this address was never handed out');
        return pictureReply(taken.deviceId, taken.at);
      },
    },
    openRules,
  );
}
