import { activationBody, type Dialect, type SiteListQuery } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import type { Calls } from './calls.ts';
import type { InterfaceWatch } from './interface-watch.ts';
import { doOnce, type OnceOptions } from './once.ts';
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

/**
 * Every site of a dealer, page by page until an empty one: a service may cut pages short (S-091). Sorted by id, each id
 * once. Throws `cloud_bad_answer` after 100,000 rows, and where rows without an id would pass for no sites at all.
 */
export async function* listAllSites(
  { calls, watch }: Pick<SiteContext, 'calls' | 'watch'>,
  {
    params,
    query = {},
    signal,
  }: { params: Dealer; query?: Pick<SiteListQuery, 'fields' | 'filter'>; signal: AbortSignal },
): AsyncGenerator<SiteRow & { readonly site_id: string }> {
  const seen = new Set<string>();
  // Without the id neither the order nor a repeat could be told.
  const fields = query.fields === undefined ? {} : { fields: `site_id,${query.fields}` };
  for (let offset = 0; ; ) {
    const page = { ...query, ...fields, sort: 'site_id', limit: String(pageRows), offset: String(offset) };
    const { value: rows } = await calls.listSites({ params, query: page, signal });
    if (rows.length === 0) return;
    let news = 0;
    for (const row of rows) {
      const id = row.site_id;
      if (id === undefined || seen.has(id)) continue;
      news += 1;
      seen.add(id);
      yield { ...row, site_id: id };
    }
    offset += rows.length;
    if (news === 0) {
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
