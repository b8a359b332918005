import { deviceRef, nvrOperations } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { badField, isReply, notFound, numberOf, onSite, type Params } from '../access.ts';
import { failItem, runBulk } from '../bulk.ts';
import { changed, namesOf } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { deviceOf, nvrOf } from '../world/answers.ts';
import { addNvr } from '../world/create.ts';
import type { NvrRow, SiteRow } from '../world/rows.ts';
import { deviceAt } from './devices.ts';

export function nvrsResource(state: CloudState): Resource {
  const { world } = state;
  const find = (params: Params, site: SiteRow): NvrRow | Reply => {
    const nvr = world.nvrs.get(numberOf(params.nvrId));
    return nvr?.site_id === site.site_id ? nvr : notFound('recorder');
  };
  const taken = (site: SiteRow, external: string | undefined, self?: NvrRow): Reply | undefined => {
    const twin = world.nvrs.of(site.site_id).find((known) => known.external_nvr_id === external);
    if (twin === undefined || twin.nvr_id === self?.nvr_id) return undefined;
    return badField('external_nvr_id', 'is used by another recorder of this site');
  };
  const note = (site: SiteRow, word: string, description: string) =>
    world.note(site.site_id, { type: `nvr_${word}`, description, at: state.time() });
  return partnerResource(
    state,
    nvrOperations,
    {
      createNvr: onSite(state, ({ body }, site) => {
        const wrong = taken(site, body.external_nvr_id);
        if (wrong !== undefined) return wrong;
        const nvr = addNvr(world, site.site_id, body, { at: state.time() });
        note(site, 'created', `recorder ${nvr.nvr_id} created`);
        return { status: 201, body: nvrOf(nvr) };
      }),
      updateNvr: onSite(state, ({ params, body }, site) => {
        const nvr = find(params, site);
        if (isReply(nvr)) return nvr;
        const wrong = taken(site, body.external_nvr_id, nvr);
        if (wrong !== undefined) return wrong;
        const row = world.nvrs.put({ ...changed(nvr, body), updated_at: state.time() });
        note(site, 'updated', `recorder ${nvr.nvr_id} changed: ${namesOf(body)}`);
        return { status: 200, body: nvrOf(row) };
      }),
      // Adding a device that is there already is no failure.
      addNvrDevices: onSite(state, ({ params, body }, site) => {
        const nvr = find(params, site);
        if (isReply(nvr)) return nvr;
        const ids = new Set(nvr.device_ids);
        const apply = ({ device_id }: { device_id: number }) => {
          const device = deviceAt(state, site, device_id);
          if (device === undefined) return failItem(404, `device_id: there is no device ${device_id} here`);
          if (!ids.has(device_id)) note(site, 'device_added', `device ${device_id} added to recorder ${nvr.nvr_id}`);
          ids.add(device_id);
          return deviceOf(device);
        };
        const items = body.deviceIds.map((device_id) => ({ device_id }));
        const result = runBulk(items, { item: deviceRef, apply });
        world.nvrs.put({ ...nvr, device_ids: [...ids] });
        return { status: 200, body: result };
      }),
    },
    (params, _, site) => (params.nvrId === undefined || site === undefined ? undefined : find(params, site)),
  );
}
