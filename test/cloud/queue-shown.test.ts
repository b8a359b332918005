import { expect, test } from 'vitest';
import type { PendingRow } from '#site/store/index.ts';
import { Queue } from '../../src/cloud/delivery/queue.ts';

const rowOf = (seq: number, silent: boolean): PendingRow => ({
  ...{ seq, lane: 'alarm', eventId: `event-${seq}`, orderKey: `p${seq}`, mono: 0, wall: 0, boot: 'b', clock: 'synced' },
  body: '{}',
  ...(silent && { silent: true as const }),
});

const aside = { dueMono: 5, keepsPlace: false, endsWithLink: false, endsWithTaken: false };

test('a silent event changes no figure of the queue, whatever its state (safety 4)', () => {
  const queue = new Queue();
  const add = (seq: number, silent: boolean, direct: boolean) =>
    queue.add(rowOf(seq, silent), { direct, fresh: false });
  const [open, hidden] = [add(1, false, true), add(2, true, true)];
  expect(queue.shown()).toEqual({ size: 1, aside: 0, inFlight: 0, direct: 1 });
  queue.started(hidden, 0);
  expect(queue.shown()).toEqual({ size: 1, aside: 0, inFlight: 0, direct: 1 });
  queue.started(open, 0);
  expect(queue.shown()).toEqual({ size: 1, aside: 0, inFlight: 1, direct: 1 });
  queue.setAside(hidden, aside);
  expect(queue.shown()).toEqual({ size: 1, aside: 0, inFlight: 1, direct: 1 });
  queue.setAside(open, aside);
  expect(queue.shown()).toEqual({ size: 1, aside: 1, inFlight: 0, direct: 1 });
});
