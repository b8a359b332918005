import { expect, it } from 'vitest';
import type { EventEntry } from '#lan/http/index.ts';
import { openTrail } from './trail.ts';

const entry = (seq: number, ...states: readonly string[]) =>
  ({
    event: { event_id: `id-${seq}`, seq },
    delivery: 'delivered',
    media: states.map((state, index) => ({ kind: 'snapshot', index, camera: 'yard', state })),
  }) as unknown as EventEntry;

/** A site with these entries, whose pages are of two. */
function site() {
  const of = { kept: new Map<number, EventEntry>(), isFull: false };
  const put = (...entries: readonly EventEntry[]) => {
    for (const one of entries) of.kept.set(one.event.seq, one);
  };
  async function api(path: string) {
    const query = new URL(path, 'http://site').searchParams;
    const [before, limit] = [Number(query.get('before') ?? Number.POSITIVE_INFINITY), Number(query.get('limit'))];
    const items = [...of.kept.values()]
      .filter(({ event }) => event.seq < before)
      .sort((a, b) => b.event.seq - a.event.seq);
    return { items: items.slice(0, Math.min(limit, 2)) };
  }
  return { of, put, trail: openTrail({ api }, () => of.isFull) };
}

const stateOf = (trail: { with(last: []): readonly EventEntry[] }, seq: number) =>
  trail.with([]).find(({ event }) => event.seq === seq)?.media[0]?.state;

it('an event whose pictures are under way is asked for when the page no longer shows it', async () => {
  const { put, trail } = site();
  put(entry(1, 'planned'));
  await trail.look();
  put(entry(1, 'failed'), entry(2), entry(3));
  await trail.look();
  expect(stateOf(trail, 1)).toBe('failed');
  expect([...trail.gaveWay]).toEqual([]);
});

it('one that is gone has given way only where the disk was full since it was last seen', async () => {
  const { of, put, trail } = site();
  put(entry(1, 'planned'), entry(2, 'uploaded'));
  await trail.look();
  of.kept.clear();
  await trail.look();
  expect([...trail.gaveWay], 'the disk was never full').toEqual([]);

  put(entry(3, 'ready'), entry(4, 'uploaded', 'planned'));
  await trail.look();
  of.isFull = true;
  of.kept.clear();
  await trail.look();
  expect([...trail.gaveWay].sort()).toEqual(['id-3', 'id-4']);
  expect(stateOf(trail, 3)).toBe('ready');
});
