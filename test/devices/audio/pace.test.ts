import { describe, expect, it, vi } from 'vitest';
import type { Sound } from '#devices/audio/driver.ts';
import { type Feed, feed, mostAheadMs, type PaceClock } from '#devices/audio/pace.ts';
import { never } from '#lib/wait.ts';

/** Counts up, so that every sample is told from the others. */
const sound = (samples: number, rate = 8000): Sound => ({
  format: { encoding: 's16le', rate, channels: 1 },
  samples,
  read: (from, to) => {
    const bytes = Buffer.alloc((to - from) * 2);
    for (let at = from; at < to; at += 1) bytes.writeUInt16LE(at & 0xffff, (at - from) * 2);
    return bytes;
  },
  asked: { key: 'test.count', volume: 100, repeat: 1 },
});

/** Every wait lasts `lateMs` longer than it should. */
function slowClock(lateMs = 0): PaceClock & { advance(ms: number): void } {
  let now = 5_000;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      now += ms + lateMs;
    },
  };
}

/**
 * A speaker that plays in real time from its first sample on and stands still while it has none. Checks before each
 * packet, which is when it holds least, and after it, when it holds most.
 */
function speaker(clock: PaceClock, rate = 8000) {
  const packets: Buffer[] = [];
  const times: number[] = [];
  let held = 0;
  let at: number | undefined;
  let dryMs = 0;
  let mostHeld = 0;
  const play = () => {
    const passed = at === undefined ? 0 : clock.now() - at;
    at = clock.now();
    dryMs += Math.max(0, passed - held);
    held = Math.max(0, held - passed);
  };
  return {
    packets,
    times,
    write: async (bytes: Buffer) => {
      play();
      packets.push(bytes);
      times.push(clock.now());
      held += (bytes.length / 2 / rate) * 1000;
      mostHeld = Math.max(mostHeld, held);
    },
    mostHeld: () => mostHeld,
    dryMs: () => dryMs,
    emptyAt: () => {
      play();
      return clock.now() + held;
    },
  };
}

const run = (work: Omit<Feed, 'signal' | 'onFirstSample'> & Partial<Feed>) =>
  feed({ signal: never(), onFirstSample: () => undefined, ...work });

