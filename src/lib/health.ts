/** The state of one part of the daemon, in words a technician can act on. */
export interface Health {
  state: 'ok' | 'degraded' | 'down';
  /** Why it is not ok, and what to do. */
  reason?: string;
  /** Facts for `siteward status` and metrics; never a secret. */
  facts?: Readonly<Record<string, string | number | boolean | null>>;
}

/**
 * A part with a lifetime. `start` returns when the part does its duty or has begun to retry on its own; it throws
 * only for an unusable state directory or a programming error. `stop` may be called at any time and more than once.
 */
export interface Part {
  readonly name: string;
  start(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
  health(): Health;
}

export const ok = (facts?: Health['facts']): Health => (facts === undefined ? { state: 'ok' } : { state: 'ok', facts });
