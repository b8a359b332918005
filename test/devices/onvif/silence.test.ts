import { afterEach, describe, expect, it } from 'vitest';
import { holdTime } from '#devices/onvif/hold-time.ts';
import { silenceWatch } from '#devices/onvif/silence.ts';
import { fieldTiming } from '#devices/onvif/timing.ts';
import { detections, links, morePulls, rig, until } from './harness.ts';
import { motion } from './scripted-camera.ts';

const minutes = 60_000;
const hours = 60 * minutes;

describe('the silence watchdog', () => {
  /**
   * Pulls each 20 s; each remedy subscribes anew, which the camera answers with messages where it `greets`; `states`: it
   * tells them when asked. Returns when it was asked and when remedies came, in minutes.
   */
  function watch(
    ms: number,
    camera: { heardAt?: (now: number) => boolean; greets?: (remedy: number) => boolean; states?: boolean },
  ) {
    const made = silenceWatch(fieldTiming);
    const asks: number[] = [];
    const remedies: number[] = [];
    const subscribe = (now: number) => {
      made.subscribed(now);
      if (camera.greets?.(remedies.length)) made.heard(now);
    };
    subscribe(0);
    for (let now = 20_000; now <= ms; now += 20_000) {
      if (camera.heardAt?.(now)) made.heard(now);
      const due = made.due(now);
      if (due === 'ask') {
        asks.push(now / minutes);
        if (camera.states) made.heard(now);
      } else if (due === 'anew') {
        remedies.push(now / minutes);
        subscribe(now);
      }
    }
    return { asks, remedies, flowing: made.flowing(ms) };
  }

  it('does nothing while messages come', () => {
    const heardAt = (now: number) => now % (50 * minutes) === 0;
    expect(watch(24 * hours, { heardAt, greets: () => true })).toEqual({ asks: [], remedies: [], flowing: 'yes' });
  });

  it('makes the pull point anew after an hour without any message, then ever more seldom, and does not know', () => {
    expect(watch(40 * hours, {})).toEqual({ asks: [], remedies: [60, 180, 420, 900, 1860], flowing: 'unknown' });
  });

  it('asks a quiet camera that tells its states for them, once an hour, and leaves its pull point', () => {
    const quiet = watch(5 * hours, { greets: () => true, states: true });
    expect(quiet).toEqual({ asks: [60, 120, 180, 240, 300], remedies: [], flowing: 'yes' });
  });

  it('makes the pull point anew when the states it asked for do not come', () => {
    const forgot = watch(2 * hours, { greets: () => true });
    expect(forgot).toMatchObject({ asks: [60], remedies: [61], flowing: 'yes' });
  });

  it('sees at once when a pull point does not bring what earlier ones brought, acts once, and says no', () => {
    const mute = watch(100 * minutes, { greets: (remedy) => remedy < 1 });
    expect(mute).toEqual({ asks: [60], remedies: [61, 62], flowing: 'no' });
  });
});

describe('how long a pull may be held', () => {
  const hold = (configuredMs = 20_000) => holdTime(fieldTiming, { configuredMs, wall: () => 7 });

  it('is as configured until a cut, is shorter only when the shorter one is answered, and never under the least', () => {
    const time = hold();
    expect(time.cut(10_000)).toBe(8000);
    expect(time.ms).toBe(20_000);
    time.held(8000, true);
    expect([time.ms, time.found]).toEqual([8000, { ms: 8000, at: 7 }]);
    expect(time.cut(2000)).toBe(fieldTiming.leastPullMs);
  });

  it('is shorter after two cuts in a row, though the camera was away after each', () => {
    const time = hold();
    time.cut(10_000);
    time.held(1000, false);
    time.cut(10_000);
    expect(time.ms).toBe(8000);
  });

  it('does not change when a cut pull was the last of a camera that went away', () => {
    const time = hold();
    time.cut(10_000);
    time.held(20_000, false);
    time.cut(10_000);
    expect(time.ms).toBe(20_000);
  });

  it('is never longer than configured', () => {
    const time = hold(5000);
    time.use({ ms: 9000, at: 7 });
    expect(time.ms).toBe(5000);
  });
});

describe('a session', () => {
  const site = rig(afterEach);

  it('makes its pull point anew when the camera answers but forgot what was subscribed to', async () => {
    const one = await site.yard(
      { queue: [motion(false, 'Initialized')] },
      {},
      { timing: { silentMs: 300, greetMs: 300 } },
    );
    await until(() => one.model.made === 2, 'a second pull point');
    expect(links(one.signals)).toEqual([true]);
    expect(await one.counted('code="silent"')).toBeGreaterThan(0);
    one.model.queue.push(motion(true));
    await until(() => detections(one.signals).at(-1)?.active === true, 'a detection');
    expect(one.status()?.flowing).toBe('yes');
  });

  it('says of a camera that sends nothing where it did before that it is mute, until it speaks', async () => {
    const one = await site.yard({ queue: [motion(false, 'Initialized')] }, {}, { timing: { greetMs: 500 } });
    await one.linked();
    await until(() => one.status()?.flowing === 'yes', 'the first message');
    one.model.live.clear();
    await until(() => one.status()?.flowing === 'no', 'the silence');
    expect(one.status()?.warnings).toEqual([{ code: 'mute', text: expect.any(String) }]);
    one.model.queue.push(motion(true));
    await until(() => one.status()?.flowing === 'yes', 'a message');
    expect(one.status()?.warnings).toEqual([]);
  });

  it('remembers over a restart how long the camera can hold a pull', async () => {
    const memory = new Map<string, string>();
    const cut = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { reset: true } as const;
    };
    const one = await site.yard(
      { before: (request) => (/PT20S/.test(request.body) ? cut() : undefined) },
      {},
      { memory },
    );
    await until(() => one.server.seen.some((request) => /PT4S/.test(request.body)), 'a shorter pull');
    await until(() => memory.get('onvif/learned/yard')?.includes('hold') === true, 'it to be remembered');
    await one.made.cameras.stop();
    one.server.seen.length = 0;
    const again = await site.run([{ id: 'yard', url: one.server.url }], { memory });
    await until(() => links(again.signals).includes(true), 'the link');
    await morePulls(one.server);
    expect(one.server.seen.some((request) => /PT20S/.test(request.body))).toBe(false);
  });

  it('forgets that after a week, and does not believe rubbish', async () => {
    const week = 7 * 24 * hours;
    const kept = [
      JSON.stringify({ hold: { ms: 4000, at: Date.now() - week } }),
      '{"hold":{"ms":"x"},"way":{"path":7},"time":"noon"}',
      '[]',
      'x',
    ];
    for (const text of kept) {
      const one = await site.yard({}, {}, { memory: new Map([['onvif/learned/yard', text]]) });
      await until(() => one.server.seen.some((request) => /PT20S/.test(request.body)), 'a whole pull');
      await one.made.cameras.stop();
    }
  });
});
