import { describe, expect, it } from 'vitest';
import { burglary, fire, medical, planOf, Rig, request, speaker } from './rig.ts';

describe('a message', () => {
  it('is prepared while it is written down, begins after both, and is completed at its end', () => {
    const rig = new Rig();
    rig.prompt = false;
    const answer = rig.play(request('hello'));
    expect(answer).toMatchObject({ outcome: 'accepted', playback: { status: 'queued', seq: 1 } });
    expect(rig.effects.map(({ kind }) => kind)).toEqual([
      ...['timer.set', 'prepare', 'timer.set', 'timer.set', 'journal', 'changed'],
    ]);
    const run = rig.runOf('hello');
    rig.prepared('hello');
    expect(rig.all('start')).toEqual([]);
    rig.input({ kind: 'journalled', write: rig.last('journal').write });
    expect(rig.last('start')).toEqual({ kind: 'start', run, speaker: 'gate', durable: true });
    expect(rig.status('hello')).toBe('queued');
    rig.input({ kind: 'first_sample', run });
    expect(rig.shown('hello')).toMatchObject({ status: 'playing', seq: 2 });
    rig.wait(2_000);
    rig.ends(run);
    expect(rig.shown('hello')).toMatchObject({ status: 'completed', seq: 3, summary: { completed: 1, total: 1 } });
    expect(rig.part('hello')).toMatchObject({ played_ms: 2_000, delivered: 'sent' });
    expect(rig.state.timers.size).toBe(0);
    expect(rig.state.lanes.size).toBe(0);
  });

  it('begins after 500 ms without an answer of the journal, and says so', () => {
    const rig = new Rig();
    rig.prompt = false;
    rig.play(request('hello'));
    rig.prepared('hello');
    rig.wait(499);
    expect(rig.all('start')).toEqual([]);
    rig.wait(1);
    expect(rig.last('start').durable).toBe(false);
  });

  it.each([
    { name: 'an unknown speaker', speakers: ['attic'], reason: 'unknown_speaker' },
    { name: 'no speaker', speakers: [], reason: 'no_speaker' },
  ])('for $name is refused', ({ speakers, reason }) => {
    const rig = new Rig();
    expect(rig.play(request('hello', { speakers }))).toEqual({ outcome: 'refused', reason });
    expect(rig.effects).toEqual([]);
  });

  it('that is asked for again under its id is played once; under its id another one is refused', () => {
    const rig = new Rig();
    rig.play(request('hello'));
    expect(rig.play(request('hello'))).toMatchObject({ outcome: 'already', playback: { playback_id: 'hello' } });
    expect(rig.play(request('hello', { volume: 71 }))).toEqual({ outcome: 'refused', reason: 'id_conflict' });
    expect(rig.all('prepare')).toHaveLength(1);
  });

  it.each([
    { name: 'alarm', more: { category: 'alarm' as const }, gap: 250, urgent: true },
    { name: 'announcement', more: {}, gap: 500, urgent: false },
  ])('of category $name is prepared with $gap ms between repeats', ({ more, gap, urgent }) => {
    const rig = new Rig();
    rig.play(request('hello', { ...more, volume: 40, repeat: 3 }));
    expect(rig.last('prepare')).toMatchObject({ volume: 40, repeat: 3, gapMs: gap, urgent });
  });

  it('of an alarm has the least volume of alarms', () => {
    const rig = new Rig(planOf([speaker('gate')], { alarmFloor: 60 }));
    rig.play(request('hello', { category: 'alarm', volume: 10 }));
    expect(rig.last('prepare').volume).toBe(60);
    expect(rig.shown('hello').volume).toBe(10);
  });
});

