import type { Clock } from './clock.ts';

const cap = 5;
const withinMs = 600_000;

/** Five codes that may be wrong within ten minutes, where a code is taken that is no command (C8). */
export interface GuessLock {
  /** Milliseconds until another code is heard; 0 or less when one is heard now. */
  leftMs(): number;
  /** A try that counts as wrong; call what it returns when it was not. */
  count(): () => void;
}

export function guessLock(clock: Clock): GuessLock {
  let tries: readonly { readonly at: number }[] = [];
  return {
    leftMs() {
      const oldest = tries.length < cap ? undefined : tries[0];
      return oldest === undefined ? 0 : oldest.at + withinMs - clock.monotonic();
    },
    count() {
      const one = { at: clock.monotonic() };
      tries = [...tries.slice(1 - cap), one];
      return () => {
        tries = tries.filter((other) => other !== one);
      };
    },
  };
}
