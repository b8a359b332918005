import { expect, test } from 'vitest';
import { lockWords } from '../../src/daemon/local-command.ts';

test('who has to wait is told for which of the two locks', () => {
  expect(lockWords({ code: 'LOCKED', retryAfterS: 12.2 })).toBe('too many wrong codes; wait 13 s');
  expect(lockWords({ code: 'RATE_LIMITED', retryAfterS: 90 })).toBe('too many commands without a code; wait 90 s');
  expect(lockWords({ code: 'BAD_CODE', field: 'code' })).toBeUndefined();
  expect(lockWords(undefined)).toBeUndefined();
});
