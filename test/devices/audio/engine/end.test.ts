import { describe, expect, it } from 'vitest';
import { burglary, fire, medical, planOf, Rig, request, speaker } from './rig.ts';

describe('a cancel', () => {
  it('ends what waits at once, and what sounds once it is silent; a second one changes nothing', () => {
    const rig = new Rig();
    const run = rig.plays(request('now'));
    rig.play(request('later'));
    expect(rig.cancel({ playback: 'later' })).toEqual(['later']);
    expect(rig.status('later')).toBe('cancelled user');
    expect(rig.cancel({ playback: 'now' })).toEqual(['now']);
    expect(rig.last('stop')).toEqual({ kind: 'stop', run, withinMs: 300 });
    expect(rig.status('now')).toBe('playing');
    rig.cancel({ playback: 'now' });
    expect(rig.effects).toEqual([]);
    rig.wait(100);
    rig.silent(run, 700);
    expect(rig.part('now')).toMatchObject({ status: 'cancelled', reason: 'user', played_ms: 700 });
    expect(rig.cancel({ playback: 'now' })).toEqual(['now']);
    expect(rig.effects).toEqual([]);
    expect(rig.cancel({ playback: 'unknown' })).toEqual([]);
  });

  it('drops what is only being prepared', () => {
    const rig = new Rig();
    rig.play(request('now'));
    const run = rig.runOf('now');
    rig.cancel({ playback: 'now' });
    expect(rig.last('drop').run).toBe(run);
    expect(rig.status('now')).toBe('cancelled user');
    rig.input({ kind: 'prepared', run, lengthMs: 2_000 });
    expect(rig.all('start')).toEqual([]);
  });

  it('leaves completed what came to its end first', () => {
    const rig = new Rig();
    const run = rig.plays(request('now'));
    rig.wait(1_990);
    rig.cancel({ playback: 'now' });
    rig.wait(10);
    rig.ends(run);
    expect(rig.status('now')).toBe('completed');
  });

  it('is what ended a playback that was making way', () => {
    const rig = new Rig();
    const run = rig.plays(request('now'));
    rig.play(request('alarm', { category: 'alarm' }));
    rig.cancel({ playback: 'now' });
    rig.silent(run);
    expect(rig.status('now')).toBe('cancelled user');
  });

  const everything = ['news', 'other', 'siren', 'fire'];
  it.each([
    { target: 'all' as const, alarms: false, ended: ['news', 'other'] },
    { target: 'all' as const, alarms: true, ended: everything },
    { target: { speaker: 'gate' }, alarms: false, ended: ['news'] },
    { target: { speaker: 'gate' }, alarms: true, ended: ['news', 'siren', 'fire'] },
    { target: { category: 'announcement' as const }, alarms: false, ended: ['news', 'other'] },
    { target: { category: 'alarm' as const }, alarms: false, ended: [] },
    { target: { category: 'alarm' as const }, alarms: true, ended: ['siren', 'fire'] },
    { target: { playback: 'fire' }, alarms: false, ended: ['fire'] },
  ])('of $target, with the right over alarms $alarms, ends $ended', ({ target, alarms, ended }) => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    rig.play(request('now', { alarm: { ...fire, id: 'now' }, requestedBy: 'rule:fire' }));
    for (const id of ['gate', 'yard']) rig.sounds('now', 100_000, id);
    rig.play(request('news', { speakers: ['gate'] }));
    rig.play(request('other', { speakers: ['yard'] }));
    rig.play(request('siren', { alarm: burglary, speakers: ['gate'] }));
    rig.play(request('fire', { alarm: fire, speakers: ['gate'] }));
    expect(rig.cancel(target, alarms).filter((id) => id !== 'now')).toEqual(ended);
    for (const id of everything) expect(rig.shown(id).status, id).toBe(ended.includes(id) ? 'cancelled' : 'queued');
  });
});

