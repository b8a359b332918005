import { describe, expect, it } from 'vitest';
import type { Entry, History } from './history.ts';
import { type Invariant, invariants, violationsOf } from './invariants.ts';
import {
  accepted,
  acked,
  activity,
  activityGap,
  bodyAt,
  bothAcked,
  call,
  corrupted,
  countedThough,
  doubted,
  failsAlone,
  gap,
  good,
  heldUp,
  history,
  killed,
  life,
  media,
  numbered,
  one,
  overtaken,
  post,
  posted,
  put,
  seen,
  settled,
  step,
  stopped,
  suspected,
  two,
  underWay,
  upload,
} from './pieces.ts';
import { planOf } from './steps.ts';
import { told } from './told.ts';

/** By the number of the invariant: histories that break it, and close ones that do not. */
const planted: Readonly<Record<string, { broken: readonly History[]; whole: readonly History[] }>> = {
  1: {
    broken: [
      history(good(one)),
      // A store that says "delivered" of what the cloud never got.
      history(good(one), { known: [1] }),
    ],
    whole: [
      history(good(one), { accepted: [accepted(one, 1)] }),
      history([life, numbered(one)]),
      history(good(one), { pending: [1] }),
      history(good(one), { gaps: [gap] }),
    ],
  },
  2: {
    broken: [
      history(good(one), { accepted: [accepted(one, 1, { identical: false })] }),
      history([...good(one), ...corrupted('site'), life, post(2, 1)], {
        accepted: [accepted(one, 1, { identical: false })],
      }),
      history([...good(doubted), ...corrupted('bulk'), life, post(2, 1)], {
        accepted: [accepted(doubted, 1, { identical: false })],
      }),
      // The damage was two lives before the first sending.
      history([...corrupted('site'), life, step(1), killed, ...good(doubted), killed, life, post(2, 1)], {
        accepted: [accepted(doubted, 1, { identical: false })],
      }),
    ],
    whole: [
      history(good(one), { accepted: [accepted(one, 1)] }),
      history([...good(doubted), ...corrupted('site'), life, post(2, 1)], {
        accepted: [accepted(doubted, 1, { identical: false })],
      }),
      history([...corrupted('site'), ...good(doubted), killed, life, post(2, 1)], {
        accepted: [accepted(doubted, 1, { identical: false })],
      }),
    ],
  },
  3: {
    broken: [
      history([life, numbered(one), post(1, 1), posted(1), post(2, 1), posted(2)]),
      history([life, numbered(one), post(1, 1), posted(1), settled(1), killed, life, post(1, 1)]),
      history([{ ...step(0), step: { do: 'burst', lanes: ['alarm'], count: 1 } } as Entry, ...good(one)], {
        accepted: [accepted(one, 1, { try_count: 2 })],
      }),
      history([...suspected(403), post(3, 1), posted(3), post(4, 1), posted(4)]),
      // Who asks for fewer requests says nothing of the event, nor does a refusal of all.
      history([...suspected(429), post(3, 1), posted(3)]),
      history([...suspected(422), post(3, 1), posted(3)]),
      history([...suspected(502), post(3, 2), posted(3), post(4, 1), posted(4)]),
      history([...suspected(502), killed, life, post(1, 1), posted(1)]),
    ],
    whole: [
      history([...suspected(403), post(3, 1), posted(3)]),
      history([...suspected(502), post(3, 1), posted(3, { taken: false, status: 502 }), post(4, 2), posted(4)]),
      history([life, numbered(one), post(1, 1), posted(1, { taken: false, status: 503 }), post(2, 1), posted(2)]),
      history([life, numbered(one), post(1, 1), posted(1), killed, life, post(1, 1)]),
      history([life, numbered(put(1, { media: true })), post(1, 1), posted(1), settled(1), post(2, 1), posted(2)]),
    ],
  },
  4: {
    broken: [
      history([life, numbered(one), acked(1), numbered(two), acked(2), post(1, 2), posted(1), post(2, 1), posted(2)], {
        accepted: [accepted(two, 1), accepted(one, 2)],
      }),
      // The origin has only just rested.
      history(heldUp({ status: 503 }), overtaken),
      history(heldUp({ failure: 'unreachable' }), overtaken),
      // A server error or two do not show that it alone fails, and at first it keeps its place.
      history(failsAlone(500, 2), overtaken),
      history(failsAlone(403, 2), overtaken),
      history(failsAlone(502, 6), overtaken),
    ],
    whole: [
      history(good(one, two), { accepted: [accepted(one, 1), accepted(two, 2)] }),
      history(good(one, activity), { accepted: [accepted(activity, 1), accepted(one, 2)] }),
      // Refused once, and so waiting by itself.
      history([...good(one).slice(0, 4), ...[posted(1, { taken: false, status: 422 })], numbered(two), post(2, 2)], {
        accepted: [accepted(two, 1), accepted(one, 2)],
      }),
      // An alarm that has waited three seconds.
      history([life, numbered(one), acked(1), numbered(two), acked(2), post(1, 1), post(2, 2, 3_100)], {
        accepted: [accepted(two, 1), accepted(one, 2)],
      }),
      history(heldUp({ status: 421 }), overtaken),
      history(failsAlone(500, 5), overtaken),
      history(failsAlone(403, 5), overtaken),
      history(failsAlone(502, 9), overtaken),
      history(heldUp({ failure: 'Error: the line is a new one' }), overtaken),
    ],
  },
  5: {
    broken: [
      history([...bothAcked, seen(0, 1, 2), step(1), seen(1, 2)]),
      // The alarm went after the first records had been read, or before the second ones were; the other stood all the time.
      history([...bothAcked, { ...seen(0, 1, 2), after: [2] } as Entry, step(1), seen(1, 2)]),
      history([...bothAcked, seen(0, 1, 2), step(1), { ...seen(1, 1, 2), after: [2] } as Entry]),
      // In the range of a record that counts others.
      history([...bothAcked, seen(0, 1, 2), step(1), { ...seen(1, 2), gaps: [gap, activityGap] } as Entry]),
      // A damaged file was read to its end before.
      history([...bothAcked, seen(0, 1, 2), ...corrupted('site'), life, seen(0, 1, 2), step(1), seen(1, 2)]),
    ],
    whole: [
      // Delivered meanwhile, or given up with the alarm.
      history([...bothAcked, seen(0, 1, 2), step(1), seen(1), post(1, 2)]),
      // The alarm went after the first records had been read, and what waits then came after it.
      history([...bothAcked, { ...seen(0, 2), before: [1] } as Entry, step(1), seen(1, 2)]),
      // It came while the last records were read, or went.
      history([...bothAcked, { ...seen(0, 1), after: [1, 2] } as Entry, step(1), { ...seen(1), after: [2] } as Entry]),
      history([...bothAcked, seen(0, 1, 2), step(1), { ...seen(1, 2), after: [] } as Entry]),
      // Not on disk before.
      history([life, numbered(one), acked(1), numbered(activity), step(0), seen(0, 1), step(1), acked(2), seen(1, 2)]),
      // In a damaged file that was set aside, and brought back in the same step or later.
      history([...bothAcked, seen(0, 1, 2), ...corrupted('site'), life, seen(0, 1), step(1), seen(1)]),
      history([...bothAcked, seen(0, 1, 2), ...corrupted('site'), life, seen(0, 1), step(1), seen(1, 2)]),
      // Given up before the damage; its record was read later.
      history([
        ...[life, numbered(one), acked(1), step(0), seen(1)],
        ...[{ what: 'end', how: 'corrupt', clean: false } as Entry, life, seen(0)],
        ...[numbered(activity), acked(2), step(1), seen(0, 2), step(2), seen(1, 2)],
      ]),
    ],
  },
  6: {
    broken: [
      history(good(one, two), { accepted: [accepted(two, 1)], gaps: [{ ...gap, count: 2 }] }),
      history(good(one), { gaps: [] }),
      history(good(one), { accepted: [accepted(one, 1)], gaps: [gap] }),
      // The verdict was on disk before the kill.
      countedThough([...underWay, posted(1), settled(1), killed]),
      // Answered in time, and stopped in order.
      countedThough([...underWay, posted(1), stopped]),
      // Given up in a life before the one that sent it.
      countedThough([life, numbered(one), acked(1), seen(1), killed, life, post(1, 1), killed]),
      // What was refused had not arrived by that.
      countedThough([...underWay, posted(1, { taken: false, status: 503 }), killed]),
      // One of them, not two.
      countedThough([...underWay, killed], 2),
      // Nothing was ever sent.
      countedThough([life, numbered(one), acked(1), killed]),
    ],
    whole: [
      countedThough([...underWay, killed]),
      countedThough([...underWay, posted(1), seen(1), killed]),
      countedThough([...underWay, posted(1), killed, life, seen(1)]),
      // The answer was lost, and so might the request have been.
      countedThough([...underWay, { what: 'posted', nth: 1, mono: 110, failure: 'reset', taken: false }, stopped]),
      // A full disk does not take the verdict.
      countedThough([...underWay, posted(1), { what: 'disk', full: true }, stopped]),
      history(good(one, two), { accepted: [accepted(two, 1)], gaps: [gap] }),
      // The number of the first was given again by the next life: what the store knows under it is the later event.
      history(
        [
          numbered(one),
          { what: 'refused', token: one.token, code: 'stopped' },
          stopped,
          ...good({ ...two, seq: one.seq }),
        ],
        {
          accepted: [accepted({ ...two, seq: one.seq }, 1)],
          ...{ known: [one.seq], gaps: [gap] },
        },
      ),
      history([life, numbered(one)], { gaps: [gap] }),
    ],
  },
  7: {
    broken: [history([], { pending: [3] }), history([], { media: [media({ state: 'ready' })] })],
    whole: [history([], { media: [media({})] })],
  },
  10: {
    broken: [history([step(0), { what: 'offline', connects: 100, boxMs: 5_000 }])],
    whole: [history([step(0), { what: 'offline', connects: 15, boxMs: 5_000 }])],
  },
  11: {
    broken: [
      history([
        life,
        numbered(one),
        post(1, 1),
        posted(1, { taken: false, status: 429, retryAfterMs: 3000 }),
        post(2, 1),
      ]),
    ],
    whole: [
      history([
        ...[life, numbered(one), post(1, 1), posted(1, { taken: false, status: 429, retryAfterMs: 3000 })],
        post(2, 1, 3111),
      ]),
      history([
        ...[life, numbered(one), post(1, 1), posted(1, { taken: false, status: 429, retryAfterMs: 3000 }), killed],
        ...[life, post(1, 1)],
      ]),
    ],
  },
  12: {
    broken: [history([{ what: 'idle', tries: 3, changed: ['site.db-wal'] }])],
    whole: [history([{ what: 'idle', tries: 3, changed: [] }])],
  },
  14: {
    broken: [history([], { sizes: { 'bulk.db': 11 }, caps: { 'bulk.db': 10 } })],
    whole: [history([], { sizes: { 'bulk.db': 10 }, caps: { 'bulk.db': 10 } })],
  },
  15: {
    broken: [
      history([], { spool: ['1-0.jpg'] }),
      // Not after damage either: at the end nothing is being brought back.
      history([numbered(one), ...corrupted('site')], { spool: ['1-0.jpg'] }),
      history([], { spool: ['1-0.jpg'], media: [media({ state: 'uploaded', file: '1-0.jpg' })] }),
      history([], { media: [media({ state: 'ready', file: '1-0.jpg' })] }),
      history([], { media: [media({})] }),
      history([numbered(one)], { uploads: [upload('other')], pictures: new Map([[1, 'right']]) }),
      history([], { media: [media({ state: 'failed' })] }),
    ],
    whole: [
      history([], { spool: ['1-0.jpg'], media: [media({ state: 'ready', file: '1-0.jpg' })] }),
      history([numbered(one)], {
        ...{ uploads: [upload('right')], media: [media({ sha256: 'right' })], pictures: new Map([[1, 'right']]) },
      }),
    ],
  },
  16: {
    broken: [
      history([numbered(one)], { accepted: [accepted(one, 1, bodyAt(one, one.trueWall + 11_000))] }),
      history([numbered(doubted)], {
        accepted: [accepted(doubted, 1, bodyAt(one, 0))],
        anchors: [{ boot: 'boot-1', mono: 0, wall: 0, source: 'cloud' }],
      }),
    ],
    whole: [
      history([numbered(one)], { accepted: [accepted(one, 1, bodyAt(one, one.trueWall + 1_000))] }),
      history([numbered(doubted)], { accepted: [accepted(doubted, 1, bodyAt(one, 0))] }),
    ],
  },
  17: {
    broken: [
      history([numbered(one)], { accepted: [accepted(one, 1), { ...accepted(one, 2), event_id: 'other' }] }),
      history([], { accepted: [accepted(one, 1)] }),
      history([numbered(one), numbered(put(2, { eventId: 'id-1' }))]),
    ],
    whole: [history([numbered(one)], { accepted: [accepted(one, 1)] })],
  },
  18: {
    broken: [history([{ ...life, synchronous: { site: 2, bulk: 1 } } as Entry])],
    whole: [history([life])],
  },
  19: {
    broken: [
      history([life, { what: 'end', how: 'stop', clean: false }]),
      history([life, numbered(one), post(1, 1), posted(1), stopped, life, post(1, 1)]),
    ],
    whole: [
      history([life, numbered(one), post(1, 1), posted(1, { taken: false, status: 503 }), stopped, life, post(1, 1)]),
      history([life, numbered(one), post(1, 1), posted(1), killed, life, stopped, life, post(1, 1)]),
      // Compared with the failure of another.
      history([
        ...[...good(one), stopped, life, numbered(two), acked(2), post(1, 2)],
        ...[posted(1, { taken: false, status: 500 }), post(2, 1)],
      ]),
    ],
  },
  20: {
    broken: [history([{ what: 'frozen', who: 'cloud', tokens: [1] }, numbered(one), { what: 'thawed' }, acked(1)])],
    whole: [history([{ what: 'frozen', who: 'cloud', tokens: [1] }, numbered(one), acked(1), { what: 'thawed' }])],
  },
  21: {
    broken: [
      history([life, numbered(one), numbered(put(2, { silent: true }))]),
      history([life, numbered(one), numbered(call), numbered(put(3))]),
      history([life, numbered(one), killed, life, numbered(put(2, { number: 1 }))]),
    ],
    whole: [
      history([life, numbered(one), numbered(call), numbered(put(3, { number: 2 }))]),
      history([life, numbered(one), numbered(call), killed, life, numbered(put(9, { number: 7 }))]),
      history([life, numbered(one), killed, { ...life, epoch: 2 } as Entry, numbered(put(9, { number: 1 }))]),
    ],
  },
};

