import type { Clock } from '#lib/clock.ts';
import { isoTime } from '#site/model/index.ts';
import type { Keeping } from './keeping.ts';
import type { KeptKey } from './keys.ts';

const everyMs = 60_000;

/** When keys were used last. Written at most once a minute, all together; what is lost with the power is a minute. */
export interface KeyUse {
  used(id: string): void;
  of(key: KeptKey): string | undefined;
  /** Never rejects. */
  flush(): Promise<void>;
}

export function createKeyUse({ keeping, clock }: { keeping: Keeping; clock: Clock }): KeyUse {
  /** At most one for each key of the book. */
  const last = new Map<string, string>();
  let writtenMono = Number.NEGATIVE_INFINITY;

  async function flush(): Promise<void> {
    writtenMono = clock.monotonic();
    await keeping
      .change((book) => {
        const isNews = book.keys.some((key) => last.has(key.id) && last.get(key.id) !== key.usedAt);
        if (!isNews) return book;
        return {
          ...book,
          keys: book.keys.map((key) => {
            const usedAt = last.get(key.id);
            return usedAt === undefined ? key : { ...key, usedAt };
          }),
        };
      })
      // That a key is used matters more than that it is noted.
      .catch(() => undefined);
    const ids = new Set(keeping.held() === undefined ? keeping.book().keys.map(({ id }) => id) : []);
    for (const id of last.keys()) if (!ids.has(id)) last.delete(id);
  }

  return {
    used(id) {
      last.set(id, isoTime(Math.floor(clock.wall() / everyMs) * everyMs));
      if (clock.monotonic() - writtenMono >= everyMs) void flush();
    },
    of: (key) => last.get(key.id) ?? key.usedAt,
    flush,
  };
}
