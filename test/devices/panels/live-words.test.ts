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

function rig(live: ArmingWord, awayMs: number) {
  const clock = manualClock();
  const words = createLiveWords(clock, { tellsBridge: true });
  words.saw(says(live));
  words.lost();
  clock.advance(awayMs);
  words.lost();
  words.found();
  return words;
}

describe('a retained state after a loss of the broker', () => {
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
  ])('%s heard live, %s retained: doubtful %s', (live, retained, isDoubtful) => {
    expect(rig(live, 5000).isDoubtful(says(retained, true), false)).toBe(isDoubtful);
  });

  it('is doubted as well when it is read before the subscription is known to stand', () => {
    const clock = manualClock();
    const words = createLiveWords(clock, { tellsBridge: true });
    words.saw(says('armed_away'));
    words.lost();
    clock.advance(5000);
    expect(words.isDoubtful(says('disarmed', true), false)).toBe(true);
    clock.advance(600_000);
    expect(words.isDoubtful(says('disarmed', true), false)).toBe(false);
  });

  it('is believed when it is live, when no broker was lost, and when the broker was away for long', () => {
    expect(rig('armed_away', 5000).isDoubtful(says('disarmed'), false)).toBe(false);
    expect(rig('armed_away', 600_001).isDoubtful(says('disarmed', true), false)).toBe(false);
    const words = createLiveWords(manualClock(), { tellsBridge: true });
    words.saw(says('armed_away'));
    expect(words.isDoubtful(says('disarmed', true), false)).toBe(false);
  });

  it('is believed again when a live word has said the same', () => {
    const words = rig('armed_away', 5000);
    words.saw(says('disarmed'));
    expect(words.isDoubtful(says('disarmed', true), false)).toBe(false);
  });
});
