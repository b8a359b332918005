import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settings } from '#config/index.ts';
import { type Broker, createBroker } from '#lan/mqtt/index.ts';

/** The broker siteward runs itself, on `mqtt.listen`. */
export function embeddedBroker({ mqtt, site }: Settings, log: Logger, metrics: Registry): Broker {
  const colon = mqtt.listen.lastIndexOf(':');
  const host = mqtt.listen.slice(0, colon).replace(/^\[|\]$/g, '');
  return createBroker({
    slug: slugOf(site.external_id),
    listen: { host, port: Number(mqtt.listen.slice(colon + 1)) },
    users: mqtt.clients,
    log,
    metrics,
  });
}

/** The daemon's own way to the broker: the embedded one knows it by credentials of its own. */
export function brokerConnect({ mqtt }: Settings, broker: Broker | undefined) {
  if (broker !== undefined) return { url: broker.url(), ...broker.credentials, protocolVersion: 4 as const };
  return {
    url: mqtt.broker,
    ...(mqtt.username !== undefined && { username: mqtt.username }),
    ...(mqtt.password !== undefined && { password: mqtt.password }),
    ...(mqtt.ca !== undefined && { ca: readFileSync(mqtt.ca, 'utf8') }),
  };
}

/** `<site>` in MQTT topics: the external id in lower case, everything else a hyphen, at most 32 characters. */
export function slugOf(externalId: string): string {
  return externalId
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 32);
}
