import { z } from 'zod';

/** Says "is required" for an absent member and what it must be otherwise, so that a 400 names what to do (S-009). */
const must = (be: string) => (issue: { input?: unknown }) =>
  issue.input === undefined ? 'is required' : `must be ${be}`;

/** Text of at most `max` characters that is neither empty nor blank (S-014). */
export const requiredText = (max = 255) =>
  z
    .string({ error: must('a string') })
    .max(max, `must have at most ${max} characters`)
    .refine((text) => text.trim() !== '', 'must not be empty');

/** Text of at most `max` characters, possibly empty. */
export const text = (max = 255) =>
  z.string({ error: must('a string') }).max(max, `must have at most ${max} characters`);

export const flag = () => z.boolean({ error: must('a boolean') });

/** A whole number between the bounds, both included; numbers as text are refused (S-017). */
export const count = (min: number, max: number) =>
  z.number({ error: must('a number') }).refine((value) => Number.isInteger(value) && value >= min && value <= max, {
    message: `must be a whole number from ${min} to ${max}`,
  });

/** An ISO 8601 time (S-018); without a zone it means UTC. */
export const timestamp = () => z.iso.datetime({ offset: true, local: true, error: must('an ISO 8601 time') });
