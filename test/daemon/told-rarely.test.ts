import { expect, test } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import type { AuditDraft } from '#site/model/index.ts';
import { calmRefusals } from '../../src/daemon/told-rarely.ts';

const refusal = (actor: string): AuditDraft => ({
  ...{ kind: 'refusal', source: 'lan', client_id: '192.0.2.7', actor_ref: actor },
  ...{ target: 'camera yard', action: 'snapshot', outcome: 'refused', reason: 'camera_refused' },
});

test('who is refused without end has five entries a minute; the next one tells how many there were', async () => {
  const notes: AuditDraft[] = [];
  const clock = manualClock();
  const note = calmRefusals(async (entry) => void notes.push(entry), clock);
  for (let tries = 0; tries < 100; tries += 1) await note(refusal('key:a'));
  expect(notes).toHaveLength(5);
  await note(refusal('key:b'));
  expect(notes).toHaveLength(6);
  clock.advance(60_000);
  await note(refusal('key:a'));
  expect(notes.at(-1)).toEqual({ ...refusal('key:a'), omitted: 95 });
});

test('what is done, and what is refused on the bridge itself, always has its entry', async () => {
  const notes: AuditDraft[] = [];
  const note = calmRefusals(async (entry) => void notes.push(entry), manualClock());
  for (let tries = 0; tries < 20; tries += 1) {
    await note({ ...refusal('key:a'), kind: 'command', outcome: 'done' });
    await note({ ...refusal('key:a'), source: 'cli' });
  }
  expect(notes).toHaveLength(40);
});
