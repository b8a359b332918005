import { describe, expect, it } from 'vitest';
import { createLiveWords } from '#devices/panels/live-words.ts';
import type { Reading } from '#devices/panels/reading.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { ArmingWord } from '#site/model/index.ts';

const says = (state: ArmingWord, replay = false): Reading => ({
  kind: 'partition',
  key: '1',
  state,
  replay,
  context: false,
});

describe('a retained or queued word', () => {
  it.each<[ArmingWord, ArmingWord, boolean]>([
    ['armed_away', 'disarmed', true],
    ['arming', 'disarmed', true],
    ['pending', 'disarmed', true],
    ['triggered', 'disarmed', true],
    ['triggered', 'armed_away', true],
    ['armed_away', 'armed_away', false],
    ['armed_away', 'triggered', false],
    ['arming', 'armed_away', false],
    ['disarmed', 'armed_away', false],
    ['disarmed', 'disarmed', false],
    ['unknown', 'disarmed', false],
  ])('%s is known, it says %s: doubtful %s', (known, said, isDoubtful) => {
    const clock = manualClock();
    const heard = createLiveWords(clock);
    heard.saw(says(known));
    for (const words of [heard, createLiveWords(clock, new Map([['1', known]]))]) {
      clock.advance(86_400_000);
      expect(words.isDoubtful(says(said, true), false)).toBe(isDoubtful);
      expect(words.isDoubtful(says(said), true)).toBe(isDoubtful);
      expect(words.isDoubtful(says(said), false)).toBe(false);
    }
  });

  it('is believed when a live word has said the same', () => {
    const words = createLiveWords(manualClock(), new Map([['1', 'armed_away']]));
    words.saw(says('disarmed'));
    expect(words.isDoubtful(says('disarmed', true), false)).toBe(false);
  });
});
