import { activationBody, type Dialect, type SiteListQuery } from '#cloud/contract/index.ts';
import { isCode, SitewardError } from '#errors.ts';
import type { Calls } from './calls.ts';
import type { InterfaceWatch } from './interface-watch.ts';
import { isObject } from './json.ts';
import { doOnce, type OnceOptions } from './once.ts';
import { rowsOf } from './reading.ts';
import { traced } from './traced.ts';

type Dealer = { readonly dealerId: string };
type SiteRef = Dealer & { readonly siteId: string };
type SiteReply = Awaited<ReturnType<Calls['getSite']>>;
type SiteRow = Awaited<ReturnType<Calls['listSites']>>['value'][number];

export interface SiteContext {
  readonly calls: Calls;
  readonly watch: InterfaceWatch;
  readonly dialect: Pick<Dialect, 'activation_body'>;
  readonly once: Omit<OnceOptions, 'signal'>;
}

const pageRows = 100;
const rowsCap = 100_000;

interface SiteListing {
  readonly params: Dealer;
  readonly query?: Pick<SiteListQuery, 'fields' | 'filter'>;
  readonly signal: AbortSignal;
}

interface SitePage extends Omit<Awaited<ReturnType<Calls['listSites']>>, 'value'> {
  /** Without those that came before. */
  readonly rows: readonly SiteRow[];
}

/**
 * The site of a dealer under an external id, looked for in the whole list; undefined where none has it. Throws `cloud_outcome_unknown`
 * where it may be there all the same: a row that cannot be read, or does not say whose it is, may be the very one.
 */
export async function findSite(
  context: Pick<SiteContext, 'calls' | 'watch'>,
  {
    externalId,
    ...listing
  }: Omit<SiteListing, 'query'> & { readonly externalId: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<SiteReply | undefined> {
  // The operator is always written, so that a comma in the id does no harm (S-084).
  const query = { filter: `external_site_id,${externalId},eq` };
  let isWhole = true;
  try {
    for await (const { rows, ...reply } of sitePages(context, { ...listing, query })) {
      const row = rows.find((one) => one.external_site_id === externalId);
      // It is there: creating it again would be wrong, whatever else of it can be read.
      if (row !== undefined && row.site_id === undefined) throw withoutId();
      if (row?.site_id !== undefined) return { ...reply, value: { ...row, site_id: row.site_id } };
      const areAllRead = rowsOf(reply.raw).every(hasExternalId);
      isWhole &&= areAllRead;
    }
  } catch (error) {
    if (isCode(error, 'cloud_bad_answer')) throw maybeThere(externalId, error);
    throw error;
  }
  if (!isWhole) throw maybeThere(externalId);
  return undefined;
}

const hasExternalId = (row: unknown): boolean =>
  isObject(row) && [row, row.data].some((one) => isObject(one) && Boolean(one.external_site_id));

const withoutId = () =>
  new SitewardError('cloud_outcome_unknown', 'the site is there, but the list does not tell its id', {
    facts: { operation: 'listSites' },
  });

const maybeThere = (externalId: string, cause?: unknown) =>
  new SitewardError(
    'cloud_outcome_unknown',
    `the site ${externalId} may be there: the list of the service has sites that cannot be read, or that do not tell their external id. Look there ("siteward site list"); where it is one of them, write its id as site.id, else give those an external id or create it there`,
    { facts: { operation: 'listSites' }, ...(cause !== undefined && { cause }) },
  );

/** Every site of a dealer, each id once. Throws `cloud_bad_answer` after 100,000 rows, and where rows without an id would pass for no sites at all. */
export async function* listAllSites(
  context: Pick<SiteContext, 'calls' | 'watch'>,
  listing: SiteListing,
): AsyncGenerator<SiteRow & { readonly site_id: string }> {
  for await (const { rows } of sitePages(context, listing))
    for (const row of rows) if (row.site_id !== undefined) yield { ...row, site_id: row.site_id };
}

/** The list page by page until an empty one: a service may cut pages short (S-091). Sorted by id. */
async function* sitePages(
  { calls, watch }: Pick<SiteContext, 'calls' | 'watch'>,
  { params, query = {}, ...how }: SiteListing & { readonly headers?: Readonly<Record<string, string>> },
): AsyncGenerator<SitePage> {
  const seen = new Set<string>();
  // Without the id neither the order nor a repeat could be told.
  const fields = query.fields === undefined ? {} : { fields: `site_id,${query.fields}` };
  for (let offset = 0; ; ) {
    const page = { ...query, ...fields, sort: 'site_id', limit: String(pageRows), offset: String(offset) };
    const { value, ...reply } = await calls.listSites({ params, query: page, ...how });
    const count = rowsOf(reply.raw).length;
    if (count === 0) return;
    const before = seen.size;
    const rows = value.filter(({ site_id: id }) => id === undefined || (!seen.has(id) && seen.add(id)));
    yield { ...reply, rows };
    offset += count;
    if (seen.size === before) {
      // A service that ignores `offset` would give its first page for ever.
      watch.note({ operation: 'listSites', path: 'body', what: 'value' });
      if (seen.size === 0) throw new SitewardError('cloud_bad_answer', 'listSites: no site of the list can be read');
      return;
    }
    if (offset > rowsCap) {
      throw new SitewardError('cloud_bad_answer', `listSites: the list does not end within ${rowsCap} rows`);
    }
  }
}

/**
 * Brings a site into the wanted state of activation. The service only toggles, so the state is read first, and read
 * again before anything is repeated (S-072). Throws `cloud_bad_answer` when the state cannot be read, and
 * `cloud_refused` when the service answers twice with the other state.
 */
export async function setActivation(
  { calls, dialect, once }: SiteContext,
  { params, active, signal }: { readonly params: SiteRef; readonly active: boolean; readonly signal: AbortSignal },
): Promise<SiteReply> {
  const trace = traced();
  const read = async () => {
    const reply = await calls.getSite({ params, signal, ...trace });
    return isActive(reply) === active ? reply : undefined;
  };
  const there = await read();
  if (there !== undefined) return there;
  const body = activationBody(dialect, active);
  const toggle = () => calls.changeActivation({ params, signal, ...trace, ...(body === undefined ? {} : { body }) });
  for (let tries = 1; tries <= 2; tries += 1) {
    await doOnce<Pick<SiteReply, 'value'>>({ act: toggle, find: read }, { ...once, signal });
    // Somebody else may have toggled in between: only what a read says counts.
    const now = await read();
    if (now !== undefined) return now;
  }
  const word = active ? 'active' : 'inactive';
  throw new SitewardError('cloud_refused', `the site did not become ${word}; somebody else may be changing it`, {
    facts: { operation: 'changeActivation' },
  });
}

function isActive({ value }: SiteReply): boolean {
  if (value.is_activated === 0 || value.is_activated === 1) return value.is_activated === 1;
  throw new SitewardError(
    'cloud_bad_answer',
    'the cloud does not say whether the site is active; nothing was changed',
    {
      facts: { operation: 'getSite' },
    },
  );
}
