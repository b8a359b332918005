import type { Lane, SiteEvent } from '#site/model/index.ts';
import type { Commit, OutboxRow } from '#site/store/index.ts';

export function row(
  seq: number,
  change: Partial<OutboxRow> & { part?: string; class?: SiteEvent['class'] } = {},
): OutboxRow {
  const { part = 'p1', class: eventClass = 'alarm', ...rest } = change;
  const eventId = `event-${seq}`;
  const event: SiteEvent = {
    event_id: eventId,
    event_type: 'burglary',
    kind: 'burglary',
    class: eventClass,
    status: 'active',
    partition: part,
    seq,
    source: 'panel:main',
    at: '2026-11-27T20:00:00.000Z',
    data: { version: 1, epoch: 1, clock: 'synced' },
  };
  return {
    seq,
    lane: 'alarm',
    eventId,
    orderKey: part,
    mono: seq * 10,
    wall: 1_795_896_000_000 + seq,
    boot: 'boot-1',
    clock: 'synced',
    body: JSON.stringify({ event_id: eventId, text: 'Außentür' }),
    event,
    media: [],
    toCloud: true,
    ...rest,
  };
}

/** So much that a few thousand rows are more than SQLite keeps in memory: then it meets what became of the file. */
export const wide = (seq: number, change: Parameters<typeof row>[1] = {}) =>
  row(seq, { body: JSON.stringify({ event_id: `event-${seq}`, text: 'x'.repeat(6000) }), ...change });

export const commitOf = (rows: OutboxRow[], change: Partial<Commit> = {}): Commit => ({
  rows,
  arming: [],
  inputs: [],
  ...change,
});

export const settled = (seq: number, lane: Lane = 'alarm') =>
  ({ seq, lane, verdict: 'delivered', at: 5000, tries: 2 }) as const;

export const parkedVerdict = (seq: number, lane: Lane = 'alarm') =>
  ({ seq, lane, verdict: 'parked', at: 5000, tries: 3, status: 400, reason: 'bad field' }) as const;
