import { describe, expect, it } from 'vitest';
import { driverFailures } from '../../../../src/devices/audio/driver.ts';
import { planOf, Rig, request, speaker } from './rig.ts';

describe('what takes too long', () => {
  it('to be prepared has failed after 5 s', () => {
    const rig = new Rig();
    rig.play(request('hello'));
    const run = rig.runOf('hello');
    rig.wait(4_999);
    expect(rig.status('hello')).toBe('queued');
    rig.wait(1);
    expect(rig.last('drop').run).toBe(run);
    expect(rig.status('hello')).toBe('failed timeout');
  });

  it.each([
    { name: 'local', startMs: 3_000, stopMs: 300 },
    { name: 'network', startMs: 8_000, stopMs: 1_000 },
  ])('to begin on a $name speaker is stopped after $startMs ms, and killed $stopMs ms later', ({ startMs, stopMs }) => {
    const rig = new Rig(planOf([speaker('gate', { startMs, stopMs })]));
    rig.play(request('hello'));
    const run = rig.runOf('hello');
    rig.prepared('hello');
    rig.wait(startMs - 1);
    expect(rig.all('stop')).toEqual([]);
    rig.wait(1);
    expect(rig.last('stop')).toEqual({ kind: 'stop', run, withinMs: stopMs });
    rig.wait(stopMs);
    expect(rig.last('kill').run).toBe(run);
    expect(rig.status('hello')).toBe('failed timeout');
    expect(rig.state.lanes.size).toBe(0);
  });

  it('to end is stopped 3 s after 1.1 times its length', () => {
    const rig = new Rig();
    const run = rig.plays(request('hello'), 10_000);
    rig.wait(13_999);
    expect(rig.all('stop')).toEqual([]);
    rig.wait(1);
    expect(rig.last('stop').run).toBe(run);
    rig.ends(run);
    expect(rig.status('hello')).toBe('failed timeout');
  });
});

describe('what ends', () => {
  it.each([
    { after: 899, status: 'failed device_error' },
    { after: 900, status: 'completed' },
  ])('by itself after $after of 1000 ms has $status', ({ after, status }) => {
    const rig = new Rig();
    const run = rig.plays(request('hello'), 1_000);
    rig.wait(after);
    rig.ends(run, 1_000);
    expect(rig.status('hello')).toBe(status);
  });

  it('before its first sample has failed', () => {
    const rig = new Rig();
    rig.play(request('hello'));
    const run = rig.runOf('hello');
    rig.prepared('hello', 0);
    rig.ends(run, 0);
    expect(rig.status('hello')).toBe('failed device_error');
  });

  it.each(driverFailures)('by the failure %s of its device has failed for it', (reason) => {
    const rig = new Rig();
    const run = rig.plays(request('hello'));
    rig.wait(500);
    rig.input({ kind: 'failed', run, playedMs: 480, reason });
    expect(rig.part('hello')).toMatchObject({ status: 'failed', reason, played_ms: 480 });
  });

  it('for want of its message has failed for that', () => {
    const rig = new Rig();
    rig.play(request('hello'));
    rig.input({ kind: 'unprepared', run: rig.runOf('hello'), reason: 'message_gone' });
    expect(rig.status('hello')).toBe('failed message_gone');
    expect(rig.state.failures.size).toBe(0);
  });

  it('lets the lane go on', () => {
    const rig = new Rig();
    const run = rig.plays(request('hello'));
    rig.play(request('next'));
    rig.input({ kind: 'failed', run, playedMs: 0, reason: 'connection_lost' });
    expect(rig.last('prepare')).toMatchObject({ message: { key: 'next' } });
  });

  it('is over: what is reported of it later changes nothing', () => {
    const rig = new Rig();
    const run = rig.plays(request('hello'));
    rig.wait(2_000);
    rig.ends(run);
    for (const input of [
      { kind: 'ended', run, playedMs: 2_000, delivered: 'heard' },
      { kind: 'failed', run, playedMs: 2_000, reason: 'busy' },
      { kind: 'silent', run, playedMs: 2_000 },
      { kind: 'first_sample', run },
      { kind: 'prepared', run, lengthMs: 1 },
      { kind: 'unprepared', run, reason: 'format' },
      { kind: 'timer', timer: { kind: 'playing', of: `${run}` } },
    ] as const) {
      rig.input(input);
      expect(rig.effects).toEqual([]);
    }
  });
});

