import { Pool } from 'undici';

/** Pools of connections, one per origin. At most `maxOrigins`; the one unused longest gives way. */
export interface Pools {
  /** The pool of an origin such as `https://api.example.net`. */
  of(origin: string): Pool;
  /** After a deadline: the next request gets fresh connections, those under way may end on the old ones. */
  retire(origin: string, pool: Pool): void;
  /** As `retire`, for all of them. */
  renew(): void;
  close(): Promise<void>;
}

export interface PoolsOptions {
  /** Connections per origin. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** Further certificate authorities in PEM, beside those of the system. */
  readonly ca?: readonly string[];
  readonly maxOrigins?: number;
}

export function createPools(options: PoolsOptions): Pools {
  const pools = new Map<string, Pool>();
  const leaving = new Set<Pool>();

  function leave(pool: Pool): void {
    leaving.add(pool);
    // Gracefully, so that an alarm under way on the same pool is not cut; its own deadline bounds the wait.
    void pool
      .close()
      .catch(() => {})
      .then(() => leaving.delete(pool));
  }

  return {
    of(origin) {
      const known = pools.get(origin) ?? makePool(origin, options);
      pools.delete(origin);
      pools.set(origin, known);
      for (const [oldest, pool] of pools) {
        if (pools.size <= (options.maxOrigins ?? 16)) break;
        pools.delete(oldest);
        leave(pool);
      }
      return known;
    },
    retire(origin, pool) {
      if (pools.get(origin) !== pool) return;
      pools.delete(origin);
      leave(pool);
    },
    renew() {
      const all = [...pools.values()];
      pools.clear();
      for (const pool of all) leave(pool);
    },
    async close() {
      const all = [...pools.values(), ...leaving];
      pools.clear();
      await Promise.allSettled(all.map((pool) => pool.destroy()));
    },
  };
}

function makePool(origin: string, options: PoolsOptions): Pool {
  return new Pool(origin, {
    connections: options.connections,
    pipelining: 1,
    // HTTP/2 costs two to four times the CPU here and pays only where connections are scarce.
    allowH2: false,
    connect: {
      timeout: options.connectTimeoutMs,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 2500,
      ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
    },
    headersTimeout: 15_000,
    bodyTimeout: 15_000,
    // Below what servers usually grant, so that a request seldom meets a socket that is just being closed.
    keepAliveTimeout: 4_000,
    maxHeaderSize: 16_384,
  });
}
