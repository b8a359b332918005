import type { Compiled } from './compile.ts';
import { decode, isRecord, mask, parseJson } from './values.ts';

/** Members that hold a secret whatever they hold, and members that do when there is a digit in it (a SIA `code` has none). */
const secretName = /(^|[_-])(token|password|passwd|pwd|secret|keys)$/i;
const secretCamel = /(Token|Password|Secret)$/;
const codeName = /(^|[_-])(user|pass|pin|access)?(code|pin)$/i;
const codeCamel = /(Code|Pin)$/;
/** What people type on a keypad. Longer rows are times and serial numbers. */
const typed = /(?<!\d)\d{4,12}(?!\d)/g;
const blank = '***';
const depthCap = 16;

/**
 * The text of a payload as it may be shown and recorded: without codes and session tokens. `compiled` is the profile that
 * reads it; what no profile knows, and what belongs to one whose codes travel in messages, also loses every row of 4 to
 * 12 digits. Undefined when the payload is no text, or larger than 64 KiB.
 */
export function blanked(compiled: Compiled | undefined, topic: string, payload: Uint8Array): string | undefined {
  const decoded = decode(payload);
  if ('drop' in decoded) return undefined;
  const rule = compiled?.rules.find(({ template }) => template.regex.test(topic));
  const mode = compiled?.profile.code.mode ?? 'keys';
  const anyDigits = rule === undefined || (mode !== 'none' && mode !== 'in-bridge');
  const json = parseJson(decoded.text);
  if (typeof json !== 'object' || json === null) {
    // A payload that is nothing but such digits is a code under every profile.
    return anyDigits || /^"?\d{4,12}"?$/.test(decoded.text) ? decoded.text.replace(typed, blank) : decoded.text;
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
  if (Array.isArray(value)) return value.map((item) => cleaned(item, anyDigits, depth + 1));
  if (isRecord(value)) {
    const members = Object.entries(value).map(([name, member]) => [
      name,
      hides(name, member) ? blank : cleaned(member, anyDigits, depth + 1),
    ]);
    return Object.fromEntries(members);
  }
  if (!anyDigits) return value;
  if (typeof value === 'string') return value.replace(typed, blank);
  return typeof value === 'number' && /^\d{4,8}$/.test(String(value)) ? blank : value;
}

function hides(name: string, value: unknown): boolean {
  if (value === null || value === '') return false;
  if (secretName.test(name) || secretCamel.test(name)) return true;
  return (codeName.test(name) || codeCamel.test(name)) && /\d/.test(JSON.stringify(value) ?? '');
}
