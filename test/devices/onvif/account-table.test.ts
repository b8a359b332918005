import { describe, expect, it } from 'vitest';
import { createAccount, type Door } from '#devices/onvif/account.ts';
import { manualClock } from '#lib/clock.fake.ts';

const holdMs = 900_000;
const doors: readonly Door[] = ['events', 'pictures', 'streams'];

type Step = `${'ok' | 'no'} ${Door}` | 'pardon' | 'back' | 'rest' | `${number} s` | 'restart';

/** What became of each step that asks something, and for how many seconds each door is shut in the end. */
function play(steps: readonly Step[]) {
  const clock = manualClock();
  let account = createAccount(clock, holdMs);
  const pardoned: boolean[] = [];
  for (const step of steps) {
    const [first = '', second = ''] = step.split(' ');
    const door = second as Door;
    if (first === 'ok') account.accepted(door);
    else if (first === 'no') account.refused(door);
    else if (step === 'pardon') pardoned.push(account.pardon());
    else if (step === 'back') account.returned();
    else if (step === 'rest') account.rest('it starts', 60_000);
    else if (step === 'restart') {
      const counts = account.counts();
      account = createAccount(clock, holdMs);
      if (counts !== undefined) account.resume(counts);
    } else clock.advance(Number(first) * 1000);
  }
  const shut = doors.map((door) => Math.ceil(account.leftMs(door) / 1000));
  return { account, pardoned, shut };
}

describe('doors of an account: events, pictures, streams', () => {
  it.each<[readonly Step[], readonly number[]]>([
    [[], [0, 0, 0]],
    // Two of the events shut all.
    [['no events'], [0, 0, 0]],
    [
      ['no events', 'no events'],
      [900, 900, 900],
    ],
    // Then one each time.
    [
      ['no events', 'no events', '900 s'],
      [0, 0, 0],
    ],
    [
      ['no events', 'no events', '900 s', 'no events'],
      [900, 900, 900],
    ],
    [
      ['no events', 'no events', '900 s', 'ok events', 'no events'],
      [0, 0, 0],
    ],
    // Two of pictures and streams are two in all, and none of the events'.
    [
      ['no pictures', 'no streams'],
      [0, 900, 900],
    ],
    [
      ['no streams', 'no streams'],
      [0, 900, 900],
    ],
    [
      ['no pictures', 'no streams', 'no events'],
      [0, 900, 900],
    ],
    [
      ['no pictures', 'no streams', 'no events', 'no events'],
      [900, 900, 900],
    ],
    // A door that has another user is shut alone.
    [
      ['no streams', 'ok events', 'no streams'],
      [0, 0, 900],
    ],
    [
      ['no streams', 'no streams', 'ok events'],
      [0, 0, 900],
    ],
    // After the pause the others have their turn, whatever the one tries.
    [
      ['no streams', 'no streams', '900 s', 'no streams'],
      [0, 0, 900],
    ],
    [
      ['no streams', 'no streams', '900 s', 'no streams', 'ok pictures', '10 s', 'no pictures'],
      [0, 0, 890],
    ],
    // A row ends by itself, as the device forgets it.
    [
      ['no pictures', '900 s', 'no streams'],
      [0, 0, 0],
    ],
    // A rest is for all.
    [['rest'], [60, 60, 60]],
    [
      ['rest', 'ok events'],
      [0, 0, 0],
    ],
    // A restart forgets no refusal, and no rest is taken for one.
    [
      ['no pictures', 'restart', 'no streams'],
      [0, 900, 900],
    ],
    [
      ['no events', 'restart', 'no events', '100 s', 'restart'],
      [800, 800, 800],
    ],
    [
      ['pardon', 'rest', 'restart'],
      [0, 0, 0],
    ],
  ])('%j: shut for %j s', (steps, shut) => {
    expect(play(steps).shut).toEqual(shut);
  });

  it.each<[readonly Step[], readonly boolean[]]>([
    [
      ['pardon', 'pardon'],
      [true, false],
    ],
    [
      ['ok events', 'pardon', 'pardon'],
      [true, false],
    ],
    [
      ['ok events', 'back', 'pardon', 'pardon', 'pardon'],
      [true, true, false],
    ],
    [
      ['ok events', 'back', 'pardon', 'back', 'pardon', 'back', 'pardon'],
      [true, true, false],
    ],
    // Absences tell nothing of a camera that never took the password.
    [
      ['back', 'pardon', 'pardon'],
      [true, false],
    ],
    // What pictures and streams have cost is not pardoned once more.
    [['ok events', 'no pictures', 'pardon'], [false]],
    [
      ['ok events', 'back', 'no pictures', 'pardon', 'pardon'],
      [true, false],
    ],
    // None after a pause, until it is accepted.
    [['no events', 'no events', '900 s', 'pardon'], [false]],
    [['no events', 'no events', '900 s', 'ok events', 'pardon'], [true]],
  ])('%j: pardoned %j', (steps, pardoned) => {
    expect(play(steps).pardoned).toEqual(pardoned);
  });

  it('say why, and for how long', () => {
    const { account } = play(['rest']);
    expect(() => account.check('pictures')).toThrow(
      expect.objectContaining({ code: 'camera_fault', facts: { retryInS: 60 } }),
    );
    account.close('none is configured');
    expect(() => account.check('events')).toThrow(
      expect.objectContaining({ code: 'camera_auth', message: expect.stringContaining('none is configured') }),
    );
    expect(play(['no streams', 'no streams']).account.error('pictures')).toMatchObject({
      code: 'camera_auth',
      facts: { retryInS: 900 },
    });
  });

  it('leave room for as many at once as may be refused, and are let in until there is doubt', () => {
    const { account } = play(['ok events']);
    expect([account.triesLeft, account.isLetIn]).toEqual([2, true]);
    account.refused('pictures');
    expect([account.triesLeft, account.isLetIn]).toEqual([1, false]);
    expect(doors.map((door) => account.wasAccepted(door))).toEqual([true, false, undefined]);
  });
});
