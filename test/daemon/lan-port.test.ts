import { expect, it } from 'vitest';
import type { Store } from '#site/store/index.ts';
import { outboxStatus } from '../../src/daemon/lan-port.ts';

const counted = (stats: Store['stats']) => outboxStatus({ store: { stats } as Store });

it('calls nothing zero while the disk does not answer', async () => {
  expect(await counted(() => new Promise(() => {}))).toBeNull();
  expect(await counted(() => Promise.reject(new Error('the disk is gone')))).toBeNull();
  expect(await outboxStatus({})).toBeNull();
});
