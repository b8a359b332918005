import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { zoneGate } from '../../../src/lan/mqtt/zone-gate.ts';
import { manualClock } from '../../../src/lib/clock.fake.ts';

/** Plays waits and words through a gate; gives every word that left, with its time. */
function play(steps: readonly (readonly [waitMs: number, word: string])[]) {
  const clock = manualClock();
  const gate = zoneGate({ clock });
  gate.reset([['1', 'OFF']]);
  const start = clock.monotonic();
  const sent: { at: number; word: string }[] = [];
  const note = (words: readonly string[]) => {
    for (const word of words) sent.push({ at: clock.monotonic() - start, word });
  };
  const wait = (ms: number) => {
    for (let left = ms; left > 0; ) {
      const next = gate.nextMs();
      const step = Math.min(left, next === undefined ? left : Math.max(1, next));
      clock.advance(step);
      left -= step;
      for (const due of gate.due()) note(due.words);
    }
  };
  for (const [waitMs, word] of steps) {
    wait(waitMs);
    note(gate.offer('1', word)?.words ?? []);
  }
  wait(10_000);
  return { words: sent.map(({ word }) => word), sent, held: gate.nextMs() };
}

describe('the gate before a zone', () => {
  it('lets a quiet zone through at once', () => {
    expect(play([[0, 'ON'], [100, 'OFF']]).sent).toEqual([{ at: 0, word: 'ON' }, { at: 100, word: 'OFF' }]); // biome-ignore format: one story a line
  });

  it('takes nothing for what is no new word', () => {
    const links = Array.from({ length: 9 }, () => [1, 'OFF'] as const);
    expect(play([...links, [0, 'ON'], [0, 'OFF']]).sent).toEqual([
      { at: 9, word: 'ON' },
      { at: 9, word: 'OFF' },
    ]);
  });

  it('tells that a held-back zone opened though it has closed again', () => {
    const { words } = play(['ON', 'OFF', 'ON', 'OFF', 'ON', 'OFF'].map((word) => [1, word] as const));
    expect(words).toEqual(['ON', 'OFF', 'ON', 'OFF', 'ON', 'OFF']);
  });

  it('never sends more than five a second, never loses an opening, and ends with the truth', () => {
    const steps = fc.array(fc.tuple(fc.nat(400), fc.constantFrom('ON', 'OFF', '')), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(steps, (story) => {
        const { sent, words, held } = play(story);
        for (const { at } of sent) {
          expect(sent.filter((other) => other.at >= at && other.at < at + 1000).length).toBeLessThanOrEqual(5);
        }
        expect(held).toBeUndefined();
        expect(words.at(-1) ?? 'OFF').toBe(story.at(-1)?.[1]);
        if (story.some(([, word]) => word === 'ON')) expect(words).toContain('ON');
      }),
    );
  });

  it('shows the last of many openings, however fast they came', () => {
    const flood = Array.from({ length: 1000 }, (_, index) => [1, index % 2 === 0 ? 'ON' : 'OFF'] as const);
    const { words } = play(flood);
    expect(words.length).toBeLessThan(15);
    expect(words.slice(-2)).toEqual(['ON', 'OFF']);
  });
});
