import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { manualClock } from '#lib/clock.fake.ts';
import { type ClockQuality, isoTime, type Stamp } from '#site/model/index.ts';
import type { Anchor, PendingRow } from '#site/store/index.ts';
import { eventTime, isNews } from '../../src/cloud/delivery/event-time.ts';
import { createEventTimes } from '../../src/cloud/delivery/event-times.ts';
import { rowOf } from './support.ts';

const day = 86_400_000;
const truth = Date.UTC(2026, 10, 27, 20);
const unset = Date.UTC(1970, 0, 1);
const boots = ['a', 'b', 'c'];

const stamp = (more: Partial<Stamp> = {}): Stamp => ({
  boot: 'b',
  mono: 60_000,
  wall: unset,
  clock: 'doubtful',
  ...more,
});
const anchor = (more: Partial<Anchor> = {}): Anchor => ({
  boot: 'b',
  mono: 100_000,
  wall: truth,
  source: 'cloud',
  ...more,
});

describe('the time of an event', () => {
  const exact = (recorded: number) => ({ quality: 'exact', recorded });
  const cases: [what: string, stamp: Stamp, anchors: Anchor[], wall: number, note: object | undefined][] = [
    ['is the recorded one of a synchronised clock', stamp({ clock: 'synced', wall: 5 }), [anchor()], 5, undefined],
    ['is the recorded one when nothing is known', stamp({ wall: 5 }), [], 5, undefined],
    ['goes back from the first anchor after it', stamp(), [anchor()], truth - 40_000, exact(unset)],
    ['goes on from the last anchor before it', stamp({ mono: 130_000 }), [anchor()], truth + 30_000, exact(unset)],
    [
      'rests on the anchor before it, not on the one after it',
      stamp({ mono: 150_000 }),
      [anchor({ mono: 200_000, wall: truth + day }), anchor()],
      truth + 50_000,
      exact(unset),
    ],
    [
      'is corrected for a clock that was only held over',
      stamp({ clock: 'holdover' }),
      [anchor()],
      truth - 40_000,
      exact(unset),
    ],
    [
      'stays when the correction is below what a Date header can tell',
      stamp({ wall: truth - 40_900 }),
      [anchor()],
      truth - 40_900,
      undefined,
    ],
    [
      'is called an estimate when nobody confirmed the anchor',
      stamp(),
      [anchor({ source: 'unconfirmed' })],
      truth - 40_000,
      { quality: 'estimated', recorded: unset },
    ],
    [
      'is lifted to the last anchor of an earlier boot',
      stamp(),
      [anchor({ boot: 'a' })],
      truth,
      { quality: 'estimated', recorded: unset, earliest: truth },
    ],
    [
      'is lowered to the start of the next boot',
      stamp({ wall: truth + day }),
      [anchor({ boot: 'c' })],
      truth - 100_000,
      { quality: 'estimated', recorded: truth + day, latest: truth - 100_000 },
    ],
    [
      'is the recorded one within its bounds, which are told',
      stamp({ wall: truth }),
      [anchor({ boot: 'a', wall: truth - day }), anchor({ boot: 'c', wall: truth + day })],
      truth,
      { quality: 'estimated', recorded: truth, earliest: truth - day, latest: truth + day - 100_000 },
    ],
    [
      'is bounded by the nearest boots, not by others',
      stamp({ boot: 'c', wall: truth }),
      [anchor({ boot: 'a', wall: truth - day }), anchor({ boot: 'b', wall: truth - 1000 })],
      truth,
      { quality: 'estimated', recorded: truth, earliest: truth - 1000 },
    ],
    [
      'is not bounded by boots that contradict each other',
      stamp(),
      [anchor({ boot: 'a', wall: truth + day }), anchor({ boot: 'c' })],
      unset,
      undefined,
    ],
    [
      'is not bounded by what nobody confirmed',
      stamp(),
      [anchor({ boot: 'c', source: 'unconfirmed' })],
      unset,
      undefined,
    ],
    ['is not bounded when the order of the boots is not known', stamp({ boot: 'x' }), [anchor()], unset, undefined],
  ];
  it.each(cases)('%s', (_what, of, anchors, wall, note) => {
    expect(eventTime(of, anchors, boots)).toEqual(note === undefined ? { wall } : { wall, note });
  });

  const quality = fc.constantFrom<ClockQuality>('synced', 'holdover', 'doubtful');
  const moments = fc.array(fc.integer({ min: 0, max: 10 * day }), { minLength: 1, maxLength: 8 });

  it('is never changed by a later anchor of its boot, and is right to the millisecond', () => {
    fc.assert(
      fc.property(moments, fc.integer({ min: 0, max: 10 * day }), quality, (monos, mono, clock) => {
        const sorted = [...new Set(monos)].sort((a, b) => a - b);
        const anchors = sorted.map((at) => anchor({ mono: at, wall: truth + at }));
        const of = stamp({ mono, wall: clock === 'synced' ? truth + mono : unset, clock });
        const first = eventTime(of, anchors.slice(0, 1), boots);
        for (let count = 1; count <= anchors.length; count += 1) {
          // Anchors come as time passes: one that is added later than the event was sent lies after it.
          const known = anchors.slice(0, count);
          if ((known.at(-1)?.mono ?? 0) > mono) expect(eventTime(of, known, boots)).toEqual(first);
        }
        expect(eventTime(of, anchors, boots).wall).toBe(truth + mono);
      }),
    );
  });

  it('lies within the bounds it tells', () => {
    const walls = fc.integer({ min: unset, max: truth + 100 * day });
    fc.assert(
      fc.property(walls, walls, walls, (recorded, before, after) => {
        const known = [anchor({ boot: 'a', wall: before }), anchor({ boot: 'c', wall: after })];
        const { wall, note } = eventTime(stamp({ wall: recorded }), known, boots);
        expect(wall).toBeGreaterThanOrEqual(note?.earliest ?? wall);
        expect(wall).toBeLessThanOrEqual(note?.latest ?? wall);
      }),
    );
  });
});

