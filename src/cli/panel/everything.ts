import type { MqttClient } from 'mqtt';
import { type CatalogueEntry, profileSchema } from '#devices/panels/index.ts';
import { isCode } from '#errors.ts';
import { subscribe } from '#lib/mqtt.ts';

/**
 * Subscribes to all there is: `#`, or where the broker refuses that, one filter per number of levels. The embedded broker
 * grants nobody a filter that could see a command of siteward, and those have five levels; so topics of five levels are
 * asked for under each first level that is known: `under` is called with those that are heard, and returns whether it is new.
 */
export interface Everything {
  subscribe(client: MqttClient): Promise<void>;
  /** Call for each message that was heard. */
  heard(topic: string): void;
}

const deepest = 12;
const commandLevels = 5;
/** First levels that are asked for one by one, at most. */
const firstCap = 256;

export function everything(entries: readonly CatalogueEntry[]): Everything {
  const likely = likelyFirsts(entries);
  const firsts = new Set<string>();
  let client: MqttClient | undefined;

  const levels = (count: number, first = '+') => [first, ...Array.from({ length: count - 1 }, () => '+')].join('/');
  const ask = async (names: readonly string[]) => {
    if (client !== undefined && names.length > 0)
      await subscribe(
        client,
        names.map((name) => levels(commandLevels, name)),
      );
  };
  return {
    async subscribe(connected) {
      client = undefined;
      try {
        await subscribe(connected, ['#']);
      } catch (error) {
        if (!isCode(error, 'mqtt_unreachable')) throw error;
        const depths = Array.from({ length: deepest }, (_, i) => i + 1).filter((depth) => depth !== commandLevels);
        await subscribe(
          connected,
          depths.map((depth) => levels(depth)),
        );
        client = connected;
        await ask([...new Set([...likely, ...firsts])]);
      }
    },
    heard(topic) {
      const first = topic.split('/', 1)[0] ?? '';
      if (firsts.has(first) || firsts.size >= firstCap || first === '' || /^siteward$|^\$|[+#]/.test(first)) return;
      firsts.add(first);
      // A refusal or the end of the connection: the next connection asks again.
      if (!likely.has(first)) ask([first]).catch(() => {});
    },
  };
}

/** First levels of the presets' own topics. */
function likelyFirsts(entries: readonly CatalogueEntry[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { json } of entries) {
    const parsed = profileSchema.safeParse(json);
    if (!parsed.success) continue;
    const { vars } = parsed.data;
    for (const { topic } of parsed.data.in) {
      const filled = topic.replace(/\$([a-z][a-z0-9_]*)/g, (_, name: string) => vars[name] ?? '+');
      const first = filled.split('/', 1)[0] ?? '';
      if (first !== '' && !/[+#{}]/.test(first)) found.add(first);
    }
  }
  return found;
}
