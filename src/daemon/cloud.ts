import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { type CloudClient, type CloudClientOptions, createCloudClient } from '#cloud/client/index.ts';
import { type Settings, views } from '#config/index.ts';
import type { Clock } from '#lib/clock.ts';
import { version } from '#lib/version.ts';
import type { ClockQualityWatch } from '#site/clock-quality.ts';

/** The members of a cloud event that the configuration gives. Camera ids are ours: the place keeps its id. */
export function identityOf(settings: Settings) {
  const { site, bridge, cloud } = settings;
  return {
    locationId: cloud?.events.location_id ?? site.external_id,
    recorderId: bridge.external_id,
    cameraIds: Object.fromEntries(views(settings).map(({ id }) => [id, id])),
    version: cloud?.dialect.event_version ?? '1.0',
    statuses: {
      restored: cloud?.dialect.restored_status ?? 'restored',
      cancelled: cloud?.dialect.cancelled_status ?? 'restored',
    },
  };
}

export interface CloudSurroundings extends Pick<CloudClientOptions, 'retry' | 'http'> {
  readonly clock: Clock;
  readonly quality: ClockQualityWatch;
  readonly log: Logger;
  readonly metrics?: Registry;
}

/** The cloud of the configuration, not yet asked anything. */
export function cloudClient(
  cloud: NonNullable<Settings['cloud']>,
  { clock, quality, log, metrics, retry, http }: CloudSurroundings,
): CloudClient {
  const { events, partner } = cloud;
  return createCloudClient({
    baseUrl: cloud.base_url,
    authUrl: cloud.auth_url,
    ...(cloud.ext_base_url !== undefined && { extBaseUrl: cloud.ext_base_url }),
    ...(cloud.audience !== undefined && { audience: cloud.audience }),
    clientId: events.client_id,
    keys: {
      current: { pem: events.private_key, ...(events.key_id !== undefined && { keyId: events.key_id }) },
      ...(events.next_private_key !== undefined && {
        next: { pem: events.next_private_key, ...(events.next_key_id !== undefined && { keyId: events.next_key_id }) },
      }),
    },
    ...(partner !== undefined && { partner: { clientId: partner.client_id, secret: partner.client_secret } }),
    ...(cloud.api_key !== undefined && { apiKey: cloud.api_key }),
    dialect: cloud.dialect,
    ...(metrics !== undefined && { metrics }),
    ...(retry !== undefined && { retry }),
    clock,
    log,
    http: {
      ...http,
      userAgent: `siteward/${version}`,
      onDate({ origin, offsetMs, roundTripMs }) {
        // Only a verified server may tell the time.
        if (origin.startsWith('https:')) quality.compare(offsetMs, roundTripMs);
      },
    },
  });
}
