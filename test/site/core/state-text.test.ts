import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type SiteState, stateWriter, writeState } from '#site/core/index.ts';
import { play, story } from './stories.ts';
import { house } from './world.ts';

it('writes every state of a story as a whole, to the letter', () => {
  const plan = house();
  fc.assert(
    fc.property(story(plan), (steps) => {
      const write = stateWriter();
      for (const { before, after } of play(plan, steps).seen) {
        expect(write(before).join('')).toBe(writeState(before));
        expect(write(after, '7\n').join('')).toBe(`7\n${writeState(after)}`);
      }
    }),
    { numRuns: 200 },
  );
});

it('does not read again what it has written before', () => {
  const { state } = play(house(), []);
  let reads = 0;
  const seen = {
    id: 'c-1',
    bodyHash: 'a',
    get at() {
      reads += 1;
      return 1;
    },
  };
  const write = stateWriter();
  write({ ...state, commands: [seen] });
  const more: SiteState = { ...state, incidents: 5, commands: [seen, { id: 'c-2', bodyHash: 'b', at: 2 }] };
  expect(write(more).join('')).toContain(
    '"commands":[{"id":"c-1","bodyHash":"a","at":1},{"id":"c-2","bodyHash":"b","at":2}]',
  );
  expect(reads).toBe(1);
});

it('writes the same pieces again but for a few, when one answer goes and another comes', () => {
  const { state } = play(house(), []);
  const seen = (n: number) => ({ id: `c-${n * 7919}`, bodyHash: 'a'.repeat(64), at: n });
  const all = Array.from({ length: 1000 }, (_, n) => seen(n));
  const write = stateWriter();
  let before = new Set(write({ ...state, commands: all }));
  expect(before.size).toBeGreaterThan(20);
  for (let n = 1000; n < 1100; n += 1) {
    all.shift();
    all.push(seen(n));
    const after = write({ ...state, commands: [...all] });
    expect(after.filter((piece) => !before.has(piece)).length).toBeLessThanOrEqual(3);
    expect(Math.max(...after.map(({ length }) => length))).toBeLessThan(17_000);
    before = new Set(after);
  }
});
