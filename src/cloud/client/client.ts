import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { cloudOperations, type Dialect, defaultDialect } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import { bindClient, type Client, type WireFailure } from '#lib/contract/client.ts';
import type { Secret } from '#lib/secret.ts';
import { authorised } from './authorised.ts';
import { type InterfaceChange, interfaceWatch } from './interface-watch.ts';
import { createLook, type Look } from './look.ts';
import { createManagement, type Management } from './management.ts';
import { type ClientCredentials, clientCredentialsSource, givenToken } from './other-tokens.ts';
import type { RetryRules } from './retry.ts';
import { createTokenSource, type EventTokenSource, type SigningKeys } from './token.ts';
import type { TokenSource } from './token-source.ts';
import { createHttp, type Http, type HttpOptions } from './transport.ts';

export interface CloudClientOptions {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly extBaseUrl?: string;
  /** Audience of assertions; `authUrl` as written unless given. */
  readonly audience?: string;
  readonly clientId: string;
  readonly keys: SigningKeys;
  /** Opens the partner interface. */
  readonly partner?: ClientCredentials;
  /** Opens audio messages and the public interface. */
  readonly apiKey?: Secret;
  readonly dialect?: Dialect;
  readonly metrics?: Registry;
  /** Told once of each thing in an answer that the described interface does not explain. */
  readonly onInterfaceChange?: (change: InterfaceChange) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  /** Of `manage`. */
  readonly retry?: Partial<RetryRules>;
  readonly http?: Pick<
    HttpOptions,
    'answerCap' | 'ca' | 'connections' | 'connectTimeoutMs' | 'deadlineMs' | 'onDate' | 'userAgent'
  >;
}

/** Everything that speaks to the cloud. */
export interface CloudClient {
  /** One typed function per operation, with credentials, trace id and one retry after a 401. */
  readonly api: Client<typeof cloudOperations>;
  /** The whole interface, tolerant and with its retries; events and tokens are better sent by the delivery. */
  readonly manage: Management;
  readonly http: Http;
  readonly eventTokens: EventTokenSource;
  /** Of the partner interface; undefined without its credentials. */
  readonly partnerTokens: TokenSource | undefined;
  /** Whether the service answers at all, whatever it says; the failure when it does not. No credentials are sent. */
  probe(signal: AbortSignal): Promise<WireFailure | undefined>;
  /** Whether a server takes connections now, looked at without a request. */
  readonly look: Look;
  close(): Promise<void>;
}

const probeDeadlineMs = 15_000;

/** Builds the client; nothing is sent yet. Throws `config_invalid` for an address that must not be used. */
export function createCloudClient(options: CloudClientOptions): CloudClient {
  const stopped = new AbortController();
  const http = createHttp({
    clock: options.clock,
    bases: {
      base: { url: options.baseUrl, key: 'cloud.base_url' },
      auth: { url: options.authUrl, key: 'cloud.auth_url' },
      ...(options.extBaseUrl === undefined ? {} : { ext: { url: options.extBaseUrl, key: 'cloud.ext_base_url' } }),
    },
    ...options.http,
  });
  const shared = {
    client: bindClient(cloudOperations, http.transport),
    clock: options.clock,
    log: options.log,
    ...(options.random === undefined ? {} : { random: options.random }),
    signal: stopped.signal,
  };
  const eventTokens = createTokenSource({
    ...shared,
    clientId: options.clientId,
    audience: options.audience ?? options.authUrl,
    keys: options.keys,
  });
  const partnerTokens =
    options.partner === undefined ? undefined : clientCredentialsSource({ ...shared, ...options.partner });
  const sources = {
    event: eventTokens,
    ...(partnerTokens === undefined ? {} : { partner: partnerTokens }),
    ...(options.apiKey === undefined ? {} : { api_key: givenToken(options.apiKey, 'the API key') }),
  };
  return {
    api: bindClient(cloudOperations, authorised(http.transport, sources)),
    manage: createManagement({
      transport: http.transport,
      sources,
      watch: interfaceWatch({
        onChange: options.onInterfaceChange ?? ((change) => options.log.warn(change, 'cloud_interface_changed')),
        ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
      }),
      dialect: options.dialect ?? defaultDialect(),
      clock: options.clock,
      log: options.log,
      ...(options.random === undefined ? {} : { random: options.random }),
      ...(options.retry === undefined ? {} : { retry: options.retry }),
    }),
    http,
    async probe(signal) {
      const { baseUrl: url } = options;
      const result = await http.raw({
        url,
        method: 'GET',
        headers: {},
        signal,
        deadlineMs: probeDeadlineMs,
        repeatable: true,
      });
      return result.kind === 'failure' ? result : undefined;
    },
    look: createLook({ base: options.baseUrl, auth: options.authUrl }),
    eventTokens,
    partnerTokens,
    async close() {
      stopped.abort(new Error('the cloud client was closed'));
      await http.close();
    },
  };
}
