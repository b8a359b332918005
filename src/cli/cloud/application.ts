import { arch, platform, release } from 'node:os';
import type { SigningKey } from '#cloud/client/index.ts';
import { cloudEventTypes } from '#cloud/contract/index.ts';
import { type Settings, sitePlan, views } from '#config/index.ts';
import { version } from '#lib/version.ts';
import { table } from '../table.ts';
import { publicHalf } from './keys.ts';

/**
 * What an operator asks of who registers an auth application for events (specification 5.2): a name, the public key, the types
 * of events, the expected volume, and what sends them. It holds nothing secret.
 */
export interface Application {
  readonly application_name: string;
  /** What is to be given the key; absent before the operator has named one. */
  readonly client_id?: string;
  readonly grant_type: string;
  readonly signing_algorithm: 'RS256';
  readonly key_id: string;
  readonly public_key_pem: string;
  readonly public_key_jwk: Readonly<Record<string, unknown>>;
  readonly event_types: readonly string[];
  readonly expected_volume: {
    /** An estimate, see docs/commissioning.md. */
    readonly events_per_day: number;
    readonly snapshots_per_event_at_most: number;
    /** Requests that run at once after an outage, at most. */
    readonly requests_at_once_at_most: number;
  };
  readonly platform: Readonly<Record<string, string>>;
}

/** Of `media.max_per_event`, where there is no configuration yet. */
const snapshotsPerEvent = 8;
/** `slots` of the delivery. */
const requestsAtOnce = 8;

/** What one of each does on a usual day: a shop armed and opened twice, and a camera that sees the closing and the opening. */
const perDay = { partition: 4, zone: 1, camera: 10, site: 4 } as const;

const estimatedVolume = (settings: Settings | undefined): number =>
  settings === undefined
    ? perDay.site + perDay.partition + 10 * perDay.zone + 4 * perDay.camera
    : perDay.site +
      settings.partitions.length * perDay.partition +
      sitePlan(settings).zones.length * perDay.zone +
      views(settings).length * perDay.camera;

export async function applicationOf(about: {
  readonly key: SigningKey;
  readonly settings: Settings | undefined;
  readonly name?: string | undefined;
  readonly eventsPerDay?: number | undefined;
}): Promise<Application> {
  const { key, settings } = about;
  const { pem, jwk, thumbprint } = await publicHalf(key);
  const clientId = settings?.cloud?.events.client_id;
  return {
    application_name: about.name ?? `siteward ${settings?.site.external_id ?? ''}`.trim(),
    ...(clientId !== undefined && { client_id: clientId }),
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    signing_algorithm: 'RS256',
    key_id: key.keyId ?? thumbprint,
    public_key_pem: pem,
    public_key_jwk: { ...jwk },
    event_types: cloudEventTypes,
    expected_volume: {
      events_per_day: about.eventsPerDay ?? estimatedVolume(settings),
      snapshots_per_event_at_most: settings?.media.max_per_event ?? snapshotsPerEvent,
      requests_at_once_at_most: requestsAtOnce,
    },
    platform: {
      product: `siteward ${version}`,
      runtime: `Node.js ${process.versions.node}`,
      system: `${platform()} ${release()} ${arch()}`,
      ...(settings !== undefined && { bridge: settings.bridge.external_id, site: settings.site.external_id }),
    },
  };
}

/** For an e-mail or a form. */
export function applicationText(application: Application): string {
  const { expected_volume: volume, platform: of } = application;
  const rows = [
    ['application name', application.application_name],
    ...(application.client_id === undefined ? [] : [['client id', application.client_id]]),
    ['grant', application.grant_type],
    ['algorithm', application.signing_algorithm],
    ['key id (kid)', application.key_id],
    ['event types', application.event_types.join(', ')],
    ['expected volume', `about ${volume.events_per_day} events a day, an estimate`],
    ['', `at most ${volume.snapshots_per_event_at_most} pictures an event`],
    ['', `at most ${volume.requests_at_once_at_most} requests at once after an outage`],
    ...Object.entries(of).map(([name, text]) => [name, text]),
  ];
  return `${table(rows)}\n\npublic key (PEM)\n${application.public_key_pem}\npublic key (JWK)\n${JSON.stringify(application.public_key_jwk)}\n`;
}
