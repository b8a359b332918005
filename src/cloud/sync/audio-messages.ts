import type { Tolerant } from '#cloud/client/index.ts';
import { type AudioMessage, languageTag } from '#cloud/contract/index.ts';
import { audioCategories, type CloudMessage } from '#site/model/index.ts';

/** So many messages of a site are taken; lists of services hold some dozens. */
export const messageCap = 500;
const idCap = 255;
const nameCap = 64;
const descriptionCap = 500;
const longestS = 86_400;

/**
 * What can be used of a list: each id once, texts on one line. What cannot be asked for by its id, and what comes after the
 * 500th, is left out; an unknown category is `custom`, a language that is none `und`.
 */
export function listedMessages(rows: readonly Tolerant<AudioMessage>[]): {
  readonly messages: readonly CloudMessage[];
  readonly leftOut: number;
} {
  const messages = new Map<string, CloudMessage>();
  for (const row of rows) {
    const { audio_message_id: id } = row;
    if (messages.size < messageCap && isUsable(id) && !messages.has(id)) messages.set(id, listed(row));
  }
  return { messages: [...messages.values()], leftOut: rows.length - messages.size };
}

function listed(row: Tolerant<AudioMessage>): CloudMessage {
  const { audio_message_id, name = '', description = '', duration_seconds: seconds = 0, language = '' } = row;
  return {
    audio_message_id,
    name: line(name, nameCap) || line(audio_message_id, nameCap),
    description: line(description, descriptionCap),
    duration_seconds: Math.min(Math.max(seconds, 0), longestS),
    language: languageTag(language) ?? (language.trim().toLowerCase() === 'zxx' ? 'zxx' : 'und'),
    category: audioCategories.find((one) => one === row.category) ?? 'custom',
  };
}

/** It goes into a path and onto screens as it is. */
const isUsable = (id: string): boolean =>
  id.length <= idCap && !/[\p{C}\p{Zl}\p{Zp}]/u.test(id) && id.trim() === id && !/^\.{0,2}$/.test(id);

/** One line of text without what could steer a terminal or turn the way it is written; no half of a sign at its end. */
const line = (text: string, cap: number): string =>
  text
    .slice(0, cap * 4)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, cap)
    .replace(/[\ud800-\udbff]$/, '');
