import { createHash } from 'node:crypto';
import type { CloudEvent } from '#cloud/contract/index.ts';
import { Shelf } from './bounded.ts';
import type { EventTry, StoredEvent } from './types.ts';

const maxTries = 50;

type Kept = { -readonly [K in keyof StoredEvent]: StoredEvent[K] } & { digest: string; tries: EventTry[] };

/** Accepted events, at most 200,000 and 256 MiB of bodies; the oldest gives way. One per client and `event_id` (S-165). */
export class EventBook {
  readonly #kept = new Shelf<string, Kept>({ maxEntries: 200_000, maxBytes: 256 * 1024 * 1024 });
  #seq = 0;

  /** Takes one try; the first one's body stays. `bytes` is the size of the body on the wire, `arrivedMs` by the machine's clock. */
  take(
    clientId: string,
    body: CloudEvent,
    { bytes, nowMs, arrivedMs }: { bytes: number; nowMs: number; arrivedMs: number },
  ): StoredEvent {
    const key = JSON.stringify([clientId, body.event_id]);
    const digest = digestOf(body);
    const at = new Date(nowMs).toISOString();
    const known = this.#kept.get(key);
    if (known === undefined) {
      this.#seq += 1;
      const stored: Kept = {
        event_id: body.event_id,
        client_id: clientId,
        seq: this.#seq,
        received_at: at,
        arrived_at: new Date(arrivedMs).toISOString(),
        body,
        try_count: 1,
        tries: [{ at, sent_at: body.sent_at, identical: true }],
        identical: true,
        digest,
      };
      this.#kept.set(key, stored, bytes);
      return stored;
    }
    const identical = known.digest === digest;
    known.try_count += 1;
    known.identical &&= identical;
    if (known.tries.length >= maxTries) known.tries.splice(1, 1);
    known.tries.push({ at, sent_at: body.sent_at, identical });
    return known;
  }

  list(): StoredEvent[] {
    return this.#kept.values().map(({ digest: _, ...event }) => ({ ...event, tries: [...event.tries] }));
  }

  get dropped(): number {
    return this.#kept.dropped;
  }

  clear(): void {
    this.#kept.clear();
    this.#seq = 0;
  }
}

/** Member order counts: a sender that repeats the bytes it stored keeps it. */
function digestOf({ sent_at: _, ...rest }: CloudEvent): string {
  return createHash('sha256').update(JSON.stringify(rest)).digest('base64url');
}
