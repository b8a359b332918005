import type { Clock } from '#lib/clock.ts';
import type { AuditDraft } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import { toldRarely } from './told-rarely.ts';

/** Entries on what clients of the LAN ask of the speakers. What begins or ends an alarm always has an entry of its own. */
export function audioNotes(note: Note, clock: Clock): (entry: AuditDraft, isAlarm: boolean) => void {
  const rarely = toldRarely(note, clock);
  return (entry, isAlarm) => {
    const { actor_ref: actor, client_id: client, source } = entry;
    const name = actor ?? client;
    void (isAlarm || source !== 'lan' || name === undefined ? note(entry) : rarely(name, entry));
  };
}
