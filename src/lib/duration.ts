import { z } from 'zod';

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const unitBytes = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Reads "250ms", "30s", "5m", "2h", "7d"; undefined for anything else, numbers without a unit included. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
}

/** Reads "512KiB", "20MB", "8GB"; undefined for anything else. */
function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|KiB|MiB|GiB)$/.exec(text.trim());
  if (match === null) return undefined;
  return Math.round(Number(match[1]) * unitBytes[match[2] as keyof typeof unitBytes]);
}

/** Configuration schema of a duration: text with a unit in, milliseconds out. Bounds are inclusive, as text. */
export function duration(bounds: { min?: string; max?: string } = {}) {
  const min = bounds.min === undefined ? 0 : must(parseDuration(bounds.min), bounds.min);
  const max = bounds.max === undefined ? Number.MAX_SAFE_INTEGER : must(parseDuration(bounds.max), bounds.max);
  return z
    .string()
    .regex(/^\d+(\.\d+)?\s*(ms|s|m|h|d)$/, 'must be a duration with a unit, such as 30s, 5m or 2h')
    .meta(bounds.max === undefined ? {} : { $comment: `${bounds.min ?? '0s'} to ${bounds.max}` })
    .transform((text) => must(parseDuration(text), text))
    .refine((ms) => ms >= min && ms <= max, {
      message: `must be between ${bounds.min ?? '0s'} and ${bounds.max ?? 'any length'}`,
    });
}

/** Configuration schema of a size: text with a unit in, bytes out. */
export function size() {
  return z
    .string()
    .regex(/^\d+(\.\d+)?\s*(B|KB|MB|GB|KiB|MiB|GiB)$/, 'must be a size with a unit, such as 512MB or 8GB')
    .transform((text) => must(parseSize(text), text));
}

function must<T>(value: T | undefined, text: string): T {
  if (value === undefined) throw new TypeError(`not a quantity with a unit: ${text}`);
  return value;
}
