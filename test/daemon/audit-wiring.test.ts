import { expect, test } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { noteUnfit } from '../../src/daemon/audit-wiring.ts';
import type { House } from '../../src/daemon/house.ts';

test('whose code does not count now is recorded, twenty a minute at most', () => {
  const notes: AuditDraft[] = [];
  const controller = { audit: async (entries: readonly AuditDraft[]) => void notes.push(...entries) };
  const clock = manualClock();
  const unfit = noteUnfit({ controller } as unknown as House, clock);
  for (let tries = 0; tries < 100; tries += 1) unfit('ben', 'expired');
  expect(notes).toHaveLength(20);
  expect(notes[0]).toEqual({
    ...{ kind: 'refusal', source: 'codes', actor_ref: 'ben', target: 'codes', action: 'code', outcome: 'refused' },
    reason: 'expired',
  });
  clock.advance(60_000);
  unfit('ben', 'outside hours');
  expect(notes).toHaveLength(21);
});
