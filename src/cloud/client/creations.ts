import type { ContactCreate, MonitoringStationCreate, SiteCreate } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import type { Calls, Reply } from './calls.ts';
import { doOnce, type OnceOptions } from './once.ts';
import { rowsOf } from './reading.ts';
import { findSite, type SiteContext } from './sites.ts';
import { traced } from './traced.ts';

export interface CreationContext {
  readonly calls: Calls;
  readonly once: Omit<OnceOptions, 'signal'>;
}

type Dealer = { readonly dealerId: string };
type Site = Dealer & { readonly siteId: string };

interface Creation<P, B> {
  readonly params: P;
  readonly body: B;
  readonly signal: AbortSignal;
}

/** Creates a site once: after a lost reply it is looked for by its external id first (S-196). */
export function createSite(
  { calls, watch, once }: CreationContext & Pick<SiteContext, 'watch'>,
  input: Creation<Dealer, SiteCreate>,
) {
  const { params, body, signal } = input;
  const trace = traced();
  return doOnce<Awaited<ReturnType<Calls['createSite']>>>(
    {
      act: () => calls.createSite({ ...input, ...trace }),
      find: () => findSite({ calls, watch }, { params, externalId: body.external_site_id, signal, ...trace }),
    },
    { ...once, signal },
  );
}

/** Creates a monitoring station once; the list is whole, so a lost one is found in it (S-196). */
export function createMonitoringStation(
  { calls, once }: CreationContext,
  input: Creation<Dealer, MonitoringStationCreate>,
) {
  const { params, body, signal } = input;
  const id = body.external_monitoring_station_id;
  const trace = traced();
  const list = () => calls.listMonitoringStations({ params, signal, ...trace });
  return doOnce(
    {
      act: () => calls.createMonitoringStation({ ...input, ...trace }),
      find: async () => only(await list(), (one) => one.external_monitoring_station_id, id),
    },
    { ...once, signal },
  );
}

/** Creates a contact once; the list is whole, so a lost one is found in it (S-196). */
export function createContact({ calls, once }: CreationContext, input: Creation<Site, ContactCreate>) {
  const { params, body, signal } = input;
  const trace = traced();
  const list = () => calls.listContacts({ params, signal, ...trace });
  return doOnce(
    {
      act: () => calls.createContact({ ...input, ...trace }),
      find: async () => only(await list(), (one) => one.external_contact_id, body.external_contact_id),
    },
    { ...once, signal },
  );
}

const unread = 'what was created may be there: some rows of the list cannot be read. Look before creating it again';

/** The reply of a list as the reply of the one element of this external id. */
function only<T>(
  { value, ...rest }: Reply<readonly T[]>,
  externalId: (one: T) => string | undefined,
  id: string,
): Reply<T> | undefined {
  const there = value.find((one) => externalId(one) === id);
  if (there !== undefined) return { ...rest, value: there };
  // A row that cannot be read, or that does not say whose it is, may be the very one: then nothing shows that it must be created again.
  if (rowsOf(rest.raw).length > value.length || value.some((one) => externalId(one) === undefined))
    throw new SitewardError('cloud_outcome_unknown', unread);
  return undefined;
}
