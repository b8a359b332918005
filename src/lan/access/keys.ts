import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { scopes } from './permissions.ts';

export const maxKeys = 64;

/** Letters and digits that nobody mistakes for one another (Crockford). */
const idLetters = '0123456789abcdefghjkmnpqrstvwxyz';
const keyId = z.string().regex(/^[0-9a-hjkmnp-tv-z]{8}$/, 'must be the 8 characters behind "sw_"');
const tokenPattern = /^sw_([0-9a-hjkmnp-tv-z]{8})_[\w-]{43}$/;

/** What is kept of an API key. */
export const keptKey = z.strictObject({
  id: keyId,
  /** What it is for, as whoever made it says. */
  name: z.string().min(1).max(64),
  scopes: z.array(z.enum(scopes)).min(1).max(scopes.length).readonly(),
  /** SHA-256 of the whole key. */
  hash: z.base64url().length(43),
  createdAt: z.iso.datetime(),
  /** The account that made it. The key counts while that one may come in. */
  createdBy: z.string().min(1).max(32),
  expiresAt: z.iso.datetime().exactOptional(),
  /** To the minute; absent until it is used. */
  usedAt: z.iso.datetime().exactOptional(),
});
export type KeptKey = z.infer<typeof keptKey>;

/** A key as it may be shown. */
export type ShownKey = Omit<KeptKey, 'hash'>;
export const shownKey = ({ hash: _, ...key }: KeptKey): ShownKey => key;

/** A key nobody has yet: `sw_<8 id>_<43 random>`. */
export function makeKey(isTaken: (id: string) => boolean): { id: string; token: string; hash: string } {
  for (;;) {
    const id = [...randomBytes(8)].map((byte) => idLetters[byte % 32]).join('');
    if (isTaken(id)) continue;
    const token = `sw_${id}_${randomBytes(32).toString('base64url')}`;
    return { id, token, hash: hashOf(token).toString('base64url') };
  }
}

/** Whose id is in the token and whose hash it has; the same work whether there is one of this id or not. */
export function findKey(keys: readonly KeptKey[], token: string): KeptKey | undefined {
  const id = tokenPattern.exec(token)?.[1];
  const found = keys.find((key) => key.id === id);
  const isIt = timingSafeEqual(hashOf(token), found === undefined ? nothing : Buffer.from(found.hash, 'base64url'));
  return isIt ? found : undefined;
}

/** No hash is all zeros. */
const nothing = Buffer.alloc(32);

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
