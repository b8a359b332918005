import { z } from 'zod';
import { sha256 } from './digest.ts';

const head = z.strictObject({
  v: z.literal(1),
  /** Whose it is. */
  of: z.string(),
  slot: z.enum(['a', 'b']),
  pieces: z.int().min(1).max(1000),
  sha256: z.string(),
});

/** Where small texts are kept by key. */
interface SmallTexts {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
}

/** A value of the store's memory holds 4,096 bytes. */
const pieceChars = 4_000;

/** A JSON value on disk in pieces; those of the one before stay until the new one is whole. */
export interface TextKeeper {
  /** Undefined where there is none, or where it is somebody else's. Rejects where it cannot be read. */
  load(): Promise<unknown>;
  /** Writes only what is not there yet. Rejects when it could not be written; the former value stays. */
  keep(value: unknown): Promise<void>;
}

export function createTextKeeper({ memory, key, of }: { memory: SmallTexts; key: string; of: string }): TextKeeper {
  let slot: 'a' | 'b' = 'b';
  let written = '';
  const pieceKey = (one: 'a' | 'b', n: number): string => `${key}-${one}-${n}`;

  return {
    async load() {
      const kept = await memory.get(key);
      if (kept === undefined) return undefined;
      const said = head.parse(JSON.parse(kept));
      slot = said.slot;
      if (said.of !== of) return undefined;
      const pieces: string[] = [];
      for (let n = 0; n < said.pieces; n += 1) pieces.push((await memory.get(pieceKey(slot, n))) ?? '');
      const text = pieces.join('');
      if (sha256(text) !== said.sha256) throw new TypeError('a piece of it is missing');
      const value: unknown = JSON.parse(text);
      written = text;
      return value;
    },

    async keep(value) {
      const text = asciiJson(value);
      if (text === written) return;
      const next = slot === 'a' ? 'b' : 'a';
      const pieces = Math.ceil(text.length / pieceChars);
      for (let n = 0; n < pieces; n += 1)
        await memory.set(pieceKey(next, n), text.slice(n * pieceChars, (n + 1) * pieceChars));
      const said: z.output<typeof head> = { v: 1, of, slot: next, pieces, sha256: sha256(text) };
      await memory.set(key, JSON.stringify(said));
      slot = next;
      written = text;
    },
  };
}

/** A character is a byte, so that a piece may end anywhere. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
