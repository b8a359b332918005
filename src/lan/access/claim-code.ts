import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '#lib/clock.ts';

const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 40 bits in Crockford's base 32. */
export const claimCode = z.string().regex(/^[0-9A-HJKMNP-TV-Z]{8}$/, 'is no claim code');

export const makeClaimCode = (): string => [...randomBytes(8)].map((byte) => letters[byte % 32]).join('');

/** As a person reads it off a screen: small letters, O for 0, I and L for 1, dashes and blanks in between. */
const readOff = (typed: string): string =>
  typed.slice(0, 32).toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1');

const triesAtOnce = 5;
const firstPauseMs = 15 * 60_000;
const longestPauseMs = 4 * 3_600_000;

/** Five wrong tries, then a pause that doubles with each five more. A right code does not count during a pause. */
export interface ClaimTries {
  /** Milliseconds until a code is looked at; 0 when now. */
  pauseMs(): number;
  /** Whether it is the code. Call it only without a pause; a wrong one counts. */
  isRight(typed: string, code: string): boolean;
  /** There is another code. */
  forget(): void;
}

export function createClaimTries(clock: Clock): ClaimTries {
  let wrong = 0;
  let untilMono = Number.NEGATIVE_INFINITY;
  return {
    pauseMs: () => Math.max(0, untilMono - clock.monotonic()),
    isRight(typed, code) {
      if (timingSafeEqual(digest(readOff(typed)), digest(code))) return true;
      wrong += 1;
      if (wrong % triesAtOnce === 0) {
        const doubled = Math.min(wrong / triesAtOnce - 1, 4);
        untilMono = clock.monotonic() + Math.min(longestPauseMs, firstPauseMs * 2 ** doubled);
      }
      return false;
    },
    forget() {
      wrong = 0;
      untilMono = Number.NEGATIVE_INFINITY;
    },
  };
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
