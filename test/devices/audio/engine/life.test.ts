import { describe, expect, it } from 'vitest';
import { type QuietHours, raised, readRow } from '../../../../src/devices/audio/engine/index.ts';
import { burglary, fire, planOf, Rig, request, speaker } from './rig.ts';

describe('after a crash', () => {
  it('what sounded has failed and is not played again, and its speaker is released', () => {
    const rig = new Rig();
    rig.plays(request('now', { alarm: fire }));
    const before = rig.shown('now').seq;
    const after = rig.restart();
    expect(after.status('now')).toBe('failed interrupted');
    expect(after.shown('now').seq).toBeGreaterThan(before);
    expect(after.all('release')).toEqual([{ kind: 'release', speaker: 'gate' }]);
    expect(after.all('prepare')).toEqual([]);
  });

  it('what may have sounded has failed, too: nobody knows', () => {
    const rig = new Rig();
    rig.play(request('now'));
    expect(rig.restart().status('now')).toBe('failed interrupted');
  });

  it('what waited is played, unless it has waited too long', () => {
    const rig = new Rig();
    rig.plays(request('now'), 60_000);
    rig.play(request('greeting', { category: 'greeting' }));
    rig.wait(10_000);
    rig.play(request('waits'));
    const after = rig.restart(10_000);
    expect([after.status('greeting'), after.status('waits')]).toEqual(['failed expired', 'queued']);
    after.sounds('waits');
    expect(after.status('waits')).toBe('playing');
    const late = rig.restart(10_000);
    late.input({ kind: 'unprepared', run: late.runOf('waits'), reason: 'format' });
    expect(late.state.timers.size).toBe(0);
  });

  it('what waited goes on waiting no longer than it would have', () => {
    const rig = new Rig();
    rig.plays(request('now'), 60_000);
    rig.play(request('first'));
    rig.play(request('second'));
    const after = rig.restart(50_000);
    after.sounds('first', 60_000);
    after.wait(9_999);
    expect(after.status('second')).toBe('queued');
    after.wait(1);
    expect(after.status('second')).toBe('failed expired');
  });

  it.each([
    { name: 'an announcement', asked: {}, back: 61_000, status: 'failed expired' },
    { name: 'an announcement', asked: {}, back: 30_000, status: 'queued' },
    { name: 'an alarm', asked: { alarm: burglary }, back: 3_600_000, status: 'queued' },
  ])('of the machine, with a clock $back ms behind, $name is $status', ({ asked, back, status }) => {
    const rig = new Rig();
    rig.plays(request('now', { alarm: fire }), 60_000);
    rig.play(request('waits', asked));
    const after = rig.restart(0, { boot: 'b2', mono: 9_000, wall: rig.now.wall - back });
    expect(after.status('waits')).toBe(status);
  });

  it('what waited for a speaker that is gone has failed', () => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    rig.plays(request('now', { speakers: ['gate'] }));
    rig.play(request('waits', { speakers: ['gate'] }));
    rig.plan = planOf([speaker('yard')]);
    const after = rig.restart();
    expect([after.status('now'), after.status('waits')]).toEqual(['failed interrupted', 'failed not_found']);
    expect(after.all('release')).toEqual([]);
  });

  it('what has ended stays as it was, and its id known', () => {
    const rig = new Rig();
    const run = rig.plays(request('now'));
    rig.wait(2_000);
    rig.ends(run);
    const after = rig.restart();
    expect(after.effects).toEqual([]);
    expect(after.shown('now')).toEqual(rig.shown('now'));
    expect(after.play(request('now'))).toMatchObject({ outcome: 'already' });
  });

  it('what was cut once is not cut and begun anew for ever', () => {
    const rig = new Rig();
    const run = rig.plays(request('news'));
    rig.play(request('fire', { alarm: fire }));
    rig.silent(run, 100);
    const after = rig.restart();
    expect(after.status('news')).toBe('queued preempted');
    after.sounds('news');
    after.play(request('again', { alarm: { ...fire, id: 'again' } }));
    after.silent(after.runOf('news'), 100);
    expect(after.status('news')).toBe('cancelled preempted');
  });
});

describe('a row of the journal', () => {
  it('is read as it was written, in every state', () => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    const asked = request('siren', { alarm: burglary, category: 'alarm', repeat: 5 });
    rig.play(asked);
    for (const on of ['gate', 'yard']) rig.prepared('siren', 2_000, on);
    rig.input({ kind: 'first_sample', run: rig.runOf('siren') });
    rig.wait(2_000);
    rig.ends(rig.runOf('siren'));
    rig.input({ kind: 'failed', run: rig.runOf('siren', 'yard'), playedMs: 0, reason: 'auth' });
    rig.play({ ...asked, id: 'second', alarm: fire });
    const rows = rig.all('journal').map(({ row }) => row);
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows) expect(readRow(JSON.parse(JSON.stringify(row)))).toEqual(row);
  });

  it('of another version, or broken, is none', () => {
    const rig = new Rig();
    rig.play(request('now'));
    const [row] = rig.rows();
    expect(readRow(row)).toEqual(row);
    for (const broken of [{ ...row, version: 2 }, { ...row, parts: [] }, { ...row, volume: 70.5 }, null, 'text'])
      expect(readRow(broken)).toBeUndefined();
  });
});