describe('a lane', () => {
  it('has one sound at a time, and goes on with the next in the order of ranks and ages', () => {
    const rig = new Rig();
    const first = rig.plays(request('first', { category: 'test' }));
    for (const category of ['greeting', 'announcement', 'custom', 'reminder', 'test'] as const)
      for (const nth of [1, 2]) rig.play(request(`${category} ${nth}`, { category }));
    const order: string[] = [];
    rig.wait(2_000);
    rig.ends(first);
    for (let at = 0; at < 10; at += 1) {
      const [lane] = rig.state.lanes.values();
      const id = lane?.next?.playback ?? '';
      order.push(id);
      const run = rig.sounds(id, 100);
      rig.wait(100);
      rig.ends(run, 100);
    }
    expect(order).toEqual([
      ...['announcement 1', 'announcement 2', 'custom 1', 'custom 2', 'reminder 1', 'reminder 2'],
      ...['greeting 1', 'greeting 2', 'test 1', 'test 2'],
    ]);
  });

  it('that speakers share has one sound at a time for both', () => {
    const rig = new Rig(planOf([speaker('left', { lane: 'card' }), speaker('right', { lane: 'card' })]));
    rig.play(request('hello'));
    const run = rig.sounds('hello', 2_000, 'left');
    expect(rig.shown('hello').devices.map(({ status }) => status)).toEqual(['playing', 'queued']);
    rig.wait(2_000);
    rig.ends(run);
    rig.sounds('hello', 2_000, 'right');
    expect(rig.shown('hello')).toMatchObject({ status: 'playing', summary: { completed: 1 } });
  });

  it('lets a higher one go before what is only being prepared', () => {
    const rig = new Rig();
    rig.play(request('test', { category: 'test' }));
    const run = rig.runOf('test');
    rig.play(request('news'));
    expect(rig.last('drop').run).toBe(run);
    rig.sounds('news');
    expect(rig.status('test')).toBe('queued');
  });

  it('takes 16 that wait, and fails the newest of the lowest for a higher one, else the new one', () => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    rig.plays(request('now', { speakers: ['gate'] }));
    for (let nth = 1; nth <= 16; nth += 1)
      rig.play(request(`r${nth}`, { category: nth > 14 ? 'test' : 'reminder', speakers: ['gate'] }));
    expect(rig.play(request('t', { category: 'test', speakers: ['gate'] }))).toEqual({
      outcome: 'refused',
      reason: 'queue_full',
    });
    expect(rig.play(request('t', { category: 'test' }))).toMatchObject({ outcome: 'accepted' });
    expect([rig.status('t'), rig.status('t', 'yard')]).toEqual(['failed queue_full', 'queued']);
    rig.play(request('news', { speakers: ['gate'] }));
    expect(rig.status('r16')).toBe('failed evicted');
    expect(rig.status('r15')).toBe('queued');
    rig.play(request('more news', { speakers: ['gate'] }));
    rig.play(request('still more', { speakers: ['gate'] }));
    expect([rig.status('r15'), rig.status('r14')]).toEqual(['failed evicted', 'failed evicted']);
  });

  it('keeps no burglary out with alarms without a cause, however many wait', () => {
    const rig = new Rig();
    rig.plays(request('now', { alarm: fire }));
    for (let nth = 1; nth <= 16; nth += 1) rig.play(request(`a${nth}`, { category: 'alarm' }));
    expect(rig.play(request('one more', { category: 'alarm' }))).toMatchObject({ reason: 'queue_full' });
    expect(rig.play(request('break-in', { alarm: burglary }))).toMatchObject({ outcome: 'accepted' });
    expect([rig.status('a16'), rig.status('a15')]).toEqual(['failed evicted', 'queued']);
  });

  it('gives up what waited too long, by category', () => {
    const rig = new Rig(planOf([speaker('gate')], { longestAlarmMs: 600_000 }));
    rig.plays(request('now', { category: 'alarm' }), 400_000);
    const asked = [
      ...(['alarm', 'announcement', 'custom', 'reminder', 'greeting', 'test'] as const).map((category) => {
        rig.play(request(category, { category }));
        return category;
      }),
    ];
    const waiting = () => asked.filter((id) => rig.status(id) === 'queued');
    rig.wait(14_999);
    expect(waiting()).toHaveLength(6);
    rig.wait(1);
    expect(rig.status('greeting')).toBe('failed expired');
    rig.wait(45_000);
    expect(waiting()).toEqual(['alarm']);
    rig.wait(240_000);
    expect(rig.status('alarm')).toBe('failed expired');
  });

  it('keeps 200 playbacks that have ended, and has the others forgotten', () => {
    const rig = new Rig();
    for (let nth = 1; nth <= 205; nth += 1) {
      const run = rig.plays(request(`m${nth}`), 100);
      rig.wait(100);
      rig.ends(run, 100);
    }
    expect(rig.state.playbacks.size).toBe(200);
    expect(rig.all('forget').map(({ playback }) => playback)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5']);
  });
});

