import { resolve } from 'node:path';
import pino, { type Logger } from 'pino';
import {
  clientCredentialsSource,
  createHttp,
  createManagement,
  createTokenSource,
  givenToken,
  grantBody,
  interfaceWatch,
  type Management,
  type ManagementOptions,
  type Perform,
  type SigningKeys,
} from '#cloud/client/index.ts';
import { audioOperationsFor, cloudOperations, type Dialect, defaultDialect } from '#cloud/contract/index.ts';
import { loadConfig, type Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { type Clock, systemClock } from '#lib/clock.ts';
import { bindClient, type Client } from '#lib/contract/client.ts';
import type { Operation } from '#lib/contract/operation.ts';
import type { Secret } from '#lib/secret.ts';
import { resolveSecret, SecretRef, secretSources } from '#lib/secret-ref.ts';
import { version } from '#lib/version.ts';

type Cloud = NonNullable<Settings['cloud']>;

export interface AccessOptions {
  readonly config: string;
  readonly baseUrl?: string;
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
}

export interface Access extends AsyncDisposable {
  readonly perform: Perform;
  /** The whole interface in the forms that are safe to call. */
  readonly manage: Management;
  readonly dialect: Dialect;
  /** The site of the configuration; undefined where an address was given instead. */
  readonly site: Settings['site'] | undefined;
  /** The form of a grant with the credentials of the configuration; undefined for every other operation. */
  grantBody(operation: Operation): Promise<Readonly<Record<string, string>> | undefined>;
}

/**
 * The cloud with credentials from the configuration, or from an address and one token. A token given beside a
 * configuration goes before its credentials. Throws `config_*` and `secret_unreadable`.
 */
export function openAccess(options: AccessOptions): Access {
  const settings = options.baseUrl === undefined ? settingsOf(options.config) : undefined;
  const cloud = settings?.cloud;
  const clock = systemClock();
  const http = createHttp({ clock, bases: basesOf(options, cloud), userAgent: `siteward/${version}` });
  const stopped = new AbortController();
  const log = pino({ level: 'silent' });
  const token = tokenOf(options);
  const shared = { client: bindClient(cloudOperations, http.transport), clock, log, signal: stopped.signal };
  const sources = token === undefined ? sourcesOf(cloud, shared) : everywhere(token);
  const dialect = cloud?.dialect ?? defaultDialect();
  const manage = createManagement({
    transport: http.transport,
    sources,
    watch: interfaceWatch({
      onChange: ({ operation, path, what }) =>
        console.error(`warning: ${operation} answers otherwise than described: ${path} (${what})`),
    }),
    dialect,
    clock,
    log,
  });
  const moved: Readonly<Record<string, Operation>> = audioOperationsFor(dialect);
  return {
    perform: (operation, input) => manage.perform(moved[operation.id] ?? operation, input),
    manage,
    dialect,
    site: settings?.site,
    grantBody: async (operation) => (cloud === undefined ? undefined : grantBody(operation, grantOf(cloud, clock))),
    async [Symbol.asyncDispose]() {
      stopped.abort(new Error('done'));
      await http.close();
    },
  };
}

function settingsOf(file: string): Settings {
  const { settings, warnings } = loadConfig(file, { unreadableSecrets: 'degrade' });
  for (const warning of warnings.filter((one) => / ?cloud\./.test(one))) console.error(`warning: ${warning}`);
  if (settings.cloud !== undefined) return settings;
  throw new SitewardError('config_invalid', `${file} has no section "cloud"; name a service with --base-url`);
}

function basesOf({ baseUrl }: AccessOptions, cloud: Cloud | undefined) {
  const one = (url: string, key: string) => ({ url, key });
  if (cloud === undefined) {
    const given = one(baseUrl ?? '', '--base-url');
    return { base: given, auth: given, ext: given };
  }
  return {
    base: one(cloud.base_url, 'cloud.base_url'),
    auth: one(cloud.auth_url, 'cloud.auth_url'),
    ext: one(cloud.ext_base_url ?? cloud.base_url, 'cloud.ext_base_url'),
  };
}

function tokenOf({ tokenEnv, tokenFile }: AccessOptions): Secret | undefined {
  if (tokenEnv !== undefined) return resolveSecret(new SecretRef('env', tokenEnv), secretSources());
  if (tokenFile === undefined) return undefined;
  return resolveSecret(new SecretRef('file', resolve(tokenFile)), secretSources());
}

/** Which interface a token is for, only its server knows. */
function everywhere(value: Secret): ManagementOptions['sources'] {
  const given = givenToken(value, 'the given token');
  return { partner: given, user: given, event: given, api_key: given };
}

interface Shared {
  readonly client: Client<typeof cloudOperations>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

function sourcesOf(cloud: Cloud | undefined, shared: Shared): ManagementOptions['sources'] {
  if (cloud === undefined) return {};
  const { events, partner, api_key } = cloud;
  return {
    event: createTokenSource({
      ...shared,
      clientId: events.client_id,
      audience: cloud.audience ?? cloud.auth_url,
      keys: keysOf(cloud),
    }),
    ...(partner && {
      partner: clientCredentialsSource({ ...shared, clientId: partner.client_id, secret: partner.client_secret }),
    }),
    ...(api_key && { api_key: givenToken(api_key, 'the API key') }),
  };
}

const keysOf = ({ events }: Cloud): SigningKeys => ({
  current: { pem: events.private_key, ...(events.key_id !== undefined && { keyId: events.key_id }) },
  ...(events.next_private_key !== undefined && {
    next: { pem: events.next_private_key, ...(events.next_key_id !== undefined && { keyId: events.next_key_id }) },
  }),
});

const grantOf = (cloud: Cloud, clock: Clock) => ({
  clientId: cloud.events.client_id,
  audience: cloud.audience ?? cloud.auth_url,
  key: keysOf(cloud).current,
  nowMs: clock.wall(),
  ...(cloud.partner && { partner: { clientId: cloud.partner.client_id, secret: cloud.partner.client_secret } }),
});
