import { jsonOf } from '#lib/json-text.ts';
import { type Compiled, ruleOf } from './compile.ts';
import { decode, isRecord, mask } from './values.ts';

/** Members that hold a secret whatever they hold, and members that do when they hold a word or a number. */
const secretName = /token|passw|pwd|secret|kennwort/i;
const codeName = /code|pin|key|kennzahl|eingabe|entered/i;
/** Name, sign and value within a text that is no JSON, such as a template of Home Assistant. */
const member = /(?<![\w-])([\w-]+)(\\*["']?\s*[:=]\s*\\*["']?)(?![\\"'\s{[])([^\\"',;}\s]+)/g;
/**
 * What people type on a keypad, in the digits of any script. Longer rows are times and serial numbers; a Contact ID by that name is no
 * code of anybody.
 */
const typed = /(?<!\p{N})(?!(?<=CID_)[136]\d{3}(?!\p{N}))\p{N}{4,12}(?!\p{N})/gu;
/** The same digit by digit, as keys are told: `2 5 8 0`, `2-5-8-0`. */
const spelled = /(?<!\p{N})\p{N}(?:[^\p{N}\p{L}]{1,4}\p{N}(?!\p{N})){3,}/gu;
const blank = '***';
/** The same in a message of a profile whose codes do not travel: dates and long identifiers stay. `1:4711` may be a user and a code. */
const word = /[\w\p{N}.:-]+/gu;
const harmless =
  /^(0x)?[\da-f]{9,}$|^\d{4}-\d\d-\d\d([T_]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?$|^\d\d?[.-]\d\d?[.-](19|20)\d\d$/i;
const code = /(?<!\p{N})\p{N}{4,8}(?!\p{N})/gu;
const depthCap = 16;

/** Text without what could be a code, wherever it came from. */
export const withoutDigits = (text: string): string => text.replace(spelled, blank).replace(typed, blank);

/**
 * The text of a payload as it may be shown and recorded: without codes and session tokens. `compiled` is the profile that
 * reads it; what no profile knows, and what belongs to one whose codes travel in messages, also loses every row of 4 to
 * 12 digits, and any other one those in texts that could be typed; digits one by one are such a row. Undefined when the payload is no text, or larger than 64 KiB.
 */
export function blanked(compiled: Compiled | undefined, topic: string, payload: Uint8Array): string | undefined {
  const decoded = decode(payload);
  if ('drop' in decoded) return undefined;
  const rule = compiled === undefined ? undefined : ruleOf(compiled, topic);
  const mode = compiled?.profile.code.mode ?? 'keys';
  const anyDigits = rule === undefined || (mode !== 'none' && mode !== 'in-bridge');
  const json = jsonOf(decoded.text);
  if (typeof json !== 'object' || json === null) {
    // A payload that is nothing but such digits is a code under every profile.
    return cleanText(decoded.text, anyDigits || /^"?\p{N}{4,12}"?$/u.test(decoded.text));
  }
  try {
    const given = JSON.stringify(json);
    for (const path of rule?.mask ?? []) mask(json, path);
    const clean = JSON.stringify(cleaned(json, anyDigits, 0));
    // What held nothing to hide is shown to the letter.
    return clean === given ? decoded.text : clean;
  } catch {
    // Nested so deeply that it cannot be written again.
    return undefined;
  }
}

function cleaned(value: unknown, anyDigits: boolean, depth: number): unknown {
  if (depth > depthCap) return blank;
  if (Array.isArray(value)) return withoutKeys(value).map((item) => cleaned(item, anyDigits, depth + 1));
  if (isRecord(value)) {
    const members = Object.entries(value).map(([name, member]) => [
      name,
      hides(name, member) ? blank : cleaned(member, anyDigits, depth + 1),
    ]);
    return Object.fromEntries(members);
  }
  if (typeof value === 'string') return cleanString(value, anyDigits, depth);
  return anyDigits && typeof value === 'number' && /^\d{4,8}$/.test(String(value)) ? blank : value;
}

/** Four and more single digits in a row are keys that were pressed. */
function withoutKeys(list: readonly unknown[]): readonly unknown[] {
  const runs: unknown[][] = [];
  for (const item of list) {
    const last = runs.at(-1);
    if (last !== undefined && isKey(item) && isKey(last[0])) last.push(item);
    else runs.push([item]);
  }
  return runs.flatMap((run) => (run.length < 4 ? run : [blank]));
}

const isKey = (item: unknown) =>
  (typeof item === 'string' || typeof item === 'number') && /^\s*\p{N}\s*$/u.test(String(item));

/** A text may hold JSON of its own. */
function cleanString(text: string, anyDigits: boolean, depth: number): string {
  const inner = /^\s*[{[]/.test(text) ? jsonOf(text) : undefined;
  if (typeof inner !== 'object' || inner === null) return cleanText(text, anyDigits);
  const clean = JSON.stringify(cleaned(inner, anyDigits, depth + 1));
  return clean === JSON.stringify(inner) ? text : clean;
}

function cleanText(text: string, anyDigits: boolean): string {
  const named = text
    .replace(member, (all, name: string, sign: string, value: string) =>
      hides(name, value) ? `${name}${sign}${blank}` : all,
    )
    .replace(spelled, blank);
  if (anyDigits) return named.replace(typed, blank);
  return named.replace(word, (one) => (harmless.test(one) ? one : one.replace(code, blank)));
}

function hides(name: string, value: unknown): boolean {
  if (value === null || value === '' || typeof value === 'boolean') return false;
  if (secretName.test(name)) return true;
  // A SIA code is two letters and nobody's secret.
  return codeName.test(name) && !(typeof value === 'string' && /^[A-Z]{2}$/.test(value));
}
