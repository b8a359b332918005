import { expect, test } from 'vitest';
import { describe, errorCodes, SitewardError } from '#errors.ts';

test('an error is told with its causes, each once', () => {
  const cause = new Error('EACCES: permission denied');
  const error = new SitewardError('config_unreadable', `the file cannot be read: ${cause.message}`, { cause });
  expect(describe(error)).toBe('the file cannot be read: EACCES: permission denied');
  expect(describe(new SitewardError('stopped', 'no picture', { cause }))).toBe('no picture: EACCES: permission denied');
});

test('error codes are sorted, so that two people who add one do not meet', () => {
  const codes = Object.keys(errorCodes);
  expect(codes).toEqual([...codes].sort());
});
