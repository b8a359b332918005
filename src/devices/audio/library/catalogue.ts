import type { AudioMessageShown, CloudMessage } from '#site/model/index.ts';
import { type Message, slug } from './message.ts';

/** What stands behind a name: a message that can be played here, or one which only the service holds. */
export type Found =
  | { readonly where: 'here'; readonly message: Message }
  | { readonly where: 'cloud'; readonly message: CloudMessage };

export interface Catalogue {
  /** Ours and the service's, each once, by key. */
  readonly shown: readonly AudioMessageShown[];
  /** By id of the service, then by key. */
  find(idOrKey: string): Found | undefined;
  /** Messages that stand for an id which the service does not list, by key. */
  readonly stale: readonly string[];
}

/**
 * Which message of ours stands for which of the service's. One does where somebody said so, or where the id is its key: never
 * because names are alike, as the wrong message is worse than none. While nobody knows the list of the service, what was said
 * counts.
 */
export function matchCatalogue(cloud: readonly CloudMessage[] | undefined, ours: readonly Message[]): Catalogue {
  const listed = new Map((cloud ?? []).map((message) => [message.audio_message_id, message]));
  const isSaid = ({ audio_message_id: id }: Message) => id !== undefined && (cloud === undefined || listed.has(id));
  const said = ours.filter(isSaid);
  const byId = new Map(said.map((message) => [message.audio_message_id ?? '', message]));
  for (const message of ours)
    if (!isSaid(message) && listed.has(message.key) && !byId.has(message.key)) byId.set(message.key, message);
  const byKey = new Map(ours.map((message) => [message.key, message]));
  const idOf = new Map(Array.from(byId, ([id, { key }]) => [key, id]));

  const keys = new Set(byKey.keys());
  const elsewhere = new Map<string, CloudMessage>();
  const freeKey = keyMaker(keys);
  for (const message of listed.values()) {
    if (byId.has(message.audio_message_id)) continue;
    const key = freeKey(message.audio_message_id);
    keys.add(key);
    elsewhere.set(key, message);
  }

  const here = (message: Message): Found => ({ where: 'here', message });
  const there = (message: CloudMessage): Found => ({ where: 'cloud', message });
  return {
    shown: [
      ...ours.map((message) => showOurs(message, idOf.get(message.key) ?? message.key)),
      ...Array.from(elsewhere, ([key, message]): AudioMessageShown => ({ ...message, key, source: 'cloud' })),
    ].sort((a, b) => (a.key < b.key ? -1 : 1)),
    find(idOrKey) {
      const matched = byId.get(idOrKey);
      if (matched !== undefined) return here(matched);
      const listedOnly = listed.get(idOrKey);
      if (listedOnly !== undefined) return there(listedOnly);
      const own = byKey.get(idOrKey);
      if (own !== undefined) return here(own);
      const other = elsewhere.get(idOrKey);
      return other && there(other);
    },
    stale: ours.filter((message) => message.audio_message_id !== undefined && !isSaid(message)).map(({ key }) => key),
  };
}

function showOurs(message: Message, audio_message_id: string): AudioMessageShown {
  const { key, name, description, duration_seconds, language, category, source, sha256, loudness_lufs } = message;
  return {
    ...{ audio_message_id, key, name, description, duration_seconds, language, category, source, sha256 },
    ...(loudness_lufs !== undefined && { loudness_lufs }),
  };
}

/** The id as a key, with a number where another has it. */
function keyMaker(taken: ReadonlySet<string>): (id: string) => string {
  /** The number each key goes on from: a service whose ids all make one key is gone through once. */
  const next = new Map<string, number>();
  return (id) => {
    const wanted = /^[a-z0-9][a-z0-9._-]{0,63}$/.test(id) ? id : slug(id) || 'cloud';
    for (let number = next.get(wanted) ?? 1; ; number += 1) {
      const suffix = number === 1 ? '' : `-${number}`;
      const key = `${wanted.slice(0, 64 - suffix.length)}${suffix}`;
      if (taken.has(key)) continue;
      next.set(wanted, number + 1);
      return key;
    }
  };
}
