import { type AudioMessageShown, playDefaults, type ReplyCode } from '#site/model/index.ts';
import type { TopicState } from './state.ts';

/**
 * What Home Assistant has set for its button. MQTT discovery has no media player: a message is chosen, a volume set, and then a button
 * pressed. Until the next start of siteward; nothing that is set makes a sound.
 */
export interface HaAudio {
  /** The messages there are; true where the names are others now. */
  know(messages: readonly AudioMessageShown[]): boolean;
  /** As it lists them. */
  readonly names: readonly string[];
  /** Below the root. */
  topics(): readonly TopicState[];
  /** Undefined: it is set. */
  select(name: string): ReplyCode | undefined;
  setVolume(text: string): ReplyCode | undefined;
  /** What its button plays; undefined while nothing is chosen. */
  wish(): { readonly audio_message_id: string; readonly volume: number } | undefined;
}

const noMessage = '(none)';
/** Of all names together, so that the list fits into the device it stands in. */
const namesBytes = 30_000;

export function createHaAudio(): HaAudio {
  let messages: ReadonlyMap<string, AudioMessageShown> = new Map();
  let names: readonly string[] = [noMessage];
  let chosen: string | undefined;
  let volume: number = playDefaults.volume;

  const entry = () => [...messages].find(([, { key }]) => key === chosen);

  return {
    know(next) {
      messages = named(next);
      const before = names;
      names = [noMessage, ...messages.keys()];
      return before.length !== names.length || before.some((name, index) => name !== names[index]);
    },
    get names() {
      return names;
    },
    topics: () => [
      ['audio/selected', entry()?.[0] ?? noMessage],
      ['audio/volume', String(volume)],
    ],
    select(name) {
      if (!names.includes(name)) return 'UNKNOWN_TARGET';
      chosen = messages.get(name)?.key;
      return undefined;
    },
    setVolume(text) {
      const percent = /^\d{1,3}(\.0+)?$/.test(text) ? Number(text) : Number.NaN;
      if (!(percent <= 100)) return 'SCHEMA';
      volume = percent;
      return undefined;
    },
    wish() {
      const message = entry()?.[1];
      return message && { audio_message_id: message.audio_message_id, volume };
    },
  };
}

/** Names of which there are several have their key with them: one that came later must not take the place of another. */
function named(messages: readonly AudioMessageShown[]): ReadonlyMap<string, AudioMessageShown> {
  const counts = new Map<string, number>([[noMessage, 1]]);
  for (const { name } of messages) counts.set(name, (counts.get(name) ?? 0) + 1);
  const all = new Map<string, AudioMessageShown>();
  let bytes = 0;
  for (const message of messages) {
    const { name, key } = message;
    const shown = counts.get(name) === 1 && name !== noMessage ? name : `${name} (${key})`;
    bytes += Buffer.byteLength(JSON.stringify(shown)) + 1;
    if (bytes > namesBytes) break;
    if (!all.has(shown)) all.set(shown, message);
  }
  return all;
}
