import { readFileSync } from 'node:fs';
import type { Settings } from '#config/index.ts';
import type { Connect } from '#lib/mqtt.ts';

/** The way to the broker that the configuration names. */
export const namedBroker = ({ mqtt }: Settings): Connect => ({
  url: mqtt.broker,
  ...(mqtt.username !== undefined && { username: mqtt.username }),
  ...(mqtt.password !== undefined && { password: mqtt.password }),
  // Read at one go: at a reload `filesAnswer` has seen that its disk answers.
  ...(mqtt.ca !== undefined && { ca: readFileSync(mqtt.ca, 'utf8') }),
});

/** `<site>` in MQTT topics: the external id in lower case, everything else a hyphen, at most 32 characters. */
export function slugOf(externalId: string): string {
  return externalId
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .slice(0, 32);
}