describe('a disarm', () => {
  it('ends the sound of a burglary within 300 ms, on every speaker', () => {
    const rig = new Rig(planOf([speaker('gate'), speaker('cam', { stopMs: 1_000 })]));
    rig.play(request('siren', { alarm: burglary }));
    const runs = [rig.runOf('siren'), rig.runOf('siren', 'cam')];
    for (const run of runs) rig.input({ kind: 'prepared', run, lengthMs: 60_000 });
    for (const run of runs) rig.input({ kind: 'first_sample', run });
    rig.input({ kind: 'hush', partition: 'p1' });
    expect(rig.effects.filter(({ kind }) => kind === 'stop')).toEqual(
      runs.map((run) => ({ kind: 'stop', run, withinMs: 300 })),
    );
    rig.wait(300);
    expect(rig.all('kill').map(({ run }) => run)).toEqual(runs);
    expect(rig.shown('siren').status).toBe('cancelled');
    expect(rig.status('siren', 'cam')).toBe('cancelled disarmed');
  });

  describe('of a speaker that is silent by order alone', () => {
    const byOrder = () => new Rig(planOf([speaker('gate', { stopMs: 1_000, byOrder: true })]));

    it('waits for its answer, and has failed where that does not come', () => {
      const rig = byOrder();
      const run = rig.plays(request('siren', { alarm: burglary }));
      rig.input({ kind: 'hush', partition: 'p1' });
      expect(rig.last('stop')).toEqual({ kind: 'stop', run, withinMs: 1_000 });
      rig.wait(999);
      expect(rig.status('siren')).toBe('playing');
      rig.wait(1);
      expect(rig.all('kill')).toHaveLength(1);
      expect(rig.status('siren')).toBe('failed timeout');
    });

    it('has failed where it does not take the order, whoever gave it', () => {
      for (const order of ['disarm', 'cancel']) {
        const rig = byOrder();
        const run = rig.plays(request('siren', { alarm: burglary }));
        if (order === 'disarm') rig.input({ kind: 'hush', partition: 'p1' });
        else rig.cancel('all', true);
        rig.wait(100);
        rig.input({ kind: 'silent', run, playedMs: 700, soundsOn: true });
        expect(rig.part('siren'), order).toMatchObject({ status: 'failed', reason: 'timeout', played_ms: 700 });
      }
      const rig = byOrder();
      const run = rig.plays(request('siren', { alarm: burglary }));
      rig.input({ kind: 'hush', partition: 'p1' });
      rig.silent(run);
      expect(rig.status('siren')).toBe('cancelled disarmed');
    });

    it('begins anew what made way for another sound, which has its place', () => {
      for (const taken of [true, false]) {
        const rig = byOrder();
        const run = rig.plays(request('siren', { alarm: burglary }));
        rig.play(request('fire', { alarm: fire }));
        if (taken) rig.input({ kind: 'silent', run, playedMs: 700, soundsOn: true });
        else rig.wait(1_000);
        expect(rig.status('siren')).toBe('queued preempted');
      }
    });
  });

  it('shortens a stop that is under way', () => {
    const rig = new Rig(planOf([speaker('gate', { stopMs: 1_000 })]));
    const run = rig.plays(request('siren', { alarm: burglary }));
    rig.play(request('fire', { alarm: fire }));
    expect(rig.last('stop').withinMs).toBe(1_000);
    rig.wait(100);
    rig.input({ kind: 'hush', partition: 'p1' });
    expect(rig.last('stop')).toEqual({ kind: 'stop', run, withinMs: 300 });
    rig.wait(299);
    expect(rig.all('kill')).toEqual([]);
    rig.wait(1);
    expect(rig.all('kill')).toHaveLength(1);
    expect(rig.status('siren')).toBe('cancelled disarmed');
  });

  it('does not lengthen one that is nearly over', () => {
    const rig = new Rig(planOf([speaker('gate', { stopMs: 400 })]));
    rig.plays(request('siren', { alarm: burglary }));
    rig.play(request('fire', { alarm: fire }));
    rig.wait(350);
    rig.input({ kind: 'hush', partition: 'p1' });
    expect(rig.all('stop')).toHaveLength(1);
    rig.wait(50);
    expect(rig.status('siren')).toBe('cancelled disarmed');
  });

  it('ends what waits, too', () => {
    const rig = new Rig();
    rig.plays(request('fire', { alarm: fire }));
    rig.play(request('siren', { alarm: burglary }));
    rig.input({ kind: 'hush', partition: 'p1' });
    expect(rig.status('siren')).toBe('cancelled disarmed');
  });

  it.each([
    { name: 'fire', asked: { alarm: fire } },
    { name: 'other life safety', asked: { alarm: medical } },
    { name: 'the burglary of another partition', asked: { alarm: { ...burglary, partition: 'p2' } } },
    { name: 'an announcement', asked: {} },
    { name: 'an alarm somebody asked for', asked: { category: 'alarm' as const } },
  ])('lets $name go on', ({ asked }) => {
    const rig = new Rig();
    rig.plays(request('sound', asked));
    rig.input({ kind: 'hush', partition: 'p1' });
    expect(rig.effects).toEqual([]);
    expect(rig.status('sound')).toBe('playing');
  });

  it('of all partitions ends the sound of every burglary', () => {
    const rig = new Rig();
    rig.plays(request('fire', { alarm: fire }));
    for (const partition of ['p1', 'p2']) rig.play(request(partition, { alarm: { ...burglary, partition } }));
    rig.input({ kind: 'hush', partition: 'all' });
    expect(['p1', 'p2', 'fire'].map((id) => rig.status(id))).toEqual([
      ...['cancelled disarmed', 'cancelled disarmed', 'playing'],
    ]);
  });

  it('does not keep the next alarm from sounding', () => {
    const rig = new Rig();
    rig.plays(request('siren', { alarm: burglary }));
    rig.input({ kind: 'hush', partition: 'p1' });
    rig.wait(300);
    rig.plays(request('again', { alarm: burglary }));
    expect(rig.status('again')).toBe('playing');
  });
});

