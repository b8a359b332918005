import { siteOperations } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { badField, onDealer, onSite } from '../access.ts';
import { partnerError, sentence } from '../answers.ts';
import { changed, namesOf } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import { brokenNames, readSiteQuery } from '../site-query.ts';
import { selectSites } from '../site-rows.ts';
import type { CloudState } from '../state.ts';
import { dealerOf, siteOf, siteWithBridgeOf, stationOf } from '../world/answers.ts';
import { addSite } from '../world/create.ts';
import type { DealerRow, SiteRow } from '../world/rows.ts';

/** Longest work on one list, milliseconds: a regular expression over thousands of long texts can take minutes. */
const listBudgetMs = 2000;

export function sitesResource(state: CloudState): Resource {
  const { world, dialect } = state;
  const bodyOf = (row: SiteRow) => siteOf(world, row, dialect.site_time_style);
  return partnerResource(state, siteOperations, {
    createSite: onDealer(state, ({ body }, { dealer_id }) => {
      const wrong = conflict(state, dealer_id, body);
      if (wrong !== undefined) return wrong;
      const at = state.time();
      const site = addSite(world, dealer_id, body, { at, securityType: dialect.security_type });
      world.note(site.site_id, { type: 'site_created', description: `site ${site.name} created`, at });
      return { status: 201, body: bodyOf(site) };
    }),
    listSites: onDealer(state, ({ query, identity: { exchange } }, dealer) => {
      const broken = brokenNames(exchange.search).map((field) => ({ field, message: 'has a broken escape' }));
      const read = broken.length > 0 ? { errors: broken } : readSiteQuery(query, dialect);
      if ('errors' in read) return partnerError(400, sentence(read.errors), read.errors);
      const deadline = state.monotonic() + listBudgetMs;
      const rows = selectSites(sourcesOf(state, dealer), read, () => state.monotonic() < deadline);
      return rows === undefined
        ? badField('filter', 'has a regex that takes too long here')
        : { status: 200, body: rows };
    }),
    getSite: onSite(state, (_, site) => ({
      status: 200,
      body: siteWithBridgeOf(world, site, dialect.site_time_style),
    })),
    updateSite: onSite(state, ({ body }, site) => {
      const wrong = conflict(state, site.dealer_id, body, site);
      if (wrong !== undefined) return wrong;
      const row = world.sites.put(changed(site, body));
      world.note(site.site_id, { type: 'site_updated', description: `changed: ${namesOf(body)}`, at: state.time() });
      return { status: 200, body: bodyOf(row) };
    }),
    deleteSite: onSite(state, (_, site) => {
      world.removeSite(site.site_id);
      return { status: 204 };
    }),
  });
}

interface Wanted {
  readonly external_site_id?: string | undefined;
  readonly monitoring_station_id?: number | null | undefined;
}

/** An external id that another site of the dealer has (S-065), or a station it does not have (S-064). */
function conflict(state: CloudState, dealerId: number, wanted: Wanted, self?: SiteRow): Reply | undefined {
  const { external_site_id: external } = wanted;
  const twin = state.world.sites.of(dealerId).find((site) => site.external_site_id === external);
  if (twin !== undefined && twin.site_id !== self?.site_id) {
    return badField('external_site_id', 'is used by another site of this dealer');
  }
  return unknownStation(state, dealerId, wanted.monitoring_station_id);
}

export function unknownStation(
  state: CloudState,
  dealerId: number,
  stationId: number | null | undefined,
): Reply | undefined {
  if (stationId === undefined || stationId === null) return undefined;
  const station = state.world.stations.get(stationId);
  if (station?.dealer_id === dealerId) return undefined;
  return badField('monitoring_station_id', 'is no monitoring station of this dealer');
}

function sourcesOf(state: CloudState, dealer: DealerRow) {
  const { world, dialect } = state;
  return world.sites.of(dealer.dealer_id).map((row) => {
    const station = row.monitoring_station_id === null ? undefined : world.stations.get(row.monitoring_station_id);
    return {
      sites: siteOf(world, row, dialect.site_time_style),
      monitoring_stations: station === undefined ? undefined : stationOf(station),
      dealers: dealerOf(dealer),
    };
  });
}