describe('several speakers of one playback', () => {
  const pair = () => new Rig(planOf([speaker('gate'), speaker('yard')]));

  it('begin together', () => {
    const rig = pair();
    rig.play(request('hello'));
    rig.prepared('hello', 2_000, 'gate');
    expect(rig.all('start')).toEqual([]);
    rig.wait(30);
    rig.prepared('hello', 2_000, 'yard');
    expect(rig.effects.filter(({ kind }) => kind === 'start')).toHaveLength(2);
  });

  it('wait 50 ms for one another, and no longer', () => {
    const rig = pair();
    rig.play(request('hello'));
    rig.prepared('hello', 2_000, 'gate');
    rig.wait(49);
    expect(rig.all('start')).toEqual([]);
    rig.wait(1);
    expect(rig.all('start').map(({ speaker }) => speaker)).toEqual(['gate']);
    rig.prepared('hello', 2_000, 'yard');
    expect(rig.all('start').map(({ speaker }) => speaker)).toEqual(['gate', 'yard']);
  });

  it('do not wait for one whose lane is not free', () => {
    const rig = pair();
    rig.play(request('news', { speakers: ['yard'] }));
    rig.sounds('news', 2_000, 'yard');
    rig.play(request('alarm', { category: 'alarm' }));
    rig.prepared('alarm');
    expect(rig.all('start').map(({ speaker }) => speaker)).toEqual(['yard', 'gate']);
  });

  it.each([
    { gate: 'completed', yard: 'completed', all: 'completed' },
    { gate: 'completed', yard: 'failed', all: 'failed' },
    { gate: 'completed', yard: 'cancelled', all: 'cancelled' },
    { gate: 'cancelled', yard: 'failed', all: 'failed' },
    { gate: 'cancelled', yard: 'cancelled', all: 'cancelled' },
  ])('are together $all where they are $gate and $yard', ({ gate, yard, all }) => {
    const rig = pair();
    rig.play(request('hello'));
    const runs = { gate: rig.runOf('hello', 'gate'), yard: rig.runOf('hello', 'yard') };
    rig.prepared('hello', 2_000, 'gate');
    rig.prepared('hello', 2_000, 'yard');
    for (const run of Object.values(runs)) rig.input({ kind: 'first_sample', run });
    expect(rig.shown('hello').status).toBe('playing');
    rig.wait(1_900);
    for (const [on, how] of [
      ['gate', gate],
      ['yard', yard],
    ] as const) {
      const run = runs[on];
      if (how === 'completed') rig.ends(run);
      if (how === 'failed') rig.input({ kind: 'failed', run, playedMs: 100, reason: 'connection_lost' });
      if (how !== 'cancelled') continue;
      rig.cancel({ speaker: on });
      rig.silent(run, 100);
    }
    expect(rig.shown('hello').status).toBe(all);
  });

  it('are queued together while none has sounded, whatever the others failed by', () => {
    const rig = pair();
    rig.play(request('hello'));
    rig.input({ kind: 'unprepared', run: rig.runOf('hello'), reason: 'format' });
    expect(rig.shown('hello')).toMatchObject({ status: 'queued', summary: { failed: 1 } });
  });
});