const numberOf = (name: string): string => name.split(' ')[0] ?? '';

describe('each invariant of the model', () => {
  it('has planted violations here', () => {
    expect(Object.keys(planted)).toEqual(Object.keys(invariants).map(numberOf));
  });

  for (const [name, check] of Object.entries<Invariant>(invariants)) {
    const { broken = [], whole = [] } = planted[numberOf(name)] ?? {};
    it(`sees what breaks "${name}", and nothing else`, () => {
      expect(broken.map((run) => check(run).length > 0)).toEqual(broken.map(() => true));
      expect(whole.flatMap((run) => check(run))).toEqual([]);
    });
  }

  it('is content with a run in which all went well', () => {
    const run = history(good(one, two), { accepted: [accepted(one, 1), accepted(two, 2)], known: [1, 2] });
    expect(violationsOf(run)).toEqual([]);
  });
});

describe('a failed run of the model', () => {
  it('says in its last line too which run it was and what it broke first', () => {
    const entries = Array.from({ length: 100 }, (_, seq) => settled(seq));
    const text = told({ plan: planOf(105), violations: ['5 alarms', '6 gaps'], shorter: [], entries });
    expect(text.split('\n').at(-1)).toBe('seed 105 broke 2 in all, first: 5 alarms');
    expect(text).toContain('5 alarms\n6 gaps\n');
    expect(text.match(/settled/g)).toHaveLength(30);
  });
});
