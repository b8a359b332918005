import type { SandboxCloud } from './cloud/index.ts';

export interface GreetingFacts {
  readonly clients: readonly string[];
  readonly control: boolean;
  /** Files of what the sandbox keeps, by what they hold. */
  readonly files: readonly (readonly [what: string, file: string])[];
  /** Of the partner the sandbox makes itself. */
  readonly secretFile: string | undefined;
  /** Shown on a terminal only. */
  readonly tokens: { readonly partner?: string; readonly apiKey?: string } | undefined;
}

/** What the sandbox says at its start: addresses, what there is, and how to call it. */
export function greeting(cloud: SandboxCloud, facts: GreetingFacts): string[] {
  const { url } = cloud;
  return [
    `sandbox cloud at ${url}`,
    `  base_url, auth_url and ext_base_url: ${url}    audience of assertions: ${url}`,
    `  clients: ${facts.clients.join(', ')}`,
    ...facts.files.map(([what, file]) => `  ${what}: ${file}`),
    ...places(cloud),
    ...shownTokens(facts.tokens),
    'how to call it:',
    ...examples(cloud, facts.secretFile),
    ...controlLines(url, facts.control),
  ];
}

/** Dealers with their sites, the first ten of each. */
function places(cloud: SandboxCloud): string[] {
  const dealers = cloud.dealers();
  const sites = cloud.sites();
  const some = (names: string[]) => (names.length > 10 ? [...names.slice(0, 10), '...'] : names).join(', ');
  if (dealers.length === 0) return ['  dealers: none yet'];
  const bound = (external: string | null) => (external === null ? 'not connected' : `connected as ${external}`);
  return [
    `  dealers: ${some(dealers.map((one) => `${one.dealer_id} ${one.company_name} (${bound(one.external_dealer_id)})`))}`,
    ...(sites.length === 0 ? [] : [`  sites: ${some(sites.map((one) => `${one.site_id} ${one.name}`))}`]),
  ];
}

function shownTokens(tokens: GreetingFacts['tokens']): string[] {
  if (tokens === undefined) return [];
  const pairs = [
    ...(tokens.partner === undefined ? [] : [`TOKEN=${tokens.partner}`]),
    ...(tokens.apiKey === undefined ? [] : [`API_KEY=${tokens.apiKey}`]),
  ];
  return ['tokens for this shell; the first one lives for an hour:', `  export ${pairs.join(' ')}`];
}

function examples(cloud: SandboxCloud, secretFile: string | undefined): string[] {
  const { url } = cloud;
  const [dealer, site] = [cloud.dealers()[0]?.dealer_id ?? 1, cloud.sites()[0]?.site_id ?? 101];
  const bearer = (name: string) => `-H "authorization: Bearer $${name}"`;
  const json = "-H 'content-type: application/json'";
  const grant = `grant_type=client_credentials --data-urlencode client_id=partner-1 --data-urlencode "client_secret=$(cat ${secretFile})"`;
  return [
    ...(secretFile === undefined ? [] : [`  curl --data-urlencode ${grant} ${url}/oauth/token`]),
    `  curl ${bearer('TOKEN')} ${url}/partner/v1/dealers/${dealer}/sites`,
    `  curl ${bearer('TOKEN')} ${json} -X PUT --data '{"status":"armed"}' ${url}/partner/v1/dealers/${dealer}/sites/${site}/arming-status`,
    `  curl ${bearer('API_KEY')} ${url}/ext/v1/sites/${site}/audio-messages`,
    `  curl --data-urlencode grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer --data-urlencode "assertion=$ASSERTION" ${url}/oauth/token`,
    `  curl ${bearer('EVENT_TOKEN')} ${json} --data @event.json ${url}/partner/v1/events`,
  ];
}

function controlLines(url: string, control: boolean): string[] {
  if (!control) return ['control path: off (start with --control)'];
  const post = (path: string, body: string) =>
    `  curl -H 'content-type: application/json' --data '${body}' ${url}/__sandbox/${path}`;
  return [
    'control path, from this machine only:',
    `  curl ${url}/__sandbox/events        (also: uploads, log, faults, sites, verifications, playbacks)`,
    post('tokens', '{"kind":"partner","dealers":[1]}'),
    post('faults', '{"path":"/partner/v1/events","mode":"status","status":503,"count":1}'),
    `  curl -X DELETE ${url}/__sandbox/faults    curl -X POST ${url}/__sandbox/revoke    curl -X POST ${url}/__sandbox/reset`,
  ];
}
