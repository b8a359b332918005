import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGuard } from '#devices/panels/guard.ts';
import { compileProfile, type Reading } from '#devices/panels/index.ts';
import { manualClock } from '#lib/clock.fake.ts';
import type { ArmingWord } from '#site/model/index.ts';

const profileOf = (guard: Record<string, unknown>) =>
  compileProfile({
    id: 'trial',
    title: 'Trial',
    version: 1,
    hardware: [],
    vars: { b: 'base' },
    identity: { partition: 'number', zone: 'number' },
    code: { mode: 'keys' },
    caps: ['disarm', 'arm_away'],
    in: [{ topic: '$b/mode', read: [{ for: 'partition', key: '1', set: 'state' }] }],
    out: {
      disarm: { topic: '$b/keys', payload: '{code}' },
      arm_away: { topic: '$b/keys', payload: '{code}' },
    },
    guard,
    confirm: { timeout_s: 10 },
  }).profile;

const partition = (facts: object): Reading => ({
  kind: 'partition',
  key: '1',
  replay: false,
  context: false,
  ...facts,
});

function rig(guard: Record<string, unknown> = { toggle: true, fresh_s: 30 }) {
  const clock = manualClock();
  const made = createGuard({ profile: profileOf(guard), clock });
  clock.advance(10_000);
  const hear = (state: ArmingWord) => {
    made.heard();
    made.saw(partition({ state }));
  };
  return { clock, guard: made, hear };
}

describe('commands that turn the state round', () => {
  it('leave once for two identical requests, and again only when the first had its time and the panel showed its state', () => {
    const { clock, guard, hear } = rig();
    hear('armed_away');
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'under_way' });
    clock.advance(10_001);
    // The key may have been taken and only the word about it lost: a second press would arm again.
    guard.heard();
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused', why: expect.stringContaining('told its state') });
    hear('armed_away');
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });

  it('do not leave twice the same way when the confirmation of arming was lost: that would disarm', () => {
    const { clock, guard, hear } = rig();
    hear('disarmed');
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'sent' });
    clock.advance(10_001);
    guard.heard();
    guard.saw(partition({ state: 'disarmed', replay: true }));
    expect(guard.ask('1', 'arm_away')).toMatchObject({ is: 'refused' });
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused' });
  });

  it('do not take a retained state for the present one, whatever else is live', () => {
    const { guard, hear } = rig();
    guard.saw(partition({ state: 'disarmed', replay: true }));
    guard.heard();
    expect(guard.ask('1', 'arm_away')).toMatchObject({ is: 'refused' });
    hear('disarmed');
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'sent' });
  });

  it('are refused while a bridge that has come back has not told the state anew', () => {
    const { guard, hear } = rig();
    hear('disarmed');
    guard.back();
    guard.heard();
    expect(guard.ask('1', 'arm_away')).toMatchObject({ is: 'refused' });
  });

  it('count the time of the state by itself, where the bridge tells it only when it changes', () => {
    const { clock, guard, hear } = rig({ toggle: true, fresh_s: 30, state_fresh_s: 3600 });
    hear('disarmed');
    clock.advance(3_600_000);
    guard.heard();
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'sent' });
    hear('armed_away');
    clock.advance(3_600_001);
    guard.heard();
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused', why: expect.stringContaining('3600 s') });
  });

  it('leave again only after the site has given up on the first, where it waits longer than the profile', () => {
    const clock = manualClock();
    const guard = createGuard({ profile: profileOf({ toggle: true }), clock, confirmMs: 25_000 });
    clock.advance(25_000);
    const hear = () => {
      guard.heard();
      guard.saw(partition({ state: 'armed_away' }));
    };
    hear();
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
    clock.advance(24_999);
    hear();
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'under_way' });
    clock.advance(1);
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });

  it('do not leave towards a state that is there, or on the way', () => {
    const { guard, hear } = rig();
    hear('disarmed');
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'there', state: 'disarmed' });
    hear('arming');
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'there', state: 'arming' });
  });

  it('are refused while the state is not known, or nothing was heard for too long', () => {
    const { clock, guard, hear } = rig();
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused' });
    hear('armed_away');
    clock.advance(30_001);
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused', why: expect.stringContaining('30 s') });
    // Any other message is no word about the state.
    guard.heard();
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused', why: expect.stringContaining('30 s') });
    hear('armed_away');
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });

  it('are refused until what may have left before the start had its time', () => {
    const clock = manualClock();
    const guard = createGuard({ profile: profileOf({ toggle: true }), clock });
    guard.heard();
    guard.saw(partition({ state: 'armed_away' }));
    clock.advance(9999);
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused', why: expect.stringContaining('started') });
    clock.advance(1);
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });

  it('are refused after a loss of the bridge until the state was told again', () => {
    const { guard, hear } = rig();
    hear('armed_away');
    guard.lost();
    guard.heard();
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused' });
    hear('armed_away');
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });

  it('never arm an armed panel otherwise, which would disarm it', () => {
    const { guard, hear } = rig();
    for (const state of ['armed_home', 'pending', 'triggered'] as const) {
      hear(state);
      expect(guard.ask('1', 'arm_away'), state).toMatchObject({ is: 'refused' });
    }
  });

  it('wait for each other', () => {
    const { guard, hear } = rig();
    hear('disarmed');
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'sent' });
    expect(guard.ask('1', 'disarm')).toMatchObject({ is: 'refused', why: expect.stringContaining('another command') });
    hear('arming');
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });

  it('are free again when the panel has refused and shows its state', () => {
    const { guard, hear } = rig();
    hear('disarmed');
    guard.ask('1', 'arm_away');
    guard.saw(partition({ fault: 'arm_failed' }));
    expect(guard.ask('1', 'arm_away')).toMatchObject({ is: 'refused' });
    hear('disarmed');
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'sent' });
  });

  it('leave at most once for each state of the panel, in whatever order requests and news come', () => {
    const step = fc.constantFrom('disarm', 'arm_away', 'armed_away', 'arming', 'disarmed', 'raw', 'repeat' as const);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { guard, hear } = rig();
        let truth: ArmingWord = 'disarmed';
        hear(truth);
        // A panel that turns round at each key press and tells it late: no two presses lie between two tellings.
        let pressed = false;
        for (const one of steps) {
          if (one === 'raw') guard.heard();
          else if (one === 'repeat') hear(truth);
          else if (one !== 'disarm' && one !== 'arm_away') {
            truth = one;
            hear(truth);
            pressed = false;
          } else if (guard.ask('1', one).is === 'sent') {
            expect(pressed).toBe(false);
            expect(one === 'disarm' ? truth !== 'disarmed' : truth === 'disarmed').toBe(true);
            pressed = true;
          }
        }
      }),
    );
  });
});

describe('other commands', () => {
  it('leave each time, and arming waits for a ready panel where the profile says so', () => {
    const plain = rig({});
    expect([plain.guard.ask('1', 'disarm'), plain.guard.ask('1', 'disarm')]).toEqual([{ is: 'sent' }, { is: 'sent' }]);
    const { guard } = rig({ require_ready: true });
    expect(guard.ask('1', 'arm_away')).toEqual({ is: 'sent' });
    guard.saw(partition({ ready: false }));
    expect(guard.ask('1', 'arm_away')).toMatchObject({ is: 'refused', reason: 'not_ready' });
    expect(guard.ask('1', 'disarm')).toEqual({ is: 'sent' });
  });
});
