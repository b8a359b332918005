import { expect, test } from 'vitest';
import type { PendingRow } from '#site/store/index.ts';
import { Queue } from '../../src/cloud/delivery/queue.ts';

const rowOf = (seq: number, silent: boolean): PendingRow => ({
  ...{ seq, lane: 'alarm', eventId: `event-${seq}`, orderKey: `p${seq}`, mono: 0, wall: 0, boot: 'b', clock: 'synced' },
  body: '{}',
  ...(silent && { silent: true as const }),
});

const aside = { dueMono: 5, keepsPlace: false, endsWithLink: false, endsWithTaken: false };

test('when the next is tried: what is held behind one that keeps its place waits for that, and a silent one tells nothing', () => {
  const queue = new Queue();
  const add = (seq: number, orderKey: string, silent = false) =>
    queue.add({ ...rowOf(seq, silent), orderKey }, { direct: false, fresh: false });
  expect(queue.shownDueMono()).toBe(Number.POSITIVE_INFINITY);
  const [hidden, first] = [add(1, 'p1', true), add(2, 'p2')];
  queue.started(hidden, 0);
  queue.setAside(hidden, aside);
  expect(queue.shownDueMono()).toBe(0);
  queue.started(first, 0);
  queue.setAside(first, { ...aside, dueMono: 300, keepsPlace: true });
  add(3, 'p2');
  expect(queue.shownDueMono()).toBe(300);
  add(4, 'p4');
  expect(queue.shownDueMono()).toBe(0);
});

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
