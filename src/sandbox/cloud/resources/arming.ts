import {
  type ArmingState,
  armingSettingOperations,
  armingStatusBody,
  armingStatusOperations,
  armingStatusRequest,
} from '#cloud/contract/index.ts';
import { onSite } from '../access.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { armingOf, setArming } from '../world/arming.ts';
import type { SiteRow } from '../world/rows.ts';

export function armingSettingsResource(state: CloudState): Resource {
  const { world } = state;
  return partnerResource(state, armingSettingOperations, {
    getArmingSettings: onSite(state, (_, { security_type }) => ({ status: 200, body: { security_type } })),
    updateArmingSettings: onSite(state, ({ body: { security_type } }, site) => {
      world.sites.put({ ...site, security_type });
      const description = `security type ${site.security_type} became ${security_type}`;
      world.note(site.site_id, { type: 'arming_settings', description, at: state.time() });
      return { status: 200, body: { security_type } };
    }),
  });
}

/** Both bodies are in the form the dialect chose (S-142). */
export function armingStatusResource(state: CloudState): Resource {
  const { world, dialect } = state;
  const { getArmingStatus, updateArmingStatus } = armingStatusOperations;
  const schema = armingStatusRequest(dialect.arming_status_form);
  const operations = {
    getArmingStatus,
    updateArmingStatus: { ...updateArmingStatus, body: { ...updateArmingStatus.body, schema } },
  };
  const answer = (siteId: number, site: SiteRow) => {
    const updated_at = world.sites.get(siteId)?.arming_updated_at ?? site.arming_updated_at;
    const status = { ...armingStatusBody(dialect.arming_status_form, armingOf(world, siteId)), updated_at };
    return { status: 200, body: dialect.arming_status_wrapped ? { data: status } : status };
  };
  return partnerResource(state, operations, {
    getArmingStatus: onSite(state, (_, site) => answer(site.site_id, site)),
    updateArmingStatus: onSite(state, ({ body }: { body: ArmingState } & SiteCall, site) => {
      setArming(world, { siteId: site.site_id, to: body, at: state.time() });
      return answer(site.site_id, site);
    }),
  });
}

type SiteCall = Parameters<ReturnType<typeof onSite>>[0];
