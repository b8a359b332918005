import type { Lane, SiteEvent } from '#site/model/index.ts';
import type { OutboxRow, Store } from '#site/store/index.ts';

export const bodyBytes = 600;

/** An outbox row with a body of 600 bytes, as the controller makes them. */
export function makeRow(seq: number, lane: Lane = 'alarm'): OutboxRow {
  const eventId = `00000000-0000-8000-8000-${String(seq).padStart(12, '0')}`;
  const event: SiteEvent = {
    event_id: eventId,
    event_type: 'burglary',
    kind: 'burglary',
    class: 'alarm',
    status: 'active',
    partition: 'p1',
    seq,
    source: 'panel:main',
    at: '2026-11-27T20:00:00.000Z',
    data: { version: 1, epoch: 1, clock: 'synced' },
  };
  const boot = '00000000-0000-4000-8000-000000000001';
  const body = JSON.stringify({ event_id: eventId, pad: '' }).padEnd(bodyBytes, 'x');
  const times = { mono: seq, wall: 1_795_896_000_000, boot, clock: 'synced' } as const;
  return { seq, lane, eventId, orderKey: 'p1', ...times, body, event, media: [], toCloud: true };
}

export interface Written {
  readonly perSecond: number;
  readonly nextSeq: number;
  /** From the call to the answer, milliseconds each. */
  readonly acceptMs: readonly number[];
}

/** `writers` writers, each of which waits for its event to be on disk before the next, for `ms`. */
export async function writeAtOnce(
  store: Store,
  { writers, ms, firstSeq, lane }: { writers: number; ms: number; firstSeq: number; lane?: Lane },
): Promise<Written> {
  const acceptMs: number[] = [];
  let seq = firstSeq;
  const began = performance.now();
  const writer = async () => {
    while (performance.now() - began < ms) {
      const row = makeRow(seq, lane);
      seq += 1;
      const asked = performance.now();
      await store.commit({ rows: [row], arming: [], inputs: [] });
      acceptMs.push(performance.now() - asked);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return { perSecond: ((seq - firstSeq) / (performance.now() - began)) * 1000, nextSeq: seq, acceptMs };
}