describe('a stop of siteward', () => {
  it('takes nothing new, lets what sounds end, and keeps what waits for the next start', () => {
    const rig = new Rig();
    const run = rig.plays(request('now'), 4_000);
    rig.play(request('waits'));
    rig.input({ kind: 'shutdown' });
    expect(rig.play(request('new', { alarm: fire }))).toEqual({ outcome: 'refused', reason: 'shutdown' });
    rig.wait(4_000);
    rig.ends(run);
    expect(rig.all('idle')).toHaveLength(1);
    expect([rig.status('now'), rig.status('waits')]).toEqual(['completed', 'queued']);
    expect(rig.all('prepare')).toHaveLength(1);
    const after = rig.restart();
    after.sounds('waits');
    expect(after.status('waits')).toBe('playing');
  });

  it('is done at once where nothing sounds', () => {
    const rig = new Rig();
    rig.play(request('waits'));
    rig.input({ kind: 'shutdown' });
    expect(rig.effects.map(({ kind }) => kind)).toContain('idle');
    expect(rig.all('drop')).toHaveLength(1);
    expect(rig.restart().status('waits')).toBe('queued');
  });

  it.each([
    { name: 'an announcement', asked: {}, ms: 5_000 },
    { name: 'an alarm', asked: { alarm: burglary }, ms: 30_000 },
  ])('ends $name after $ms ms', ({ asked, ms }) => {
    const rig = new Rig();
    const run = rig.plays(request('now', asked), 60_000);
    rig.input({ kind: 'shutdown' });
    rig.wait(ms - 1);
    expect(rig.all('stop')).toEqual([]);
    rig.wait(1);
    rig.silent(run, ms);
    expect(rig.status('now')).toBe('failed shutdown');
    expect(rig.all('idle')).toHaveLength(1);
    expect([...rig.state.timers.keys()].filter((id) => id.startsWith('close'))).toEqual([]);
  });

  it('does not wait for a device that is busy', () => {
    const rig = new Rig();
    rig.play(request('now'));
    rig.prepared('now');
    rig.input({ kind: 'failed', run: rig.runOf('now'), playedMs: 0, reason: 'busy' });
    rig.input({ kind: 'shutdown' });
    expect(rig.all('idle')).toHaveLength(1);
    expect(rig.status('now')).toBe('queued');
  });
});

describe('other settings', () => {
  const pair = () => new Rig(planOf([speaker('gate'), speaker('yard')]));

  it('end what sounds and waits on a speaker that is gone, and nothing else', () => {
    const rig = pair();
    rig.play(request('now'));
    rig.prepared('now', 2_000, 'gate');
    rig.prepared('now', 2_000, 'yard');
    const run = rig.runOf('now', 'gate');
    rig.input({ kind: 'first_sample', run });
    rig.play(request('waits'));
    rig.plan = planOf([speaker('yard')]);
    rig.input({ kind: 'replanned' });
    expect(rig.effects).toContainEqual({ kind: 'stop', run, withinMs: 300 });
    rig.silent(run, 100);
    expect([rig.status('now', 'gate'), rig.status('now', 'yard')]).toEqual(['failed not_found', 'queued']);
    expect([rig.status('waits', 'gate'), rig.status('waits', 'yard')]).toEqual(['failed not_found', 'queued']);
  });

  it('kill what sounds where its speaker is on another lane from now on', () => {
    const rig = pair();
    const run = rig.plays(request('now', { speakers: ['gate'] }));
    rig.play(request('waits', { speakers: ['gate'] }));
    rig.plan = planOf([speaker('gate', { lane: 'card' }), speaker('yard')]);
    rig.input({ kind: 'replanned' });
    expect(rig.all('kill').map((effect) => effect.run)).toEqual([run]);
    expect(rig.status('now')).toBe('failed interrupted');
    rig.sounds('waits');
    expect([...rig.state.lanes.keys()]).toEqual(['card']);
  });

  it('forget the failures of a speaker that is gone', () => {
    const rig = pair();
    rig.input({ kind: 'probed', speaker: 'gate', ok: false });
    rig.plan = planOf([speaker('yard')]);
    rig.input({ kind: 'replanned' });
    expect(rig.state.failures.size).toBe(0);
  });
});

