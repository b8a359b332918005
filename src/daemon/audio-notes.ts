import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import type { AuditDraft } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';

/** Plays and cancels of one client that are told one by one within a minute; the next one tells how many were only counted. */
const toldCap = 5;
const windowMs = 60_000;
const clientCap = 64;

/**
 * Entries on what clients of the LAN ask of the speakers: one that asks without end must not push the past out of the audit log. What
 * begins or ends an alarm always has an entry of its own.
 */
export function audioNotes(note: Note, clock: Clock): (entry: AuditDraft, isAlarm: boolean) => void {
  const clients = new BoundedMap<string, { from: number; told: number; omitted: number }>(clientCap);

  return (entry, isAlarm) => {
    const { client_id: client, source } = entry;
    if (isAlarm || source !== 'lan' || client === undefined) return void note(entry);
    const now = clock.monotonic();
    const known = clients.get(client) ?? { from: now, told: 0, omitted: 0 };
    const { from, told, omitted } = now - known.from >= windowMs ? { ...known, from: now, told: 0 } : known;
    if (told >= toldCap) return clients.set(client, { from, told, omitted: omitted + 1 });
    clients.set(client, { from, told: told + 1, omitted: 0 });
    void note(omitted === 0 ? entry : { ...entry, omitted });
  };
}