describe('an alarm', () => {
  it.each([
    { name: 'fire', above: { alarm: fire }, below: { alarm: medical } },
    { name: 'fire', above: { alarm: fire }, below: { alarm: burglary } },
    { name: 'other life safety', above: { alarm: medical }, below: { alarm: burglary } },
    { name: 'life safety', above: { alarm: medical }, below: { category: 'alarm' as const } },
    { name: 'a burglary', above: { alarm: burglary }, below: { category: 'alarm' as const } },
    { name: 'a burglary', above: { alarm: burglary }, below: { category: 'announcement' as const } },
    { name: 'an alarm', above: { category: 'alarm' as const }, below: { category: 'test' as const } },
  ])('$name cuts what is below it within its stop budget', ({ above, below }) => {
    const rig = new Rig();
    const run = rig.plays(request('below', below));
    rig.play(request('above', above));
    expect(rig.effects).toContainEqual({ kind: 'stop', run, withinMs: 300 });
    // It is made ready in the meantime.
    rig.prepared('above');
    expect(rig.all('start')).toHaveLength(1);
    rig.silent(run, 400);
    expect(rig.last('start').run).toBe(rig.runOf('above'));
  });

  it.each([
    { name: 'fire', playing: { alarm: fire }, asked: { alarm: { ...fire, id: 'other' } } },
    { name: 'fire', playing: { alarm: fire }, asked: { alarm: medical } },
    { name: 'life safety', playing: { alarm: medical }, asked: { alarm: burglary } },
    { name: 'a burglary', playing: { alarm: burglary }, asked: { category: 'alarm' as const } },
    { name: 'an announcement', playing: {}, asked: {} },
    { name: 'a test', playing: { category: 'test' as const }, asked: {} },
  ])('$name is not cut by what is not above it', ({ playing, asked }) => {
    const rig = new Rig();
    rig.plays(request('playing', playing));
    rig.play(request('asked', asked));
    expect(rig.all('stop')).toEqual([]);
    expect(rig.status('asked')).toBe('queued');
  });

  it.each([
    { below: { category: 'alarm' as const }, first: 'queued preempted', second: 'queued preempted' },
    { below: { alarm: burglary }, first: 'queued preempted', second: 'queued preempted' },
    { below: { category: 'announcement' as const }, first: 'queued preempted', second: 'cancelled preempted' },
    { below: { category: 'custom' as const }, first: 'queued preempted', second: 'cancelled preempted' },
    { below: { category: 'reminder' as const }, first: 'cancelled preempted' },
    { below: { category: 'greeting' as const }, first: 'cancelled preempted' },
    { below: { category: 'test' as const }, first: 'cancelled preempted' },
  ])('leaves what it cut as $first, and the second time as $second: $below', ({ below, first, second }) => {
    const rig = new Rig();
    const run = rig.plays(request('below', below));
    rig.wait(500);
    for (const [nth, status] of [first, second].entries()) {
      if (status === undefined) return;
      rig.play(request(`fire ${nth}`, { alarm: { ...fire, id: `${nth}` } }));
      rig.silent(nth === 0 ? run : rig.runOf('below'), 500);
      expect(rig.status('below')).toBe(status);
      const alarm = rig.sounds(`fire ${nth}`);
      rig.wait(2_000);
      rig.ends(alarm);
      if (status.startsWith('queued')) rig.sounds('below');
    }
  });

  it('takes no chance from what it cut before it sounded', () => {
    const rig = new Rig();
    rig.play(request('below', { category: 'test' }));
    const run = rig.runOf('below');
    rig.prepared('below');
    rig.play(request('alarm', { category: 'alarm' }));
    expect(rig.last('stop')).toEqual({ kind: 'stop', run, withinMs: 300 });
    rig.silent(run);
    expect(rig.status('below')).toBe('queued');
  });

  it('kills what does not stop, and begins', () => {
    const rig = new Rig();
    const run = rig.plays(request('below', { category: 'test' }));
    rig.play(request('alarm', { category: 'alarm' }));
    rig.prepared('alarm');
    rig.wait(299);
    expect(rig.all('start')).toHaveLength(1);
    rig.wait(1);
    expect(rig.last('kill').run).toBe(run);
    expect(rig.all('start')).toHaveLength(2);
    expect(rig.part('below')).toMatchObject({ status: 'cancelled', played_ms: 300 });
  });

  it('that says the same as one that still waits is joined to it', () => {
    const rig = new Rig();
    const alarm = burglary;
    rig.plays(request('siren', { alarm }));
    const again = (id: string) => ({ ...request('siren', { alarm }), id });
    expect(rig.play(again('second'))).toMatchObject({ outcome: 'accepted' });
    for (let nth = 3; nth <= 30; nth += 1)
      expect(rig.play(again(`${nth}`))).toMatchObject({ outcome: 'joined', playback: { playback_id: 'second' } });
    expect(rig.play(again('3'))).toMatchObject({ outcome: 'already', playback: { playback_id: 'second' } });
    expect(rig.state.playbacks.size).toBe(2);
  });

  it('is not joined where it was asked for anew, as often as there is room', () => {
    const rig = new Rig();
    rig.plays(request('siren', { alarm: burglary }));
    for (const id of ['second', 'third'])
      expect(rig.play({ ...request('siren', { alarm: burglary }), id, anew: true })).toMatchObject({
        outcome: 'accepted',
      });
    expect(rig.state.playbacks.size).toBe(3);
  });

  it.each([
    { name: 'another alarm', more: { alarm: { ...burglary, id: 'i9' } } },
    { name: 'another partition', more: { alarm: { ...burglary, partition: 'p2' } } },
    { name: 'another cause', more: { alarm: { cause: 'life_safety', id: 'i1' } as const } },
    { name: 'another volume', more: { volume: 100 } },
    { name: 'a speaker more', more: { speakers: ['gate', 'yard'] } },
  ])('of $name is not', ({ more }) => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    rig.plays(request('now', { alarm: fire, speakers: ['gate'] }));
    const asked = request('siren', { alarm: burglary, speakers: ['gate'] });
    rig.play(asked);
    expect(rig.play({ ...asked, id: 'other', ...more })).toMatchObject({ outcome: 'accepted' });
  });

  it('is not joined to one that has waited for half of its time, and would be given up before its turn', () => {
    const rig = new Rig();
    rig.plays(request('now', { alarm: fire }), 400_000);
    const asked = request('siren', { alarm: burglary });
    rig.play(asked);
    rig.wait(150_000);
    expect(rig.play({ ...asked, id: 'second' })).toMatchObject({ outcome: 'joined' });
    rig.wait(1);
    expect(rig.play({ ...asked, id: 'third' })).toMatchObject({ outcome: 'accepted' });
    rig.wait(150_000);
    expect([rig.status('siren'), rig.status('third')]).toEqual(['failed expired', 'queued']);
  });

  it('joins at most 64 that are remembered', () => {
    const rig = new Rig();
    const asked = request('siren', { alarm: burglary });
    rig.plays({ ...asked, id: 'first' });
    for (let nth = 0; nth < 200; nth += 1) rig.play({ ...asked, id: `${nth}` });
    expect([...rig.state.playbacks.values()].map(({ joined }) => joined.length)).toEqual([0, 64]);
  });
});
