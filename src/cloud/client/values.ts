import type { ArmingState } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';

/**
 * Milliseconds since 1970 of a time in an answer: `2030-01-31T08:00:00.000Z`, with an offset, or `2030-01-31 08:00:00`;
 * a time without a zone means UTC (S-018). Undefined for anything else.
 */
export function cloudTime(text: string | undefined): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|[+-]\d{2}:?\d{2})?)?$/i.exec(
    text?.trim() ?? '',
  );
  if (match === null) return undefined;
  const [, day, time = '00:00:00', zone = 'Z'] = match;
  const ms = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** An id as the number a body needs (S-192). Throws `cloud_refused` for one that no number can hold exactly. */
export function numericId(id: string): number {
  const value = Number(id);
  if (/^\d+$/.test(id) && Number.isSafeInteger(value)) return value;
  throw new SitewardError('cloud_refused', `the id ${id.slice(0, 64)} cannot be sent as a number`, { facts: { id } });
}

const armedWords: ReadonlySet<string> = new Set([
  ...['arm', 'armed', 'away', 'stay', 'home', 'night', 'vacation', 'partial'],
  ...['armed_away', 'armed_stay', 'armed_home', 'armed_night', 'armed_vacation', 'armed_partial'],
  ...['arm_away', 'arm_stay', 'arm_home', 'arm_night', 'arm_vacation', 'arm_partial'],
]);
const disarmedWords: ReadonlySet<string> = new Set(['disarm', 'disarmed', 'unset', 'off']);

/**
 * The arming status in the raw body of an answer, in any of the forms a service may use, bare or in `data`: usual words
 * in any case, booleans, 0 and 1. What cannot be read, and what says two things, is `unknown`, never disarmed (S-142).
 */
export function armingStateOf(raw: unknown): ArmingState | 'unknown' {
  const outer = recordOf(raw);
  const records = [outer, recordOf(outer.data)];
  const named = records.flatMap(({ status, arming_status, action, is_armed }) => [
    ...[status, arming_status, action].map(wordOf),
    ...[arming_status, action, is_armed].map(flagOf),
  ]);
  const isNamed = named.some((state) => state !== undefined);
  // In an envelope `status` is often the success of the call, so as a flag it counts only where it stands alone.
  const isEnvelope = outer.data !== undefined && flagOf(outer.status) !== undefined;
  const isReport = records.some((record) => reportMembers.some((member) => member in record));
  const alone = isNamed || isEnvelope || isReport ? [] : records.map(({ status }) => flagOf(status));
  const said = new Set([...named, ...alone].filter((state) => state !== undefined));
  const [only] = said;
  return said.size === 1 && only !== undefined ? only : 'unknown';
}

const reportMembers = ['error', 'errors', 'code', 'message', 'success', 'detail'] as const;

function wordOf(value: unknown): ArmingState | undefined {
  if (typeof value !== 'string' || value.length > 64) return undefined;
  const word = value
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_');
  return armedWords.has(word) ? 'armed' : disarmedWords.has(word) ? 'disarmed' : undefined;
}

const flagOf = (value: unknown): ArmingState | undefined =>
  value === true || value === 1 ? 'armed' : value === false || value === 0 ? 'disarmed' : undefined;

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
