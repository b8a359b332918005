import { monitoringStationOperations } from '#cloud/contract/index.ts';
import type { Reply } from '#lib/contract/server.ts';
import { badField, isReply, notFound, numberOf, onDealer, type Params } from '../access.ts';
import { changed } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { stationOf } from '../world/answers.ts';
import { addStation } from '../world/create.ts';
import type { DealerRow, StationRow } from '../world/rows.ts';

export function stationsResource(state: CloudState): Resource {
  const { world } = state;
  const find = (params: Params, dealer: DealerRow): StationRow | Reply => {
    const station = world.stations.get(numberOf(params.monitoringStationId));
    return station?.dealer_id === dealer.dealer_id ? station : notFound('monitoring station');
  };
  return partnerResource(
    state,
    monitoringStationOperations,
    {
      createMonitoringStation: onDealer(state, ({ body }, { dealer_id }) => {
        const { external_monitoring_station_id: external } = body;
        if (world.stations.of(dealer_id).some((known) => known.external_monitoring_station_id === external)) {
          return badField('external_monitoring_station_id', 'is used by another monitoring station of this dealer');
        }
        return { status: 201, body: stationOf(addStation(world, dealer_id, body, { at: state.time() })) };
      }),
      listMonitoringStations: onDealer(state, (_, { dealer_id }) => ({
        status: 200,
        body: world.stations.of(dealer_id).map(stationOf),
      })),
      getMonitoringStation: onDealer(state, ({ params }, dealer) => {
        const station = find(params, dealer);
        return isReply(station) ? station : { status: 200, body: stationOf(station) };
      }),
      updateMonitoringStation: onDealer(state, ({ params, body }, dealer) => {
        const station = find(params, dealer);
        if (isReply(station)) return station;
        const row = world.stations.put({ ...changed(station, body), updated_at: state.time() });
        return { status: 200, body: stationOf(row) };
      }),
      // Sites bound to it lose the binding (S-104).
      deleteMonitoringStation: onDealer(state, ({ params }, dealer) => {
        const station = find(params, dealer);
        if (isReply(station)) return station;
        const { monitoring_station_id: id } = station;
        world.stations.delete(id);
        for (const site of world.sites.of(dealer.dealer_id).filter((one) => one.monitoring_station_id === id)) {
          world.sites.put({ ...site, monitoring_station_id: null });
          const description = `monitoring station ${station.name} was deleted`;
          world.note(site.site_id, { type: 'monitoring_bindings', description, at: state.time() });
        }
        return { status: 204 };
      }),
    },
    (params, dealer) => (params.monitoringStationId === undefined ? undefined : find(params, dealer)),
  );
}
