import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig, type Settings } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { authorityFiles } from '#lib/certificates.ts';
import { bareHost, isLoopback } from '#lib/host.ts';
import type { Connect } from '#lib/mqtt.ts';
import { Secret } from '#lib/secret.ts';
import { dialDaemonsBroker } from './daemon-broker.ts';

export interface BrokerOptions {
  readonly config: string;
  /** Address of a broker instead of that of the configuration. */
  readonly broker?: string;
}

export interface BrokerAccess {
  readonly connect: Connect;
  /** Undefined where `broker` was given and the configuration cannot be used. */
  readonly settings: Settings | undefined;
}

/** A user name and password for the broker, for who does not use those of the configuration. */
const variables = { username: 'SITEWARD_MQTT_USERNAME', password: 'SITEWARD_MQTT_PASSWORD' } as const;

/**
 * How to reach the broker that the panels speak on: that of the configuration, or the one given. Credentials come from the
 * environment or the configuration, those of the configuration for its own broker only. Throws `config_*`.
 */
export function brokerAccess(options: BrokerOptions): BrokerAccess {
  const settings = options.broker === undefined ? settingsOf(options.config) : usableSettings(options.config);
  const given = givenCredentials();
  if (options.broker !== undefined && options.broker !== settings?.mqtt.broker)
    return { connect: { url: options.broker, ...given }, settings };
  if (settings === undefined) throw new SitewardError('config_unreadable', 'there is no configuration');
  const { mqtt } = settings;
  if (mqtt.broker === 'embedded') return { connect: embedded(settings, given), settings };
  const configured = {
    ...(mqtt.username !== undefined && { username: mqtt.username }),
    ...(mqtt.password !== undefined && { password: mqtt.password }),
  };
  const ca = mqtt.ca === undefined ? {} : { ca: readFileSync(mqtt.ca, 'utf8') };
  return { connect: { url: mqtt.broker, ...(given ?? configured), ...ca }, settings };
}

function givenCredentials(): { username: string; password?: Secret } | undefined {
  const { [variables.username]: username, [variables.password]: password } = process.env;
  if (username === undefined || username === '') return undefined;
  return { username, ...(password !== undefined && password !== '' && { password: new Secret(password) }) };
}

function settingsOf(file: string): Settings {
  const { settings, warnings } = loadConfig(file, { unreadableSecrets: 'degrade' });
  for (const warning of warnings.filter((one) => / ?mqtt\./.test(one))) console.error(`warning: ${warning}`);
  return settings;
}

/** Beside `--broker` a configuration is a help and no need: a new box has none. */
function usableSettings(file: string): Settings | undefined {
  try {
    return settingsOf(file);
  } catch (error) {
    if (error instanceof SitewardError) return undefined;
    throw error;
  }
}

/**
 * The daemon's own broker lets in who comes over loopback without a name, otherwise the clients of the configuration. A
 * password goes there only while the daemon says that the broker is its own.
 */
function embedded({ mqtt, http, store }: Settings, given: ReturnType<typeof givenCredentials>): Connect {
  const colon = mqtt.listen.lastIndexOf(':');
  const host = mqtt.listen.slice(0, colon);
  const port = mqtt.listen.slice(colon + 1);
  const near = host === '0.0.0.0' ? '127.0.0.1' : host === '[::]' ? '[::1]' : host;
  const at = { listen: mqtt.listen, host: bareHost(near), port: Number(port) };
  const ca = mqtt.tls && !isLoopback(host) ? authorityFiles(join(store.dir, 'tls')).cert : undefined;
  const url = `mqtt${ca === undefined ? '' : 's'}://${near}:${port}`;
  const dial = () => dialDaemonsBroker({ socket: http.control_socket, ca, ...at });
  if (given !== undefined) return { url, ...given, dial };
  if (isLoopback(host)) return { url };
  const client = mqtt.clients.find(({ role }) => role === 'bridge');
  if (client?.password !== undefined) return { url, username: client.id, password: client.password, dial };
  throw new SitewardError(
    'mqtt_unauthorized',
    `mqtt.listen goes beyond loopback, so its broker wants a name: add a client of role bridge under mqtt.clients, or set ${variables.username} and ${variables.password}`,
  );
}