describe('an anchor is kept', () => {
  const hour = 3_600_000;
  const first = anchor({ mono: 0 });
  const cases: [what: string, next: Anchor, known: Anchor[], kept: boolean][] = [
    ['as the first of its boot', anchor(), [anchor({ boot: 'a' })], true],
    [
      'not when it says what the last one says',
      anchor({ mono: 5 * hour, wall: truth + 5 * hour + 400 }),
      [first],
      false,
    ],
    ['for a drift, at most once an hour', anchor({ mono: hour, wall: truth + hour + 600 }), [first], true],
    ['not for a drift before the hour is over', anchor({ mono: hour - 1, wall: truth + hour + 600 }), [first], false],
    ['for a step', anchor({ mono: 60_000, wall: truth + day }), [first], true],
    ['not for a second step within a minute', anchor({ mono: 59_000, wall: truth + day }), [first], false],
    ['as the first confirmed one', anchor({ mono: 1 }), [anchor({ mono: 0, source: 'unconfirmed' })], true],
    ['never before the last one', anchor({ mono: 0 }), [anchor({ mono: 1, source: 'unconfirmed' })], false],
  ];
  it.each(cases)('%s', (_what, next, known, kept) => expect(isNews(next, known)).toBe(kept));
});

describe('events in the store of one machine', () => {
  const never = new AbortController().signal;

  function machine(options: { hear?: () => Promise<boolean> } = {}) {
    const clock = manualClock(unset);
    const disk: { anchors: Anchor[]; memory: Map<string, string>; fails: boolean } = {
      anchors: [],
      memory: new Map(),
      fails: false,
    };
    const may = async () => {
      if (disk.fails) throw new Error('the disk is full');
    };
    const open = () =>
      createEventTimes({
        clock,
        hear: options.hear ?? (async () => true),
        store: {
          anchors: async () => {
            await may();
            return [...disk.anchors];
          },
          addAnchor: async (one) => {
            await may();
            disk.anchors.push(one);
          },
          memory: () => ({
            get: async (key) => disk.memory.get(key),
            set: async (key, value) => void disk.memory.set(key, value),
            delete: async (key) => void disk.memory.delete(key),
            keys: async () => [...disk.memory.keys()],
          }),
        },
      });
    const record = (): PendingRow => ({ ...rowOf(clock, 1), clock: 'doubtful' });
    return { clock, disk, open, record };
  }
  const read = (text: string) => {
    const { sent_at: _, ...event } = JSON.parse(text) as {
      sent_at: string;
      event_time: string;
      payload: { data: object };
    };
    return event;
  };

  it('are corrected by what the cloud says with its token, which is on disk before the first of them leaves', async () => {
    const { clock, disk, open, record } = machine({
      hear: async () => {
        times.trusted({ mono: clock.monotonic(), wall: truth, source: 'cloud' });
        return true;
      },
    });
    const times = open();
    const row = record();
    clock.advance(5_000);
    const event = read(await times.encoded(row, never));
    expect(event.event_time).toBe(isoTime(truth - 5_000));
    expect(event.payload.data).toMatchObject({ time: { quality: 'exact', recorded: isoTime(unset) } });
    expect(disk.anchors).toEqual([{ boot: clock.bootId, mono: clock.monotonic(), wall: truth, source: 'cloud' }]);
  });

  it('keep their bytes over later anchors, restarts of the daemon and of the machine', async () => {
    const { clock, disk, open, record } = machine();
    const row = record();
    const first = open();
    const bytes = read(await first.encoded(row, never));
    clock.advance(3_600_000);
    first.trusted({ mono: clock.monotonic(), wall: truth, source: 'cloud' });
    expect(read(await first.encoded(row, never))).toEqual(bytes);
    expect(read(await open().encoded(row, never))).toEqual(bytes);
    clock.bootId = 'another boot';
    const later = open();
    later.trusted({ mono: clock.monotonic(), wall: truth + day, source: 'ntp' });
    expect(read(await later.encoded(row, never))).toEqual(bytes);
    expect(disk.memory.get('boots')).toBe(JSON.stringify(['00000000-0000-4000-8000-000000000001', 'another boot']));
  });

  it('of a boot that ended before anybody told the time keep one estimate between its neighbours', async () => {
    const { clock, disk, open, record } = machine();
    clock.bootId = 'first';
    const before = open();
    before.trusted({ mono: clock.monotonic(), wall: truth, source: 'ntp' });
    await before.encoded(record(), never);
    clock.bootId = 'second';
    open().begin();
    const row = record();
    await vi.waitFor(() => expect(disk.memory.get('boots')).toContain('second'), 20_000);
    clock.bootId = 'third';
    const after = open();
    after.trusted({ mono: clock.monotonic(), wall: truth + day, source: 'ntp' });
    const event = read(await after.encoded(row, never));
    expect(event.event_time).toBe(isoTime(truth));
    const latest = isoTime(truth + day - clock.monotonic());
    const time = { quality: 'estimated', recorded: isoTime(unset), earliest: isoTime(truth), latest };
    expect(event.payload.data).toMatchObject({ time });
  });

  it('that waited in a broker end at their corrected time, and begin at no time a clock in doubt has said', async () => {
    const { clock, open, record } = machine();
    const times = open();
    times.trusted({ mono: clock.monotonic(), wall: truth, source: 'cloud' });
    const row = record();
    const said = {
      quality: 'estimated',
      recorded: isoTime(unset),
      earliest: isoTime(unset - 5),
      latest: isoTime(unset),
    };
    const body = JSON.stringify({ ...JSON.parse(row.body), payload: { data: { time: said } } });
    const event = read(await times.encoded({ ...row, body }, never));
    expect(event.event_time).toBe(isoTime(truth));
    expect(event.payload.data).toEqual({
      time: { quality: 'estimated', recorded: isoTime(unset), latest: isoTime(truth) },
    });
  });

  it('leave though the disk takes nothing', async () => {
    const { clock, disk, open, record } = machine();
    disk.fails = true;
    const times = open();
    times.trusted({ mono: clock.monotonic(), wall: truth, source: 'cloud' });
    expect(read(await times.encoded(record(), never)).event_time).toBe(isoTime(truth));
    disk.fails = false;
    clock.advance(10_000);
    await times.encoded(record(), never);
    expect(disk.anchors).toHaveLength(1);
  });

  it('recorded after the clock was set by nobody known are not dated back', async () => {
    const { clock, open, record } = machine();
    const times = open();
    await times.encoded(record(), never);
    clock.advance(60_000);
    clock.step(truth - unset);
    times.stepped();
    const row = record();
    expect(read(await times.encoded(row, never)).event_time).toBe(isoTime(row.wall));
  });
});