describe('a clock that jumps', () => {
  it.each([-3_600_000, 3_600_000, 60_001])('by %d ms ends what waits, but no alarm and nothing that sounds', (byMs) => {
    const rig = new Rig(planOf([speaker('gate'), speaker('yard')]));
    rig.plays(request('now', { speakers: ['gate'] }));
    rig.play(request('waits', { speakers: ['gate'] }));
    rig.play(request('prepared', { speakers: ['yard'] }));
    rig.play(request('reminder', { category: 'reminder', speakers: ['gate'] }));
    rig.play(request('alarm', { alarm: burglary, speakers: ['yard'] }));
    rig.now = { ...rig.now, wall: rig.now.wall + byMs };
    rig.input({ kind: 'clock_jumped', byMs });
    expect([rig.status('waits'), rig.status('reminder')]).toEqual(['failed expired', 'failed expired']);
    expect(rig.status('prepared', 'yard')).toBe('failed expired');
    expect([rig.status('now'), rig.status('alarm', 'yard')]).toEqual(['playing', 'queued']);
  });

  it('by a minute or less changes nothing', () => {
    const rig = new Rig();
    rig.plays(request('now'));
    rig.play(request('waits'));
    rig.input({ kind: 'clock_jumped', byMs: -60_000 });
    expect(rig.effects).toEqual([]);
  });
});

describe('quiet hours', () => {
  const night: QuietHours = { days: [1], from: 22 * 60, to: 6 * 60 };
  const at = (iso: string, hours: QuietHours): Rig => {
    const rig = new Rig(planOf([speaker('gate', { quiet: [hours] })]));
    rig.now = { ...rig.now, wall: Date.parse(iso) };
    return rig;
  };
  /** Monday the first of June, in Berlin. */
  it.each([
    { iso: '2026-06-01T21:59:59+02:00', status: 'queued' },
    { iso: '2026-06-01T22:00:00+02:00', status: 'failed quiet_hours' },
    { iso: '2026-06-02T05:59:59+02:00', status: 'failed quiet_hours' },
    { iso: '2026-06-02T06:00:00+02:00', status: 'queued' },
    { iso: '2026-06-01T05:00:00+02:00', status: 'queued' },
    { iso: '2026-06-02T22:00:00+02:00', status: 'queued' },
    // The same hours by the clock on the wall when it is winter.
    { iso: '2026-12-07T21:59:59+01:00', status: 'queued' },
    { iso: '2026-12-07T22:00:00+01:00', status: 'failed quiet_hours' },
  ])('over midnight: at $iso it is $status', ({ iso, status }) => {
    const rig = at(iso, night);
    rig.play(request('hello'));
    expect(rig.status('hello')).toBe(status);
  });

  it.each([
    { iso: '2026-06-01T11:59:59+02:00', status: 'queued' },
    { iso: '2026-06-01T12:00:00+02:00', status: 'failed quiet_hours' },
    { iso: '2026-06-01T14:00:00+02:00', status: 'queued' },
  ])('within a day: at $iso it is $status', ({ iso, status }) => {
    const rig = at(iso, { days: [1], from: 12 * 60, to: 14 * 60 });
    rig.play(request('hello'));
    expect(rig.status('hello')).toBe(status);
  });

  const deep = '2026-06-01T23:00:00+02:00';
  it('with a cap are less loud, and still no time for tests', () => {
    const rig = at(deep, { ...night, cap: 20 });
    rig.play(request('test', { category: 'test' }));
    expect(rig.status('test')).toBe('failed quiet_hours');
    rig.play(request('hello'));
    expect(rig.last('prepare').volume).toBe(20);
    expect(rig.shown('hello').volume).toBe(70);
  });

  it('are none for alarms', () => {
    const rig = at(deep, night);
    rig.play(request('siren', { alarm: burglary }));
    expect(rig.last('prepare').volume).toBe(70);
  });

  it('hold for what has waited, too', () => {
    const rig = at('2026-06-01T21:59:50+02:00', night);
    const run = rig.plays(request('now'), 20_000);
    rig.play(request('waits'));
    rig.wait(20_000);
    rig.ends(run, 20_000);
    expect([rig.status('now'), rig.status('waits')]).toEqual(['completed', 'failed quiet_hours']);
  });

  it('are not kept by a clock in doubt', () => {
    const rig = at(deep, night);
    rig.now = { ...rig.now, clock: 'doubtful' };
    rig.play(request('hello'));
    expect(rig.status('hello')).toBe('queued');
  });
});

it.each([
  { of: 'announcement', asked: 'alarm', category: 'alarm' },
  { of: 'announcement', asked: 'test', category: 'announcement' },
  { of: 'reminder', asked: undefined, category: 'reminder' },
] as const)('The category of a $of asked for as $asked is $category: never a lower one', ({ of, asked, category }) => {
  expect(raised(of, asked)).toBe(category);
});
