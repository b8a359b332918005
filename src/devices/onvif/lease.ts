/** When to renew a pull point and when to replace one that cannot be renewed; monotonic milliseconds. */
export interface Lease {
  readonly renewAt: number;
  readonly replaceAt: number;
  /** When the camera forgets it unless it is renewed. */
  readonly endsAt: number;
  readonly renewable: boolean;
  /** A pull held for longer would outlive the pull point. */
  readonly longestPullMs: number;
}

const longestLeaseMs = 180_000;

export function leaseOf(grantedMs: number, now: number): Lease {
  const half = Math.min(grantedMs, longestLeaseMs) / 2;
  return {
    renewAt: now + half,
    replaceAt: now + grantedMs * 0.9,
    endsAt: now + grantedMs,
    renewable: true,
    longestPullMs: Math.max(1000, half),
  };
}
