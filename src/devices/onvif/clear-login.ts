import { SitewardError } from '#errors.ts';
import type { MemoryPort } from './camera.ts';
import { keyOf } from './memory-keys.ts';
import { patiently } from './patient-memory.ts';

/**
 * Whether a device may have the password in clear (HTTP or RTSP Basic) over a line that others can read: not when it, or
 * what was at its place before, took a digest or a token. Who takes its address would else have it for the asking.
 */
export interface ClearLogin {
  /** It took a better proof. Kept over a restart; nobody waits for that. */
  better(): void;
  /** Takes what earlier runs know. What cannot be read counts as a better proof, and is read again next time. */
  recall(): Promise<void>;
  allows(url: URL): boolean;
  /** Throws `camera_auth` where `url` is not allowed. `silent`: no warning comes of it (safety 4). */
  check(url: URL, silent: boolean): void;
  /** It answered as it should: what was asked for before is over. */
  answered(): void;
  /** What people should know of it. */
  readonly warning: string | undefined;
}

export function clearLogin(options: {
  /** `unless_better`: until it took a better proof. */
  basicLogin?: boolean | 'unless_better' | undefined;
  kept?: { readonly id: string; readonly memory: MemoryPort } | undefined;
}): ClearLogin {
  const { basicLogin = 'unless_better', kept } = options;
  let state: 'unknown' | 'may' | 'must_not' = kept === undefined ? 'may' : 'unknown';
  if (basicLogin === false) state = 'must_not';
  let isKept = kept === undefined;
  let isWriting = false;
  let isAsked = false;
  const key = keyOf('proof', kept?.id ?? '');

  const attempt = async (work: (memory: MemoryPort) => Promise<void>): Promise<void> => {
    if (kept === undefined) return;
    await patiently(() => work(kept.memory));
  };

  const allows = (url: URL): boolean => basicLogin === true || state === 'may' || /^(https|rtsps):$/.test(url.protocol);

  return {
    better() {
      state = 'must_not';
      if (isKept || isWriting) return;
      isWriting = true;
      void attempt(async (memory) => {
        if ((await memory.get(key)) !== 'better') await memory.set(key, 'better');
        isKept = true;
      }).finally(() => {
        isWriting = false;
      });
    },
    async recall() {
      if (state !== 'unknown') return;
      await attempt(async (memory) => {
        const found = await memory.get(key);
        if (state === 'unknown') state = found === undefined ? 'may' : 'must_not';
      });
    },
    allows,
    check(url, silent) {
      if (allows(url)) return;
      if (!silent) isAsked = true;
      throw new SitewardError('camera_auth', inClear);
    },
    answered() {
      isAsked = false;
    },
    get warning() {
      return isAsked ? inClear : undefined;
    },
  };
}

const inClear =
  'For its pictures or stream the device wants the password in clear (Basic), which is not sent: it took a better proof before, or nobody knows. Look whether it is still the same device; if it cannot do better, set basic_login: true';
