import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { limitsOf } from '#site/store/index.ts';
import { storeOptions } from '#site/store/options.ts';
import { commitOf, settled, startStore, temporaryDir, wide } from './helpers.ts';

const limits = (budget: string) => limitsOf(storeOptions.parse({ budget }));

describe('the budget of the databases', () => {
  it('is shared by both, and no database ever gets more than 1 GiB', () => {
    expect(limits('64MB')).toMatchObject({ siteBytes: 32_000_000, bulkBytes: 32_000_000 });
    expect(limits('8GB')).toMatchObject({ siteBytes: 1024 ** 3, bulkBytes: 1024 ** 3 });
    expect(limits('8GB').alarmCopy).toBe('written');
  });

  it('is refused where it is less than events need', () => {
    expect(() => storeOptions.parse({ budget: '63MB' })).toThrow('must be at least 64MB');
  });

  it('holds: what is delivered gives way, and the next alarm is taken', { timeout: 60_000 }, async () => {
    const dir = temporaryDir();
    const store = await startStore(dir, { limits: limits('64MB') });
    const group = 200;
    for (let first = 1; first <= 8000; first += group) {
      const numbers = Array.from({ length: group }, (_, at) => first + at);
      await store.commit(commitOf(numbers.map((seq) => wide(seq))));
      await store.settle(numbers.map((seq) => settled(seq)));
    }
    expect(statSync(join(dir, 'site.db')).size).toBeLessThanOrEqual(32_000_000);
    await store.commit(commitOf([wide(9000)]));
    expect((await store.take('alarm', 0, 10)).map(({ seq }) => seq)).toEqual([9000]);
    const kept = (await store.events({ limit: 200 })).map(({ event }) => event.seq);
    expect(kept).toContain(9000);
    expect(kept).toContain(8000);
    expect(kept).not.toContain(1);
  });
});