describe('a device that is busy', () => {
  function refuses(rig: Rig): number {
    rig.play(request('hello'));
    const run = rig.runOf('hello');
    rig.prepared('hello');
    rig.input({ kind: 'failed', run, playedMs: 0, reason: 'busy' });
    return run;
  }

  it('is asked again every 500 ms', () => {
    const rig = new Rig();
    const run = refuses(rig);
    rig.wait(499);
    expect(rig.all('start')).toHaveLength(1);
    rig.wait(1);
    expect(rig.all('start')).toHaveLength(2);
    rig.input({ kind: 'first_sample', run });
    expect(rig.status('hello')).toBe('playing');
  });

  it('has failed at the end of the time to begin', () => {
    const rig = new Rig();
    const run = refuses(rig);
    for (let tries = 1; rig.status('hello') === 'queued' && tries < 10; tries += 1) {
      rig.wait(500);
      rig.input({ kind: 'failed', run, playedMs: 0, reason: 'busy' });
    }
    expect(rig.status('hello')).toBe('failed busy');
    expect(rig.all('start')).toHaveLength(6);
  });

  it('is left at once for an alarm', () => {
    const rig = new Rig();
    refuses(rig);
    rig.play(request('alarm', { category: 'alarm' }));
    expect(rig.all('stop')).toEqual([]);
    rig.prepared('alarm');
    expect(rig.all('start')).toHaveLength(2);
    expect(rig.status('hello')).toBe('queued');
  });
});

describe('a speaker that failed three times in a row', () => {
  function failing(rig: Rig, times: number): void {
    for (let nth = 0; nth < times; nth += 1) {
      const run = rig.plays(request(`try ${nth} ${rig.now.mono}`));
      rig.input({ kind: 'failed', run, playedMs: 0, reason: 'connection_lost' });
    }
  }

  it('is unhealthy: what waits for it and what is asked of it fails', () => {
    const rig = new Rig();
    failing(rig, 2);
    const run = rig.plays(request('third'));
    rig.play(request('waits'));
    rig.input({ kind: 'failed', run, playedMs: 0, reason: 'timeout' });
    expect(rig.last('health')).toEqual({ kind: 'health', speaker: 'gate', healthy: false });
    expect(rig.status('waits')).toBe('failed unhealthy');
    expect(rig.play(request('asked'))).toMatchObject({ outcome: 'accepted', playback: { status: 'failed' } });
    expect(rig.status('asked')).toBe('failed unhealthy');
  });

  it('is still tried for alarms, and well again after one', () => {
    const rig = new Rig();
    failing(rig, 3);
    const run = rig.plays(request('alarm', { category: 'alarm' }));
    rig.wait(2_000);
    rig.ends(run);
    expect(rig.last('health').healthy).toBe(true);
    rig.plays(request('hello'));
    expect(rig.status('hello')).toBe('playing');
  });

  it('is tried for a test that somebody plays once it was mended, and well again after it', () => {
    const rig = new Rig();
    failing(rig, 3);
    const run = rig.plays(request('tone', { category: 'test' }));
    rig.wait(2_000);
    rig.ends(run);
    expect(rig.status('tone')).toBe('completed');
    expect(rig.last('health').healthy).toBe(true);
    rig.plays(request('hello'));
    expect(rig.status('hello')).toBe('playing');
  });

  it('keeps a test that waits', () => {
    const rig = new Rig();
    failing(rig, 2);
    const run = rig.plays(request('third'));
    rig.play(request('tone', { category: 'test' }));
    rig.input({ kind: 'failed', run, playedMs: 0, reason: 'timeout' });
    expect(rig.last('health').healthy).toBe(false);
    expect(rig.status('tone')).toBe('queued');
  });

  it('is well again after a probe', () => {
    const rig = new Rig();
    failing(rig, 3);
    rig.input({ kind: 'probed', speaker: 'gate', ok: false });
    expect(rig.effects).toEqual([]);
    rig.input({ kind: 'probed', speaker: 'gate', ok: true });
    expect(rig.last('health').healthy).toBe(true);
    rig.plays(request('hello'));
    expect(rig.status('hello')).toBe('playing');
  });

  it('is not, where one of them was completed', () => {
    const rig = new Rig();
    failing(rig, 2);
    const run = rig.plays(request('well'));
    rig.wait(2_000);
    rig.ends(run);
    failing(rig, 2);
    expect(rig.all('health')).toEqual([]);
  });

  it('may be one that only its probes found', () => {
    const rig = new Rig();
    for (let nth = 0; nth < 3; nth += 1) rig.input({ kind: 'probed', speaker: 'gate', ok: false });
    expect(rig.last('health').healthy).toBe(false);
    rig.input({ kind: 'probed', speaker: 'unknown', ok: false });
    expect([...rig.state.failures.keys()]).toEqual(['gate']);
  });

  it('does not touch another one', () => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    for (let nth = 0; nth < 3; nth += 1) rig.input({ kind: 'probed', speaker: 'gate', ok: false });
    rig.play(request('hello'));
    rig.sounds('hello', 2_000, 'yard');
    expect([rig.status('hello'), rig.status('hello', 'yard')]).toEqual(['failed unhealthy', 'playing']);
  });
});
