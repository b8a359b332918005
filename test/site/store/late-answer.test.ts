import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits } from '#site/store/index.ts';
import { laneIndex } from '../../../src/site/store/lanes.ts';
import { migrate } from '../../../src/site/store/schema.ts';
import { SiteFile } from '../../../src/site/store/site-file.ts';
import { openDatabase } from '../../../src/site/store/sqlite.ts';
import { Transactions } from '../../../src/site/store/transactions.ts';
import { wireCommit } from '../../../src/site/store/wire.ts';
import { commitOf, row, settled, temporaryDir } from './helpers.ts';

const alarm = laneIndex('alarm');
const closings: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
});

/** `site.db` with three waiting alarms. */
function open() {
  const db = openDatabase({ path: join(temporaryDir(), 'site.db'), file: 'site', maxBytes: defaultLimits.siteBytes });
  closings.push(() => db.close());
  migrate(db, 'site');
  const site = new SiteFile(db);
  const { durably } = new Transactions();
  const { outbox } = site;
  durably(site, () => outbox.insert(wireCommit(commitOf([row(1), row(2), row(3)]), 1).site ?? []));
  /** A transaction that does not fit on the disk. */
  const undone = (apply: () => void) =>
    expect(() =>
      durably(site, () => {
        apply();
        throw new Error('SQLITE_FULL');
      }),
    ).toThrow('SQLITE_FULL');
  return {
    undone,
    done: (apply: () => void) => durably(site, apply),
    evict: (most: number) => void outbox.evict(alarm, most, { keep: 0, at: 1 }),
    settle: (seq: number) => outbox.settle(settled(seq)),
    lost: () => outbox.gaps.sums().lost[alarm],
  };
}

describe('an event that was given up while it was on its way, and arrived', () => {
  it('is taken out of the count once, though the transaction of its answer is repeated', () => {
    const { undone, done, evict, settle, lost } = open();
    done(() => evict(2));
    expect(lost()).toBe(2);
    undone(() => settle(1));
    expect(lost()).toBe(2);
    done(() => {
      settle(1);
      settle(1);
    });
    expect(lost()).toBe(1);
    done(() => settle(1));
    expect(lost()).toBe(1);
  });

  it('is taken out of no count when giving it up was undone', () => {
    const { undone, done, evict, settle, lost } = open();
    undone(() => evict(1));
    done(() => settle(1));
    // A new record has the number that the undone one would have had.
    done(() => evict(1));
    done(() => settle(1));
    expect(lost()).toBe(1);
  });

  it('is taken out of the count in the very transaction that gave it up', () => {
    const { done, evict, settle, lost } = open();
    done(() => {
      evict(2);
      settle(2);
    });
    expect(lost()).toBe(1);
  });
});
