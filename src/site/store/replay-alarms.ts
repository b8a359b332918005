import { join } from 'node:path';
import type { AlarmLog } from './alarm-log.ts';
import { evAt, type WireRow } from './protocol.ts';
import { type Note, succeeds } from './quiet.ts';
import type { SiteFile } from './site-file.ts';
import { openSource } from './source.ts';
import type { Durably } from './transactions.ts';

/**
 * Alarms of the second copy that the file does not have: it is new, or lost its end. Returns how many. `kept`: the name of the
 * set it is being filled from, if any.
 */
export function replayAlarms(options: {
  site: SiteFile;
  alarms: AlarmLog;
  kept: string | undefined;
  dir: string;
  durably: Durably;
  note: Note;
}): number {
  const { site, kept, note } = options;
  const top = site.outbox.maxSeq();
  const logged = options.alarms.read();
  const newest = newestWaiting(site);
  if (newest !== undefined && !logged.some(([ev]) => ev[evAt.seq] === newest)) options.alarms.lacks();
  const rows = logged.filter(([ev]) => ev[evAt.seq] > top);
  if (rows.length === 0) return 0;
  const lost = kept === undefined ? rows : undelivered(rows, join(options.dir, kept));
  if (lost.length === 0 || !succeeds(() => options.durably(site, () => site.outbox.insert(lost)))) return 0;
  note('warn', 'alarms were taken from their second copy', { events: lost.length });
  return lost.length;
}

const newestWaiting = ({ db }: SiteFile): number | undefined =>
  db.prepare<[], number | null>('SELECT max(seq) FROM pend WHERE lane = 0').pluck().get() ?? undefined;

/** Without those that a file that was set aside knows as delivered. */
function undelivered(rows: readonly WireRow[], kept: string): WireRow[] {
  let old: SiteFile['db'] | undefined;
  try {
    old = openSource(kept);
    const done = old.prepare('SELECT 1 FROM done WHERE seq = ?');
    return rows.filter(([ev]) => {
      const seq = ev[evAt.seq];
      return !succeeds(() => done.get(seq)) || done.get(seq) === undefined;
    });
  } catch {
    return [...rows];
  } finally {
    old?.close();
  }
}
