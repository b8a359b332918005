import { createCipheriv, createDecipheriv, randomInt } from 'node:crypto';

/** AES-CBC with a start vector of zeros, the text as hex: random characters, `|`, and then what a plain frame holds. */

const block = 16;
const zeros = Buffer.alloc(block);

/**
 * The keys a text may stand for: 16, 24 or 32 characters as they are, or 32, 48 or 64 hex digits. 32 hex digits can be
 * meant both ways; makers differ, so both are tried. Empty when it is no key.
 */
export function keysOf(text: string): readonly Buffer[] {
  const keys: Buffer[] = [];
  const bytes = Buffer.from(text, 'latin1');
  if (/^[\x20-\x7e]*$/.test(text) && [16, 24, 32].includes(bytes.length)) keys.push(bytes);
  if (/^(?:[0-9A-Fa-f]{32}|[0-9A-Fa-f]{48}|[0-9A-Fa-f]{64})$/.test(text)) keys.push(Buffer.from(text, 'hex'));
  return keys;
}

/** What the hex holds after its padding; undefined when it is no such text, or of another key. */
export function decrypt(hex: string, key: Buffer): string | undefined {
  if (hex.length === 0 || hex.length % (2 * block) !== 0 || !/^[0-9A-Fa-f]*$/.test(hex)) return undefined;
  const cipher = createDecipheriv(`aes-${key.length * 8}-cbc`, key, zeros).setAutoPadding(false);
  const text = Buffer.concat([cipher.update(hex, 'hex'), cipher.final()]).toString('latin1');
  const bar = text.indexOf('|');
  return bar < 0 ? undefined : text.slice(bar + 1);
}

/** The reverse, with fresh padding, so that the same text is never the same twice. */
export function encrypt(text: string, key: Buffer, pad: (length: number) => string = randomPad): string {
  // At least one block of padding: a start vector of zeros would otherwise show equal beginnings as equal.
  const length = block + ((block - ((text.length + 1) % block)) % block);
  const cipher = createCipheriv(`aes-${key.length * 8}-cbc`, key, zeros).setAutoPadding(false);
  const bytes = Buffer.from(`${pad(length)}|${text}`, 'latin1');
  return Buffer.concat([cipher.update(bytes), cipher.final()])
    .toString('hex')
    .toUpperCase();
}

const padCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

const randomPad = (length: number): string =>
  Array.from({ length }, () => padCharacters[randomInt(padCharacters.length)]).join('');
