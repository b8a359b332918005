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

const armedWords: ReadonlyMap<string, ArmingState> = new Map([
  ['armed', 'armed'],
  ['arm', 'armed'],
  ['disarmed', 'disarmed'],
  ['disarm', 'disarmed'],
]);

/**
 * The arming status in the raw body of an answer, in any of the forms a service may use, bare or in `data`. What cannot
 * be read is `unknown`, never disarmed (S-142).
 */
export function armingStateOf(raw: unknown): ArmingState | 'unknown' {
  const outer = recordOf(raw);
  const states = [outer, recordOf(outer.data)].flatMap(({ status, arming_status, action, is_armed }) => [
    ...[status, arming_status, action].map((word) =>
      typeof word === 'string' ? armedWords.get(word.toLowerCase()) : undefined,
    ),
    is_armed === true || is_armed === 1 ? 'armed' : is_armed === false || is_armed === 0 ? 'disarmed' : undefined,
  ]);
  const said = new Set(states.filter((state) => state !== undefined));
  const [only] = said;
  return said.size === 1 && (only === 'armed' || only === 'disarmed') ? only : 'unknown';
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
