import { jsonOf } from '#lib/json-text.ts';

/** Getting a comparable text out of whatever a bridge sent. */

export type Decoded = { readonly text: string } | { readonly drop: 'too_large' | 'not_utf8' };

/** Payloads above this are no panel's message (bytes). */
const payloadCap = 64 * 1024;
/** Values are cut to this length before they are compared or matched, so that no expression sees a long text. */
const valueCap = 1024;

/** Text of a payload: strict UTF-8, without byte order mark and surrounding white space. */
export function decode(payload: Uint8Array): Decoded {
  if (payload.byteLength > payloadCap) return { drop: 'too_large' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(payload).trim() };
  } catch {
    return { drop: 'not_utf8' };
  }
}

/** Some bridges send a word as JSON text: `"disarmed"` is `disarmed`. */
export function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  const parsed = jsonOf(text);
  return typeof parsed === 'string' ? parsed.trim() : text;
}

export const pointerPath = (pointer: string): readonly string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What stands at a path; undefined where nothing stands. Only own members count. */
export function at(root: unknown, path: readonly string[]): unknown {
  let current = root;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string, unknown>)[part];
  }
  return current;
}

/** Named members of what stands at a path, at most `cap`; `*` in the path stands for every member. Lists count from 0. */
export function members(root: unknown, path: readonly string[], cap: number): [name: string, value: unknown][] {
  const star = path.indexOf('*');
  const parent = at(root, star === -1 ? path : path.slice(0, star));
  if (typeof parent !== 'object' || parent === null) return [];
  const own = Object.entries(parent).slice(0, cap);
  if (star === -1) return own;
  return own.flatMap(([, member]) => members(member, path.slice(star + 1), cap)).slice(0, cap);
}

/** Blanks the member at a path, whatever it holds. Changes `root`, which must be freshly parsed. */
export function mask(root: unknown, path: readonly string[]): void {
  const last = path.at(-1);
  const parent = at(root, path.slice(0, -1));
  if (last !== undefined && typeof parent === 'object' && parent !== null && Object.hasOwn(parent, last)) {
    (parent as Record<string, unknown>)[last] = '***';
  }
}

/** True, 1 and "on" all become text; null and absent are "nothing there", objects have no string form. */
export function stringForm(value: unknown): { text: string } | 'absent' | 'no_scalar' {
  if (value === undefined || value === null) return 'absent';
  if (typeof value === 'object') return 'no_scalar';
  return { text: String(value).trim().slice(0, valueCap) };
}

/** A value a technician may see in a hint: short, and without anything that could be a typed code. */
export function showable(text: string): string {
  const clean = text.replace(/\p{Cc}/gu, ' ').replace(/\d{4,}/g, (digits) => '*'.repeat(Math.min(digits.length, 8)));
  return clean.length > 32 ? `${clean.slice(0, 31)}…` : clean;
}

/** The one form of a key: where a bridge counts, "07" and "7" are the same zone. */
export const normalKey = (key: string, identity: 'number' | 'label') =>
  identity === 'number' && /^\d+$/.test(key) ? key.replace(/^0+(?=\d)/, '') : key;
