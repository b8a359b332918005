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
        expect(write(before)).toBe(writeState(before));
        expect(write(after)).toBe(writeState(after));
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
  expect(write(more)).toContain('"commands":[{"id":"c-1","bodyHash":"a","at":1},{"id":"c-2","bodyHash":"b","at":2}]');
  expect(reads).toBe(1);
});
