import type { MemoryPort } from './camera.ts';
import { isTimeSource, type TimeSource } from './device-clock.ts';
import { keyOf } from './memory-keys.ts';
import type { Known } from './occupant.ts';
import { firstReadMs, patiently } from './patient-memory.ts';
import type { Subscription } from './subscription.ts';

/** What was found out about a camera by trying, so that a restart need not find it out again. */
export interface Learned {
  /** Path and query of the event service, and how it wants to be asked. */
  readonly way?: { readonly path: string; readonly style: number };
  /** Which time of the camera its tokens are checked by. */
  readonly time?: TimeSource;
  /** How long it can hold a pull, and when that was found (wall clock): forgotten after a week, firmware changes. */
  readonly hold?: { readonly ms: number; readonly at: number };
  /** The device, as it names itself. */
  readonly device?: Known;
}

/** One session's place in the memory port. Best effort: a memory that hangs or fails must not keep a camera from being watched. */
export interface SessionMemory {
  subscription(signal: AbortSignal): Promise<Subscription | undefined>;
  keepSubscription(subscription: Subscription | undefined, signal: AbortSignal): Promise<void>;
  /** Undefined where it could not be read: that is not "nothing known". */
  learned(signal: AbortSignal): Promise<Learned | undefined>;
  /** It was read, or overruled. Until then nothing is written over it. */
  readonly isRead: boolean;
  /** A person decided, whatever is remembered. */
  overrule(): void;
  /** Written only when it differs from what was read or written last. False when it is not kept. */
  keepLearned(learned: Learned, signal: AbortSignal): Promise<boolean>;
}

const nothing = '{}';
const holdKeptMs = 7 * 24 * 3_600_000;

export function sessionMemory(memory: MemoryPort, id: string, wall: () => number): SessionMemory {
  const subscriptionKey = keyOf('subscription', id);
  const learnedKey = keyOf('learned', id);
  /** What the memory holds, as far as that is known. */
  let written: string | undefined;
  let wasAsked = false;

  return {
    async subscription(signal) {
      return parseSubscription((await patiently(() => memory.get(subscriptionKey), { signal }))?.value);
    },
    async keepSubscription(subscription, signal) {
      await patiently(
        () =>
          subscription === undefined
            ? memory.delete(subscriptionKey)
            : memory.set(subscriptionKey, JSON.stringify(subscription)),
        { signal },
      );
    },
    async learned(signal) {
      const first = wasAsked ? {} : { ms: firstReadMs };
      wasAsked = true;
      const found = await patiently(() => memory.get(learnedKey), { signal, ...first });
      if (found === undefined || written !== undefined) return undefined;
      written = found.value ?? nothing;
      return parseLearned(found.value, wall());
    },
    get isRead() {
      return written !== undefined;
    },
    overrule() {
      written ??= nothing;
    },
    async keepLearned(learned, signal) {
      const text = JSON.stringify(learned);
      if (written === undefined) return false;
      if (text === written) return true;
      if ((await patiently(() => memory.set(learnedKey, text), { signal })) === undefined) return false;
      written = text;
      return true;
    },
  };
}

function parseSubscription(text: string | undefined): Subscription | undefined {
  const value = parseObject(text) as Partial<Subscription>;
  const usable = typeof value.url === 'string' && URL.canParse(value.url) && typeof value.to === 'string';
  const { url = '', to = '', parameters = [] } = value;
  return usable && Array.isArray(parameters) ? { url, to, parameters, grantedMs: 0 } : undefined;
}

function parseLearned(text: string | undefined, now: number): Learned {
  const { way, time, hold, device } = parseObject(text) as {
    way?: Learned['way'];
    time?: unknown;
    hold?: Learned['hold'];
    device?: Partial<Known>;
  };
  const isNamed = [device?.maker, device?.model, device?.serial, device?.mac ?? ''].every(
    (part) => typeof part === 'string',
  );
  const age = typeof hold?.at === 'number' ? now - hold.at : Number.NaN;
  return {
    ...(typeof way?.path === 'string' && way.path.startsWith('/') && Number.isInteger(way.style) && { way }),
    ...(isTimeSource(time) && { time }),
    ...(hold !== undefined && Number.isFinite(hold.ms) && age >= 0 && age < holdKeptMs && { hold }),
    ...(isNamed && { device: device as Known }),
  };
}

function parseObject(text: string | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
