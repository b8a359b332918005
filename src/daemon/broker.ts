import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { namedBroker, slugOf } from '#box/broker.ts';
import type { Certify } from '#box/certificates.ts';
import { panelTopics } from '#box/folders.ts';
import type { Settings } from '#config/index.ts';
import { type Broker, createBroker, type HaOptions, type PanelFilters } from '#lan/mqtt/index.ts';
import { hostAndPort, isLoopback } from '#lib/host.ts';
import type { Connect } from '#lib/mqtt.ts';

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
export function brokerConnect(settings: Settings, broker: Broker | undefined): Connect {
  if (broker !== undefined) return { url: broker.url(), dial: broker.dial, protocolVersion: 4 };
  return namedBroker(settings);
}

/** How the site shows in Home Assistant, where that was asked for. */
export function homeAssistantOf({ mqtt, site, bridge }: Settings): HaOptions | undefined {
  if (mqtt.home_assistant === undefined) return undefined;
  const { prefix } = mqtt.home_assistant;
  return { prefix, siteName: site.name ?? site.external_id, serial: bridge.external_id };
}
