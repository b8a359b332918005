import { z } from 'zod';
import { isTimeZone } from './time-zones.ts';

/** Longest name or address line, and longest other text, in characters (S-014). */
const nameCap = 255;
const textCap = 4096;

/** Says "is required" for an absent member and what it must be otherwise, so that a 400 names what to do (S-009). */
export const must = (be: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? 'is required' : `must be ${be}`;

const capped = (max: number) => z.string({ error: must('a string') }).max(max, `must have at most ${max} characters`);

/** Text that is neither empty nor blank (S-014). `null` is a wrong type, as in every other field (S-013). */
export const requiredText = (max = textCap) => capped(max).refine((text) => text.trim() !== '', 'must not be empty');

/** Text, possibly empty. */
export const text = (max = textCap) => capped(max);

/** A name or an address line. */
export const requiredName = () => requiredText(nameCap);
export const name = () => text(nameCap);

export const flag = () => z.boolean({ error: must('a boolean') });

/** A whole number between the bounds, both included; numbers as text are refused (S-017). */
export const count = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .int({ error: must(message.slice('must be '.length)), abort: true })
    .min(min, message)
    .max(max, message);
};

/** One of a fixed set of words. */
export const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, { error: must(words.length === 1 ? words[0] : `one of ${words.join(', ')}`) });

/** A JSON object; members it does not name are left out, not refused (S-012). */
export const record = <const S extends z.core.$ZodLooseShape>(shape: S) =>
  z.object(shape, { error: must('an object') });

/** An ISO 8601 time (S-018); without a zone it means UTC. */
export const timestamp = () => z.iso.datetime({ offset: true, local: true, error: must('an ISO 8601 time') });

/** A time in an answer: `...T...000Z`, or `<date> <time>` without a zone, which means UTC (S-018). */
export const answerTime = () =>
  z.string().regex(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}\.\d{3}Z| \d{2}:\d{2}:\d{2})$/, 'must be a time');

/** Name of a time zone in the IANA database, exact case (S-063). */
export const timeZone = () =>
  capped(nameCap).refine(isTimeZone, 'must be the name of an IANA time zone, such as Europe/Berlin');

/** Id of the service in an answer. */
export const id = () => z.int().min(1);

/** Id of the service in a body: a number; the same digits as text are refused (S-017). */
export const idNumber = () => z.int({ error: must('a whole number') });

/** Id of the service in a path: canonical decimal text; all else addresses nothing, so it is a 404 (S-016). */
export const pathId = () => z.string().regex(/^[1-9][0-9]{0,15}$/, 'must be an id of the service');

/** Id in a path whose form only its owner knows. */
export const opaqueId = () => z.string().min(1, 'must not be empty').max(nameCap);

/** UUID in a path or an answer; the variant does not matter, an unknown one is a 404 either way (S-152). */
export const uuid = () => z.guid('must be a UUID');

/** Query text that may be given once; a server passes the values of a repeated one as an array (S-088). */
export const queryText = () => z.string({ error: must('given once') });

/** A whole number in a query: decimal digits on the wire, a number on both sides. */
export const queryCount = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return queryText()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
};
