import { z } from 'zod';

/** A planted fault, as `POST /__sandbox/faults` takes it (issue's words: `after` means applied, reply lost). */
export const faultSpec = z.strictObject({
  /** Exact path, or a prefix that ends with `*`. */
  path: z.string().min(1).max(500).startsWith('/'),
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).optional(),
  mode: z.enum(['status', 'delay', 'hang', 'reset', 'garbage']),
  when: z.enum(['before', 'after']).default('before'),
  /** How many requests it meets; -1 means all until removed. */
  count: z.union([z.literal(-1), z.int().min(1).max(1_000_000)]).default(1),
  /** Status of the false answer; default 503, for `garbage` 200. */
  status: z.int().min(200).max(599).optional(),
  headers: z.record(z.string().regex(/^[\w-]{1,64}$/), z.string().regex(/^[\x20-\x7e]{0,1000}$/)).optional(),
  /** Body of the false answer: an object is sent as JSON, text as it is. */
  body: z.unknown().optional(),
  /** For `delay`; milliseconds. */
  delay_ms: z.int().min(0).max(600_000).default(1000),
});
export type FaultSpec = z.output<typeof faultSpec>;
export type FaultInput = z.input<typeof faultSpec>;

/** Planted faults in the order they came, at most 100; the first that fits a request meets it. */
export class FaultTable {
  #faults: { readonly spec: FaultSpec; left: number; met: number }[] = [];

  /** False when 100 are planted already. */
  plant(input: FaultInput): boolean {
    if (this.#faults.length >= 100) return false;
    const spec = faultSpec.parse(input);
    this.#faults.push({ spec, left: spec.count, met: 0 });
    return true;
  }

  /** The fault for this request, if any; it is used up by one. */
  take(method: string, path: string): FaultSpec | undefined {
    const fault = this.#faults.find(({ spec }) => (spec.method ?? method) === method && fits(spec.path, path));
    if (fault === undefined) return undefined;
    fault.met += 1;
    if (fault.left > 0) fault.left -= 1;
    if (fault.left === 0) this.#faults = this.#faults.filter((other) => other !== fault);
    return fault.spec;
  }

  list(): (FaultSpec & { readonly left: number; readonly met: number })[] {
    return this.#faults.map(({ spec, left, met }) => ({ ...spec, left, met }));
  }

  clear(): number {
    const count = this.#faults.length;
    this.#faults = [];
    return count;
  }
}

const fits = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
