import { SitewardError } from '#errors.ts';
import { codePattern, codeRule } from '#site/model/index.ts';

/**
 * Refuses what is no code, and codes that are tried first. Throws `code_refused`; no message ever repeats what was given.
 */
export function mustBeCode(code: unknown, what: 'code' | 'duress code'): asserts code is string {
  if (typeof code !== 'string')
    throw refused(what, 'must be text: as a number it has lost its leading zeros', 'not text');
  if (!codePattern.test(code)) throw refused(what, codeRule, 'not digits');
  if (isSequence(code))
    throw refused(
      what,
      'must not be one digit over and over or a plain sequence; such codes are tried first',
      'trivial',
    );
  if (isRepeated(code))
    throw refused(what, 'must not be the same few digits over and over; such codes are tried first', 'trivial');
}

/** Nobody is told whose code it is. */
export const inUse = (what: 'code' | 'duress code'): SitewardError =>
  refused(what, 'cannot be had; choose another one', 'in use');

const refused = (what: string, rule: string, reason: string) =>
  new SitewardError('code_refused', `the ${what} ${rule}`, { facts: { what, reason } });

/** Every digit is as far from the one before it as all the others, by nothing, one or two: 0000, 1234, 7890, 8642. */
function isSequence(code: string): boolean {
  const steps = [...code].slice(1).map((digit, index) => (Number(digit) - Number(code[index]) + 10) % 10);
  return [0, 1, 2, 8, 9].some((step) => steps.every((one) => one === step));
}

/** One block, said again and again: 1212, 123123, 11221122. */
const isRepeated = (code: string): boolean => /^(\d+?)\1+$/.test(code);
