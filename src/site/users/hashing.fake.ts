import { createHash } from 'node:crypto';
import type { SlowHash } from './hashing.ts';

/** As sure as the real one is for a test, without its time; counts its calls. */
export function countingHash(): SlowHash & { calls: number } {
  const hash = {
    calls: 0,
    async derive(secret: Uint8Array, salt: Uint8Array) {
      hash.calls += 1;
      return createHash('sha256').update(secret).update(salt).digest();
    },
  };
  return hash;
}
