/** When to renew a pull point and when to replace one that cannot be renewed; monotonic milliseconds. */
export interface Lease {
  readonly renewAt: number;
  readonly replaceAt: number;
  /** When the camera forgets it unless it is renewed. */
  readonly endsAt: number;
  readonly renewable: boolean;
  /** From now to its renewal: a pull held for longer could outlive it. */
  readonly halfMs: number;
}

const longestLeaseMs = 180_000;

export function leaseOf(grantedMs: number, now: number): Lease {
  const half = Math.min(grantedMs, longestLeaseMs) / 2;
  return {
    renewAt: now + half,
    replaceAt: now + grantedMs * 0.9,
    endsAt: now + grantedMs,
    renewable: true,
    halfMs: half,
  };
}

const leastPullMs = 1000;

/** How long a pull may be held that begins now: it must not outlive the pull point. */
export function longestPullMs({ renewable, halfMs, replaceAt }: Lease, now: number): number {
  return Math.max(leastPullMs, renewable ? halfMs : Math.min(halfMs, replaceAt - now));
}
