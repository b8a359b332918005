import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settings } from '#config/index.ts';
import { type Broker, createBroker, type HaOptions, type PanelFilters } from '#lan/mqtt/index.ts';
import { hostAndPort, isLoopback } from '#lib/host.ts';
import type { Connect } from '#lib/mqtt.ts';
import type { Certify } from './certificates.ts';
import { panelTopics } from './folders.ts';

/** The broker siteward runs itself, on `mqtt.listen`. */
export function embeddedBroker(
  settings: Settings,
  profiles: readonly string[],
  { certify, log, metrics }: { certify: Certify; log: Logger; metrics: Registry },
): Broker {
  const { mqtt, site } = settings;
  const topics = bridgeTopics(settings, profiles);
  const listen = hostAndPort(mqtt.listen);
  return createBroker({
    slug: slugOf(site.external_id),
    listen,
    users: mqtt.clients.flatMap(({ id, role, password }) =>
      password === undefined ? [] : [{ id, role, password, panels: topics.get(id) }],
    ),
    discovery: mqtt.home_assistant?.prefix,
    tls: mqtt.tls && !isLoopback(listen.host) ? (signal) => certify('server', settings, mqtt.names, signal) : undefined,
    log,
    metrics,
  });
}

/** The topics of each panel bridge that has panels of its own, by its name. */
export function bridgeTopics(settings: Settings, profiles: readonly string[]): ReadonlyMap<string, PanelFilters> {
  const topics = panelTopics(settings, profiles);
  return new Map(
    settings.mqtt.clients.flatMap(({ id, panels }) => (panels === undefined ? [] : [[id, topics(panels)] as const])),
  );
}

/** The daemon's own way to the broker. To the embedded one it leads inside the process, never over the port. */
export function brokerConnect({ mqtt }: Settings, broker: Broker | undefined): Connect {
  if (broker !== undefined) return { url: broker.url(), dial: broker.dial, protocolVersion: 4 };
  return {
    url: mqtt.broker,
    ...(mqtt.username !== undefined && { username: mqtt.username }),
    ...(mqtt.password !== undefined && { password: mqtt.password }),
    // Read at one go: at a reload `filesAnswer` has seen that its disk answers.
    ...(mqtt.ca !== undefined && { ca: readFileSync(mqtt.ca, 'utf8') }),
  };
}

/** How the site shows in Home Assistant, where that was asked for. */
export function homeAssistantOf({ mqtt, site, bridge }: Settings): HaOptions | undefined {
  if (mqtt.home_assistant === undefined) return undefined;
  const { prefix } = mqtt.home_assistant;
  return { prefix, siteName: site.name ?? site.external_id, serial: bridge.external_id };
}

/** `<site>` in MQTT topics: the external id in lower case, everything else a hyphen, at most 32 characters. */
export function slugOf(externalId: string): string {
  return externalId
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 32);
}
