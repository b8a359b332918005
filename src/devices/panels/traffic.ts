import type { Message } from './reading.ts';

/** A message as it was heard, once per topic, payload and retain flag. */
export interface Heard extends Message {
  readonly count: number;
}

export interface Traffic {
  /** False when the message is not kept: siteward's own, discovery, or beyond a bound. */
  add(message: Message): boolean;
  list(): readonly Heard[];
  readonly messages: number;
  readonly topics: number;
  /** Messages that were heard and not kept because of a bound. */
  readonly left: number;
}

/** Bounds: topics in all and under one first level, different payloads of a topic, bytes of one and of all payloads. */
const topicCap = 4000;
const sharedCap = 1500;
const payloadsPerTopic = 16;
const payloadBytes = 16 * 1024;
const totalBytes = 32 * 1024 * 1024;
const topicLength = 512;

/** siteward's own topics, the broker's, and Home Assistant's descriptions of entities say nothing of a panel. */
const isForeign = (topic: string): boolean =>
  !/^(siteward(\/|$)|\$)/.test(topic) && !/^homeassistant\/.*\/config$/.test(topic);

/** What is heard on a broker, within bounds. One loud client cannot crowd out the topics of the others. */
export function createTraffic(): Traffic {
  const kept = new Map<string, Map<string, { message: Message; count: number }>>();
  const perFirst = new Map<string, number>();
  let [messages, left, bytes] = [0, 0, 0];

  function topicOf(topic: string) {
    const known = kept.get(topic);
    if (known !== undefined) return known;
    const first = topic.split('/', 1)[0] ?? '';
    const shared = perFirst.get(first) ?? 0;
    if (kept.size >= topicCap || shared >= sharedCap || topic.length > topicLength) return undefined;
    perFirst.set(first, shared + 1);
    const made = new Map<string, { message: Message; count: number }>();
    kept.set(topic, made);
    return made;
  }

  return {
    add(message) {
      if (!isForeign(message.topic)) return false;
      messages += 1;
      const size = message.payload.byteLength;
      const payloads = size > payloadBytes ? undefined : topicOf(message.topic);
      const key = `${message.retain ? 'r' : ''}|${Buffer.from(message.payload).toString('latin1')}`;
      const entry = payloads?.get(key);
      if (entry !== undefined) entry.count += 1;
      else if (payloads !== undefined && payloads.size < payloadsPerTopic && bytes + size <= totalBytes) {
        bytes += size;
        payloads.set(key, { message, count: 1 });
      } else {
        left += 1;
        return false;
      }
      return true;
    },
    list: () =>
      [...kept.values()].flatMap((payloads) =>
        [...payloads.values()].map(({ message, count }) => ({ ...message, count })),
      ),
    get messages() {
      return messages;
    },
    get topics() {
      return kept.size;
    },
    get left() {
      return left;
    },
  };
}