describe('feeding a speaker', () => {
  it('hands over every sample once, in packets of 20 ms', async () => {
    const clock = slowClock();
    const { packets, write } = speaker(clock);
    const whole = sound(8_050);
    const { samples, underruns } = await run({ sound: whole, write, clock });
    expect(Buffer.concat(packets)).toEqual(whole.read(0, 8_050));
    expect(packets.map((packet) => packet.length / 2)).toEqual([...Array(50).fill(160), 50]);
    expect({ samples, underruns }).toEqual({ samples: 8_050, underruns: 0 });
  });

  it.each([20, 60, 150])('keeps a speaker %i ms ahead, never more', async (aheadMs) => {
    const clock = slowClock();
    const { write, mostHeld, dryMs } = speaker(clock);
    await run({ sound: sound(80_000), write, clock, aheadMs });
    expect(mostHeld()).toBeCloseTo(aheadMs, 6);
    expect(dryMs()).toBe(0);
  });

  it('is never more than 150 ms ahead, whatever was asked for', async () => {
    const clock = slowClock();
    const { write, mostHeld } = speaker(clock);
    await run({ sound: sound(80_000), write, clock, aheadMs: 5_000 });
    expect(mostHeld()).toBeLessThanOrEqual(mostAheadMs);
  });

  it('does not fall behind by timers that are late each time', async () => {
    const clock = slowClock(7);
    const { times, write } = speaker(clock);
    const { underruns } = await run({ sound: sound(80_000), write, clock, aheadMs: 20 });
    const late = times.map((time, packet) => time - times[0]! - packet * 20);
    expect(Math.max(...late)).toBeLessThanOrEqual(7);
    expect(underruns).toBe(0);
  });

  it('makes good a stall that the speaker had sound for', async () => {
    const clock = slowClock();
    const { packets, write, mostHeld, dryMs, emptyAt } = speaker(clock);
    const stalled = async (bytes: Buffer) => {
      if (packets.length === 20) clock.advance(120);
      await write(bytes);
    };
    const { underruns, endsAt } = await run({ sound: sound(16_000), write: stalled, clock });
    expect(dryMs()).toBe(0);
    expect(mostHeld()).toBeLessThanOrEqual(mostAheadMs);
    expect(underruns).toBe(0);
    expect(endsAt).toBeCloseTo(5_000 + 2_000, 6);
    expect(emptyAt()).toBeCloseTo(endsAt, 6);
  });

  it.each([20, 100, 150])('fills no speaker that ran dry with more than 150 ms (%i ms ahead)', async (aheadMs) => {
    const clock = slowClock();
    const { packets, write, mostHeld, dryMs, emptyAt } = speaker(clock);
    const stalled = async (bytes: Buffer) => {
      await write(bytes);
      if (packets.length === 20 || packets.length === 60) clock.advance(4_000);
    };
    const { underruns, endsAt } = await run({ sound: sound(16_000), write: stalled, clock, aheadMs });
    expect(dryMs()).toBeGreaterThan(7_000);
    expect(mostHeld()).toBeLessThanOrEqual(mostAheadMs + 1e-6);
    expect(underruns).toBe(2);
    expect(emptyAt()).toBeCloseTo(endsAt, 6);
  });

  it('counts the time from when the first packet was taken, not from when it was offered', async () => {
    const clock = slowClock();
    const { packets, write, mostHeld } = speaker(clock);
    const slowToOpen = async (bytes: Buffer) => {
      if (packets.length === 0) clock.advance(900);
      await write(bytes);
    };
    const { endsAt, underruns } = await run({ sound: sound(8_000), write: slowToOpen, clock });
    expect(endsAt).toBeCloseTo(5_000 + 900 + 1_000, 6);
    expect(mostHeld()).toBeLessThanOrEqual(mostAheadMs);
    expect(underruns).toBe(0);
  });

  it('tells once that it sounds, after the first packet was taken', async () => {
    const clock = slowClock();
    const { packets, write } = speaker(clock);
    const seen: number[] = [];
    await run({ sound: sound(8_000), write, clock, onFirstSample: () => seen.push(packets.length) });
    expect(seen).toEqual([1]);
  });

  it('ends at once when it is cancelled between two packets', async () => {
    const clock = slowClock();
    const cancel = new AbortController();
    const { packets, write } = speaker(clock);
    const untilTenth = async (bytes: Buffer) => {
      await write(bytes);
      if (packets.length === 10) cancel.abort(new Error('enough'));
    };
    await expect(run({ sound: sound(80_000), write: untilTenth, clock, signal: cancel.signal })).rejects.toThrow(
      'enough',
    );
    expect(packets.length).toBe(10);
  });

  it('ends when it is cancelled while the device takes nothing', async () => {
    const cancel = new AbortController();
    const frozen = run({ sound: sound(8_000), write: () => new Promise(() => undefined), signal: cancel.signal });
    cancel.abort(new Error('enough'));
    await expect(frozen).rejects.toThrow('enough');
  });

  it('writes nothing where it was cancelled before', async () => {
    const write = vi.fn(async () => undefined);
    const onFirstSample = vi.fn();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(feed({ sound: sound(8_000), write, signal, onFirstSample })).rejects.toThrow('enough');
    expect(write).not.toHaveBeenCalled();
    expect(onFirstSample).not.toHaveBeenCalled();
  });

  it('ends with the error of the device', async () => {
    const write = async () => {
      throw new Error('gone');
    };
    const onFirstSample = vi.fn();
    await expect(feed({ sound: sound(8_000), write, signal: never(), onFirstSample })).rejects.toThrow('gone');
    expect(onFirstSample).not.toHaveBeenCalled();
  });

  it('runs by the real clock where no other is given', async () => {
    const begun = performance.now();
    const { packets, write } = speaker({ now: () => performance.now(), sleep: () => Promise.reject(new Error('no')) });
    const { endsAt } = await run({ sound: sound(3_200), write });
    expect(packets.length).toBe(20);
    // 400 ms of sound, at most 150 of them ahead.
    expect(performance.now() - begun).toBeGreaterThan(400 - mostAheadMs - 2);
    expect(endsAt).toBeGreaterThanOrEqual(begun + 400);
  });
});
