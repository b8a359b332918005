import { expect, test } from 'vitest';
import { adviceOf, outcomeOf, reasonWords } from '../../src/cli/audio/words.ts';
import { read } from '../docs/markdown.ts';

test('the reasons and what to do are those of docs/audio.md', () => {
  const rows = [...read('docs/audio.md').matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
    .filter(([, reason = '']) => reason in reasonWords)
    .map(([, reason, means, advice]) => [reason, means, advice]);
  expect(rows).toEqual(Object.entries(reasonWords).map(([reason, [means, advice = '–']]) => [reason, means, advice]));
});

test('what somebody ended takes no advice; what nobody can have heard says so', () => {
  const device = { device_id: 'gate', name: 'Gate' };
  expect(adviceOf({ ...device, status: 'cancelled', reason: 'user' })).toBeUndefined();
  expect(adviceOf({ ...device, status: 'queued', reason: 'preempted' })).toBeUndefined();
  expect(outcomeOf({ ...device, status: 'completed', played_ms: 3040, delivered: 'accepted' })).toBe(
    '3.0 s; it took the order to play; go and listen whether it is heard',
  );
});