describe('the longest time of an alarm', () => {
  /** Sirens of a minute, one after the other, for so long. */
  function sound(rig: Rig, ms: number, alarm: typeof burglary | typeof fire = burglary): void {
    for (let at = 0; at < ms; at += 60_000) {
      const id = `siren ${rig.now.mono}`;
      const run = rig.plays(request(id, { alarm }), 60_000);
      rig.wait(Math.min(60_000, ms - at));
      if (rig.status(id) === 'playing' && ms - at >= 60_000) rig.ends(run, 60_000);
    }
  }

  it('ends all of its sounds, those that wait too, and refuses further ones', () => {
    const rig = new Rig();
    sound(rig, 120_000);
    const run = rig.plays(request('third', { alarm: burglary }), 90_000);
    rig.play(request('fourth', { alarm: burglary }));
    rig.wait(60_000);
    expect(rig.last('stop').run).toBe(run);
    rig.silent(run, 60_000);
    expect([rig.status('third'), rig.status('fourth')]).toEqual(['cancelled too_long', 'cancelled too_long']);
    expect(rig.play(request('fifth', { alarm: burglary }))).toEqual({ outcome: 'refused', reason: 'too_long' });
    expect(rig.play(request('other', { alarm: { ...burglary, id: 'i9' } }))).toMatchObject({ outcome: 'accepted' });
  });

  it('begins anew after a rest of a minute, so that a second intrusion is heard', () => {
    const rig = new Rig();
    sound(rig, 180_000);
    rig.wait(59_999);
    expect(rig.play(request('early', { alarm: burglary }))).toEqual({ outcome: 'refused', reason: 'too_long' });
    rig.wait(1);
    sound(rig, 179_000);
    expect(rig.all('stop')).toHaveLength(1);
    rig.wait(1_000);
    expect(rig.all('stop')).toHaveLength(2);
  });

  it('is longer for life safety', () => {
    const rig = new Rig();
    sound(rig, 1_799_000, fire);
    expect(rig.all('stop')).toEqual([]);
    rig.wait(1_000);
    expect(rig.all('stop')).toHaveLength(1);
  });

  it('of life safety counts for each source by itself: a second fire is heard after the first one sounded out', () => {
    const rig = new Rig(planOf([speaker('gate')], { longestLifeSafetyMs: 60_000 }));
    const asked = (id: string, of: string) => ({ ...request('siren', { alarm: { ...fire, of } }), id });
    const first = rig.plays(asked('first', 'z1'), 90_000);
    rig.play(asked('more', 'z1'));
    rig.wait(50_000);
    // It says the same and still waits: it is joined, and does not end with the time of the first.
    expect(rig.play(asked('second', 'z2'))).toMatchObject({ outcome: 'joined', playback: { playback_id: 'more' } });
    rig.wait(10_000);
    rig.silent(first, 60_000);
    expect([rig.status('first'), rig.status('more')]).toEqual(['cancelled too_long', 'queued']);
    expect(rig.play(asked('again', 'z1'))).toEqual({ outcome: 'refused', reason: 'too_long' });
    rig.sounds('more', 90_000);
    expect(rig.status('more')).toBe('playing');
    rig.wait(60_000);
    expect(rig.all('stop')).toHaveLength(2);
  });

  it('counts on after a crash', () => {
    const rig = new Rig();
    rig.plays(request('siren', { alarm: burglary }), 170_000);
    rig.wait(100_000);
    const after = rig.restart(2_000);
    after.plays(request('again', { alarm: burglary }), 170_000);
    after.wait(77_999);
    expect(after.all('stop')).toEqual([]);
    after.wait(1);
    expect(after.all('stop')).toHaveLength(1);
  });

  it('that was reached before a crash is not reached anew after it', () => {
    const rig = new Rig();
    sound(rig, 180_000);
    const after = rig.restart(30_000);
    expect(after.play(request('early', { alarm: burglary }))).toEqual({ outcome: 'refused', reason: 'too_long' });
    after.wait(30_000);
    expect(after.play(request('late', { alarm: burglary }))).toMatchObject({ outcome: 'accepted' });
  });

  it('that is reached while siteward is down ends what waited', () => {
    const rig = new Rig();
    rig.plays(request('siren', { alarm: burglary }), 170_000);
    rig.play(request('again', { alarm: burglary }));
    rig.wait(160_000);
    const after = rig.restart(30_000);
    expect(after.status('again')).toBe('cancelled too_long');
    expect(after.all('prepare')).toEqual([]);
  });

  it('is no reason to refuse an alarm when siteward was down for long', () => {
    const rig = new Rig();
    rig.plays(request('siren', { alarm: burglary }), 170_000);
    rig.wait(100_000);
    const after = rig.restart(3_600_000, { boot: 'b2', mono: 5_000 });
    expect(after.play(request('again', { alarm: burglary }))).toMatchObject({ outcome: 'accepted' });
  });

  it('counts for one that belongs to no alarm by itself', () => {
    const rig = new Rig();
    rig.plays(request('siren', { category: 'alarm' }), 600_000);
    rig.wait(180_000);
    rig.wait(300);
    expect(rig.status('siren')).toBe('cancelled too_long');
  });

  it('is remembered of 64 alarms, those that sound among them', () => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')], { longestAlarmMs: 600_000 }));
    rig.play(request('long', { alarm: { ...burglary, id: 'long' }, speakers: ['yard'] }));
    rig.sounds('long', 500_000, 'yard');
    for (let nth = 0; nth < 100; nth += 1) {
      const id = `${nth}`;
      const run = rig.plays(request(id, { alarm: { ...burglary, id }, speakers: ['gate'] }), 100);
      rig.wait(100);
      rig.ends(run, 100);
    }
    expect(rig.state.alarms.size).toBe(64);
    expect(rig.state.alarms.has('burglary long')).toBe(true);
    expect(rig.state.timers.size).toBe(64 + 2);
  });
});
