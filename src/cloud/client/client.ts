import type { Logger } from 'pino';
import { cloudOperations } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import { bindClient, type Client } from '#lib/contract/client.ts';
import { authorised } from './authorised.ts';
import { createTokenSource, type EventTokenSource, type SigningKeys } from './token.ts';
import { createHttp, type Http, type HttpOptions } from './transport.ts';

export interface CloudClientOptions {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly extBaseUrl?: string;
  /** Audience of assertions; `authUrl` as written unless given. */
  readonly audience?: string;
  readonly clientId: string;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  readonly http?: Pick<HttpOptions, 'ca' | 'connections' | 'connectTimeoutMs' | 'deadlineMs' | 'onDate' | 'userAgent'>;
}

/** Everything that speaks to the cloud. */
export interface CloudClient {
  /** One typed function per operation, with credentials, trace id and one retry after a 401. */
  readonly api: Client<typeof cloudOperations>;
  readonly http: Http;
  readonly eventTokens: EventTokenSource;
  close(): Promise<void>;
}

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
  const eventTokens = createTokenSource({
    clientId: options.clientId,
    audience: options.audience ?? options.authUrl,
    keys: options.keys,
    client: bindClient(cloudOperations, http.transport),
    clock: options.clock,
    log: options.log,
    ...(options.random === undefined ? {} : { random: options.random }),
    signal: stopped.signal,
  });
  return {
    api: bindClient(cloudOperations, authorised(http.transport, { event: eventTokens })),
    http,
    eventTokens,
    async close() {
      stopped.abort(new Error('the cloud client was closed'));
      await http.close();
    },
  };
}
