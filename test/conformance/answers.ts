import { expect } from 'vitest';
import type { Answer, Loose } from './http.ts';

/** Both forms of a time that the specification shows (section 2). */
export const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}\.\d{3}Z| \d{2}:\d{2}:\d{2})$/);
export const text = expect.any(String);
export const number = expect.any(Number);

/** The body of a success. */
export function done(answer: Answer, status = 200): Loose {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
  return answer.json ?? {};
}

/** The rows of a list that is a bare array. */
export function rows(answer: Answer): readonly Loose[] {
  const body = done(answer);
  expect(Array.isArray(body), answer.text).toBe(true);
  return body as unknown as readonly Loose[];
}

/** The entries of a bulk result. */
export function results(answer: Answer, status = 200): readonly Loose[] {
  const body = done(answer, status);
  expect(Array.isArray(body.results), answer.text).toBe(true);
  return (body.results ?? []) as unknown as readonly Loose[];
}

/** A refusal: JSON, and for 400 a body that identifies the failed field (S-009). */
export function refused(answer: Answer, status: number, field?: string): Loose {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.json, 'an error has a JSON body').toBeTypeOf('object');
  const body = answer.json ?? {};
  if (field === undefined) return body;
  // How the body identifies it is not shown; the sandbox has a member for it (S-010).
  if (body.field === undefined) expect(answer.text).toMatch(new RegExp(`\\b${field}\\b`));
  else expect(body.field, answer.text).toBe(field);
  return body;
}

/** 204 without a body. */
export function gone(answer: Answer): void {
  expect(answer.status, answer.text).toBe(204);
  expect(answer.text).toBe('');
}
