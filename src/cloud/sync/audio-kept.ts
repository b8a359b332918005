import type { Logger } from 'pino';
import { z } from 'zod';
import { sha256 } from '#lib/digest.ts';
import { audioMessageShown } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import { type ListedMessage, messageCap } from './audio-messages.ts';

const list = z
  .array(audioMessageShown.omit({ key: true, source: true, sha256: true, loudness_lufs: true }))
  .max(messageCap);
const head = z.strictObject({
  v: z.literal(1),
  /** Whose list it is. */
  of: z.string(),
  slot: z.enum(['a', 'b']),
  pieces: z.int().min(1).max(1000),
  sha256: z.string(),
});

const headKey = 'catalogue';
/** A value of the memory holds 4,096 bytes. */
const pieceChars = 4_000;

/** The last good list on disk, in pieces; the pieces of the one before stay until the new one is whole. */
export interface CatalogueKeeper {
  /** None where there is none, where it is of another site, or where it cannot be read. */
  load(): Promise<readonly ListedMessage[] | undefined>;
  /** Rejects when it could not be written; the former list stays. */
  keep(messages: readonly ListedMessage[]): Promise<void>;
}

export function createCatalogueKeeper(options: { memory: Memory; of: string; log: Logger }): CatalogueKeeper {
  const { memory, of, log } = options;
  let slot: 'a' | 'b' = 'b';
  let written = '';

  return {
    async load() {
      try {
        const kept = await memory.get(headKey);
        if (kept === undefined) return undefined;
        const said = head.parse(JSON.parse(kept));
        slot = said.slot;
        if (said.of !== of) return undefined;
        const pieces: string[] = [];
        for (let n = 0; n < said.pieces; n += 1) pieces.push((await memory.get(pieceKey(slot, n))) ?? '');
        const text = pieces.join('');
        if (sha256(text) !== said.sha256) throw new TypeError('a piece of it is missing');
        const messages = list.parse(JSON.parse(text));
        written = text;
        return messages;
      } catch (error) {
        log.warn({ err: error }, 'the audio messages of the service that were kept cannot be read; they are read anew');
        return undefined;
      }
    },

    async keep(messages) {
      const text = asciiJson(messages);
      if (text === written) return;
      const next = slot === 'a' ? 'b' : 'a';
      const pieces = Math.ceil(text.length / pieceChars);
      for (let n = 0; n < pieces; n += 1)
        await memory.set(pieceKey(next, n), text.slice(n * pieceChars, (n + 1) * pieceChars));
      const said: z.output<typeof head> = { v: 1, of, slot: next, pieces, sha256: sha256(text) };
      await memory.set(headKey, JSON.stringify(said));
      slot = next;
      written = text;
    },
  };
}

const pieceKey = (slot: 'a' | 'b', n: number): string => `${headKey}-${slot}-${n}`;

/** A character is a byte, so that a piece may end anywhere. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
