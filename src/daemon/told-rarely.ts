import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { AuditDraft } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';

/** Entries on one client that are told one by one within a minute; the next one tells how many were only counted. */
const toldCap = 5;
const windowMs = 60_000;
const clientCap = 64;

/** One that asks without end must not push the past out of the audit log. */
export function toldRarely(
  note: Note,
  clock: Pick<Clock, 'monotonic'>,
): (client: string, entry: AuditDraft) => Promise<void> {
  const clients = new BoundedMap<string, { from: number; told: number; omitted: number }>(clientCap);
  return async (client, entry) => {
    const now = clock.monotonic();
    const known = clients.get(client) ?? { from: now, told: 0, omitted: 0 };
    const { from, told, omitted } = now - known.from >= windowMs ? { ...known, from: now, told: 0 } : known;
    const isTold = told < toldCap;
    clients.set(client, { from, told: told + 1, omitted: isTold ? 0 : omitted + 1 });
    if (isTold) await note(omitted === 0 ? entry : { ...entry, omitted });
  };
}

/** As the note, but for what is refused to clients of the network. */
export function calmRefusals(note: Note, clock: Pick<Clock, 'monotonic'>): Note {
  const rarely = toldRarely(note, clock);
  return (entry) => {
    const { kind, source, actor_ref: actor, client_id: client = '' } = entry;
    return kind === 'refusal' && source === 'lan' ? rarely(actor ?? client, entry) : note(entry);
  };
}
