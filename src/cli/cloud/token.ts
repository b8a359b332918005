import pino from 'pino';
import { createHttp, createTokenSource, type SigningKey } from '#cloud/client/index.ts';
import { cloudOperations } from '#cloud/contract/index.ts';
import type { Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import { bindClient } from '#lib/contract/client.ts';
import { version } from '#lib/version.ts';

/** Longer than one answer may take. */
const patienceMs = 45_000;

/**
 * Asks the token server for an access token with one key alone, and drops it. Gives how far the clocks are apart: server minus
 * this machine, milliseconds. Throws `cloud_unauthorized` where it is refused, `cloud_unreachable` where nothing comes of it.
 */
export async function checkToken(
  cloud: NonNullable<Settings['cloud']>,
  key: SigningKey,
): Promise<{ readonly clockOffsetMs: number }> {
  const clock = systemClock();
  const stopped = new AbortController();
  const http = createHttp({
    clock,
    bases: {
      auth: { url: cloud.auth_url, key: 'cloud.auth_url' },
      base: { url: cloud.base_url, key: 'cloud.base_url' },
    },
    userAgent: `siteward/${version}`,
  });
  try {
    const source = createTokenSource({
      clientId: cloud.events.client_id,
      audience: cloud.audience ?? cloud.auth_url,
      keys: { current: key },
      client: bindClient(cloudOperations, http.transport),
      clock,
      log: pino({ level: 'silent' }),
      signal: stopped.signal,
    });
    const token = await source.get(AbortSignal.timeout(patienceMs)).catch((error: unknown) => {
      throw new SitewardError('cloud_unreachable', `the token server at ${cloud.auth_url} does not answer`, {
        cause: error,
      });
    });
    const { fault, clockOffsetMs } = source.state();
    if (token.kind === 'token') return { clockOffsetMs };
    throw token.failure === 'token_refused'
      ? new SitewardError('cloud_unauthorized', fault ?? token.message)
      : new SitewardError('cloud_unreachable', token.message);
  } finally {
    stopped.abort(new SitewardError('stopped', 'done'));
    await http.close();
  }
}
