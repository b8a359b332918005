import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createRules } from '#devices/audio/rules/rules.ts';
import type { AudioPlan } from '#devices/audio/speakers.ts';

it('a rule that cannot play says which message, once', () => {
  const lines: string[] = [];
  const rule = { id: 'noon', at: '12:00', play: { message: 'ours.noon', volume: 70, repeat: 1 } };
  const rules = createRules({
    plan: () => ({ rules: [rule], speakers: [], language: 'en', timezone: 'UTC' }) as unknown as AudioPlan,
    library: () => undefined,
    play: () => ({ outcome: 'refused', reason: 'no_speaker' }),
    stamp: () => ({ mono: 0, wall: 0 }) as never,
    metrics: { rule: () => {} } as never,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
  rules.due('noon');
  rules.due('noon');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { rule: 'noon', message: 'ours.noon', reason: 'unknown_message', msg: 'a rule could not play its message' },
  ]);
});
