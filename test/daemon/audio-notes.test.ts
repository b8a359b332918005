import { expect, it } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { audioNotes } from '../../src/daemon/audio-notes.ts';

it('what a client asks above five a minute is counted, and told with the next entry; what the machine itself asks is not', () => {
  const clock = manualClock();
  const told: AuditDraft[] = [];
  const note = audioNotes(async (entry) => void told.push(entry), clock);
  const asks = (by: string, isAlarm = false) => note(auditNotes.audio('play', by, 'message chime'), isAlarm);
  for (let nth = 0; nth < 8; nth += 1) asks('client:desk');
  expect(told).toHaveLength(5);
  asks('client:desk', true);
  expect(told).toHaveLength(6);
  clock.advance(60_000);
  asks('client:desk');
  expect(told.map(({ omitted }) => omitted)).toEqual([...Array(6).fill(undefined), 3]);
  for (let nth = 0; nth < 8; nth += 1) asks('local');
  expect(told).toHaveLength(15);
});
