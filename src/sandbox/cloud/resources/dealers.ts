import { dealerOperations } from '#cloud/contract/index.ts';
import { badField, findLeaving, isReply, notFound, onDealer } from '../access.ts';
import { changed } from '../changes.ts';
import { partnerResource } from '../partner-resource.ts';
import type { Resource } from '../resource.ts';
import type { CloudState } from '../state.ts';
import { dealerOf } from '../world/answers.ts';
import type { DealerRow } from '../world/rows.ts';

export function dealersResource(state: CloudState): Resource {
  const { dealers } = state.world;
  const ok = (row: DealerRow) => ({ status: 200, body: dealerOf(row) });
  return partnerResource(state, dealerOperations, {
    // The dealer is the one in the token; binding it again rebinds it (S-051, S-053).
    connectDealer: ({ body, identity: { grant, exchange } }) => {
      const dealer = dealers.get(grant?.dealers?.[0] ?? -1);
      if (dealer === undefined) return notFound('dealer');
      const holder = dealers.all().find((other) => other.external_dealer_id === body.external_dealer_id);
      if (holder !== undefined && holder.dealer_id !== dealer.dealer_id) {
        return badField('external_dealer_id', 'is bound to another dealer');
      }
      exchange.note = `dealer ${dealer.dealer_id} connected as ${body.external_dealer_id}`;
      return ok(dealers.put({ ...changed(dealer, body), bound_by: grant?.clientId ?? null, released_by: null }));
    },
    disconnectDealer: ({ params, identity: { grant, exchange } }) => {
      const dealer = findLeaving(state, params, grant);
      if (isReply(dealer)) return dealer;
      exchange.note = `dealer ${dealer.dealer_id} disconnected`;
      const released_by = grant?.clientId ?? null;
      return ok(dealers.put({ ...dealer, external_dealer_id: null, bound_by: null, released_by }));
    },
    getDealer: onDealer(state, (_, dealer) => ok(dealer)),
    updateDealer: onDealer(state, ({ body }, dealer) => ok(dealers.put(changed(dealer, body)))),
  });
}
