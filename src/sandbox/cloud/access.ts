import { isCode } from '#errors.ts';
import type { Operation } from '#lib/contract/operation.ts';
import type { Reply, ServerRules } from '#lib/contract/server.ts';
import { apiError, type FieldError, partnerError, sentence } from './answers.ts';
import { bearer, type Caller, openRules } from './resource.ts';
import type { CloudState } from './state.ts';
import { anyClient, type Grant } from './tokens.ts';
import type { DealerRow, SiteRow } from './world/rows.ts';

export type Params = Readonly<Record<string, string>>;

export const isReply = (value: object): value is Reply => 'status' in value && typeof value.status === 'number';
export const notFound = (what: string): Reply => partnerError(404, `there is no ${what} with this id here`);

/** A refusal of single fields (S-010). */
export const badField = (field: string, message: string): Reply =>
  partnerError(400, `${field}: ${message}`, [{ field, message }]);

/** Canonical decimal only: `007`, `1e3` or an external id address nothing (S-016). */
export const numberOf = (text: string | undefined): number =>
  /^[1-9][0-9]{0,15}$/.test(text ?? '') ? Number(text) : -1;

/** The dealer of a path: 404 for one that does not exist (S-006), 403 for one the token does not reach (S-004). */
function findDealer(state: CloudState, params: Params, grant: Grant | undefined): DealerRow | Reply {
  const dealer = state.world.dealers.get(numberOf(params.dealerId));
  if (dealer === undefined) return notFound('dealer');
  if (grant !== undefined && reaches(state, grant, dealer)) return dealer;
  return partnerError(403, 'this dealer is not connected to the token');
}

/** The dealer to disconnect: who has just done it may say so again (S-054), everybody else is refused (S-055). */
export function findLeaving(state: CloudState, params: Params, grant: Grant | undefined): DealerRow | Reply {
  const dealer = state.world.dealers.get(numberOf(params.dealerId));
  const again = dealer?.external_dealer_id === null && dealer.released_by === grant?.clientId;
  return again && isAmong(dealer, grant?.dealers) ? dealer : findDealer(state, params, grant);
}

const isAmong = ({ dealer_id }: DealerRow, dealers: readonly number[] | undefined): boolean =>
  dealers === undefined || dealers.includes(dealer_id);

/** Whether a partner token reaches a dealer: it is connected, and among the token's dealers (S-032, S-053, S-055). */
function reaches(state: CloudState, grant: Grant, dealer: DealerRow): boolean {
  if (dealer.external_dealer_id === null) return false;
  const own = grant.dealers ?? state.clients.get(grant.clientId)?.dealers;
  if (isAmong(dealer, own)) return true;
  return grant.dealers === undefined && (dealer.bound_by === anyClient || dealer.bound_by === grant.clientId);
}

/** The site of a path; one of another dealer is not found, whoever asks (S-007). */
function findSite(state: CloudState, params: Params, grant: Grant | undefined): SiteRow | Reply {
  const dealer = findDealer(state, params, grant);
  if (isReply(dealer)) return dealer;
  const site = state.world.sites.get(numberOf(params.siteId));
  return site === undefined || site.dealer_id !== dealer.dealer_id ? notFound('site') : site;
}

interface PartnerCall {
  readonly params: unknown;
  readonly identity: Caller;
}

/** Looks up the dealer of the path again: it may have gone while the body was read. */
export const onDealer =
  <C extends PartnerCall>(state: CloudState, handle: (call: C, dealer: DealerRow) => Reply) =>
  (call: C): Reply => {
    const dealer = findDealer(state, call.params as Params, call.identity.grant);
    return isReply(dealer) ? dealer : handle(call, dealer);
  };

/** The same for the site of the path. */
export const onSite =
  <C extends PartnerCall>(state: CloudState, handle: (call: C, site: SiteRow) => Reply) =>
  (call: C): Reply => {
    const site = findSite(state, call.params as Params, call.identity.grant);
    return isReply(site) ? site : handle(call, site);
  };

/** The last thing a path names, below dealer and site; a Reply when it is not there. */
export type Leaf = (params: Params, dealer: DealerRow, site: SiteRow | undefined) => Reply | object | undefined;

/** Rules of everything under `/partner/v1` but events: who may, in which order, and how it is refused (S-008). */
export function partnerRules(state: CloudState, leaf?: Leaf): ServerRules<Caller> {
  return {
    ...openRules,
    identify: (operation, context) => {
      const kind = operation.auth[0] === 'user' ? 'user' : 'partner';
      const caller = bearer(state, kind, (status, _, message) => partnerError(status, message))(operation, context);
      return 'status' in caller || offered(state, operation) ? caller : notOffered(state, operation);
    },
    before: ({ id }, params, { grant }) => {
      if (params.dealerId === undefined) return undefined;
      const dealer = (id === 'disconnectDealer' ? findLeaving : findDealer)(state, params, grant);
      if (isReply(dealer)) return dealer;
      const site = params.siteId === undefined ? undefined : findSite(state, params, grant);
      if (site !== undefined && isReply(site)) return site;
      const last = leaf?.(params, dealer, site);
      return last !== undefined && isReply(last) ? last : undefined;
    },
    failed: (operation, error, context) =>
      isCode(error, 'queue_full')
        ? badField('body', error instanceof Error ? error.message : '')
        : openRules.failed(operation, error, context),
  };
}

/** Kinds of integration of the service's own index: "ready for B" is there for both (S-075). */
function offered(state: CloudState, { availability }: Operation): boolean {
  if (availability === 'only A') return state.dialect.profile !== 'B';
  return availability !== 'only B' || state.dialect.profile !== 'A';
}

const notOffered = (state: CloudState, { availability }: Operation): Reply =>
  partnerError(403, `this endpoint is "${availability}", and this sandbox serves profile ${state.dialect.profile}`);

/** Rules of the interfaces that take an API key (S-041, S-172). */
export function apiRules(state: CloudState): ServerRules<Caller> {
  const codes: Readonly<Record<number, string>> = { 404: 'not_found', 413: 'payload_too_large' };
  return {
    ...openRules,
    identify: bearer(state, 'api_key', (status, error, message) => apiError(status, error, message)),
    refuse: (_, status, issues) => apiError(status, codes[status] ?? 'invalid_request', sentence(issues), issues),
    failed: (_, error) => {
      const message = error instanceof Error ? error.message : 'unknown';
      if (isCode(error, 'queue_full')) return apiError(400, 'invalid_request', message);
      return apiError(500, 'internal', `the sandbox failed: ${message}`);
    },
  };
}

/** The first wrong field as a refusal of those interfaces. */
export const badApiField = (field: string, message: string): Reply =>
  apiError(400, 'invalid_request', `${field}: ${message}`, [{ field, message } satisfies FieldError]);

/** The site of a path, if it belongs to a dealer of the key; others do not exist for it (S-007). */
export function findKeySite(state: CloudState, siteId: number, grant: Grant | undefined): SiteRow | undefined {
  const site = state.world.sites.get(siteId);
  return site !== undefined && keyReaches(grant, site) ? site : undefined;
}

export const keyReaches = (grant: Grant | undefined, site: SiteRow): boolean =>
  grant !== undefined && (grant.dealers === undefined || grant.dealers.includes(site.dealer_id));
