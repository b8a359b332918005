import { siteLinkOperations } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { badField, onSite } from '../access.ts';
import { changed, namesOf } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { siteOf } from '../world/answers.ts';
import type { SiteRow } from '../world/rows.ts';
import { unknownStation } from './sites.ts';

export function siteLinksResource(state: CloudState): Resource {
  const { world, dialect } = state;
  const answer = (row: SiteRow, type: string, description: string): Reply => {
    world.note(row.site_id, { type, description, at: state.time() });
    return { status: 200, body: siteOf(world, row, dialect.site_time_style) };
  };
  /** Link and unlink show no body, so one is asked for only where the dialect says so (S-073). */
  const link = (linked: boolean) => (raw: Uint8Array, site: SiteRow) => {
    if (dialect.link_body === 'empty_object' && raw.length === 0) return badField('body', 'must be an object');
    const word = linked ? 'linked' : 'unlinked';
    return answer(world.sites.put({ ...site, linked }), `site_${word}`, `site ${word}`);
  };
  return partnerResource(state, siteLinkOperations, {
    changeActivation: onSite(state, ({ body, raw }, site) => {
      if (dialect.activation_body === 'empty_object' && raw.length === 0) return badField('body', 'must be an object');
      const wanted = dialect.activation_sets ? body?.is_activated : undefined;
      if (dialect.activation_body === 'is_activated' && body?.is_activated === undefined) {
        return badField('is_activated', 'is required');
      }
      const is_activated = wanted ?? (site.is_activated === 1 ? 0 : 1);
      const word = is_activated === 1 ? 'activated' : 'deactivated';
      return answer(world.sites.put({ ...site, is_activated }), `site_${word}`, `site ${word}`);
    }),
    linkSite: onSite(state, ({ raw }, site) => link(true)(raw, site)),
    unlinkSite: onSite(state, ({ raw }, site) => link(false)(raw, site)),
    updateMonitoringBindings: onSite(
      state,
      ({ body }, site) =>
        unknownStation(state, site.dealer_id, body.monitoring_station_id) ??
        answer(world.sites.put(changed(site, body)), 'monitoring_bindings', `changed: ${namesOf(body)}`),
    ),
  });
}
