import { describe, expect, it } from 'vitest';
import type { Accepted } from '../../harness/cloud.ts';
import type { Entry, Final, History, Put } from './history.ts';
import { type Invariant, invariants, violationsOf } from './invariants.ts';

/** A put with everything that goes well after it. */
function put(token: number, change: Partial<Put> = {}): Put {
  return {
    ...{
      token,
      seq: token,
      number: token,
      eventId: `id-${token}`,
      lane: 'alarm',
      key: 'p1',
      silent: false,
      media: false,
    },
    ...{ boot: 'boot-1', clock: 'synced', mono: token * 10, trueWall: 1_000_000 + token },
    ...change,
  };
}
const numbered = (one: Put): Entry => ({ what: 'numbered', ...one });
const acked = (token: number): Entry => ({ what: 'acked', token });
const post = (nth: number, token: number, mono = nth * 100): Entry => ({
  what: 'post',
  nth,
  eventId: `id-${token}`,
  mono,
});
const posted = (nth: number, more: Partial<Extract<Entry, { what: 'posted' }>> = {}): Entry => ({
  ...{ what: 'posted', nth, mono: nth * 100 + 10, status: 200, taken: true },
  ...more,
});
const settled = (...seqs: number[]): Entry => ({ what: 'settled', seqs });
const life: Entry = {
  ...{ what: 'life', boot: 'boot-1', mono: 0, epoch: 1, storeId: 's', nextSeq: 1, lost: false },
  synchronous: { site: 2, bulk: 2 },
};
const killed: Entry = { what: 'end', how: 'kill', clean: false };
const stopped: Entry = { what: 'end', how: 'stop', clean: true };

function accepted(one: Put, seq: number, change: Partial<Accepted> = {}): Accepted {
  const payload = { seq: one.seq, zone: `t${one.token}` } as Accepted['body']['payload'];
  const body = { event_id: one.eventId, event_time: new Date(one.trueWall).toISOString(), payload } as Accepted['body'];
  return { event_id: one.eventId, seq, body, try_count: 1, identical: true, ...change };
}

function history(entries: readonly Entry[], final: Partial<Final> = {}): History {
  const empty: Final = {
    ...{ accepted: [], uploads: [], pending: [], parked: [], known: [], gaps: [], media: [], anchors: [], spool: [] },
    ...{ pictures: new Map(), sizes: {}, caps: {}, slots: 4 },
  };
  return { seed: 0, entries, final: { ...empty, ...final } };
}

/** One put after the other, each delivered. */
function good(...puts: readonly Put[]): Entry[] {
  return [
    life,
    ...puts.flatMap((one, index) => [
      numbered(one),
      acked(one.token),
      post(index + 1, one.token),
      posted(index + 1),
      settled(one.seq),
    ]),
  ];
}

const gap = { id: 1, lane: 'alarm', seqFrom: 1, seqTo: 1, count: 1, why: 'disk_full', at: 0, reported: false } as const;
const activityGap = { ...gap, lane: 'activity', seqFrom: 1, seqTo: 9 } as const;
const step = (index: number): Entry => ({ what: 'step', index, step: { do: 'kill' } });
const bodyAt = (one: Put, wall: number) => ({
  body: { ...accepted(one, 1).body, event_time: new Date(wall).toISOString() },
});
const media = (change: object) =>
  ({
    seq: 1,
    index: 0,
    kind: 'snapshot',
    camera: 'cam-1',
    lane: 'alarm',
    eventId: 'id-1',
    state: 'uploaded',
    ...change,
  }) as never;
const upload = (sha256: string) =>
  ({ event_id: 'id-1', kind: 'snapshot', index: 0, bytes: 1, sha256, authorization_sent: false }) as const;
const one = put(1);
const doubted = put(1, { clock: 'doubtful' });
const two = put(2);
/** The older alarm of the key goes out, and what comes of it shows after three seconds. */
const heldUp = (outcome: { status: number } | { failure: string }): Entry[] => [
  ...[life, numbered(one), acked(1), numbered(two), acked(2), post(1, 1)],
  { what: 'posted', nth: 1, mono: 3_110, taken: false, ...outcome },
  post(2, 2, 3_120),
];
const overtaken = { accepted: [accepted(two, 1), accepted(one, 2)] };
/** One was taken, and another fails. */
const suspected = (status: number) => [
  ...[...good(one), numbered(two), acked(2), post(2, 2), posted(2, { taken: false, status })],
];
/** It fails so often, each time after another had passed. */
const failsAlone = (status: number, times: number): Entry[] => [
  ...[life, numbered(one), acked(1), numbered(two), acked(2)],
  ...Array.from({ length: times }, (_, i) => [
    ...[post(2 * i + 1, 1), posted(2 * i + 1, { taken: false, status })],
    ...[post(2 * i + 2, 9), posted(2 * i + 2)],
  ]).flat(),
  ...[post(100, 1), posted(100, { taken: false, status, mono: 0 }), post(101, 2, 1)],
];
/** Its request went out and the answer is open. */
const underWay = [life, numbered(one), acked(1), post(1, 1)];
const seen = (count: number, ...undelivered: number[]): Entry => ({
  ...{ what: 'gaps', gaps: count === 0 ? [] : [{ ...gap, count }], undelivered },
});
const countedThough = (entries: readonly Entry[], count = 1) =>
  history(entries, { accepted: [accepted(one, 1)], gaps: [{ ...gap, count }] });
const corrupted = (file: 'site' | 'bulk'): Entry[] => [
  { what: 'step', index: 0, step: { do: 'corrupt', file, place: 0.5, clean: false } },
  killed,
  { what: 'end', how: 'corrupt', clean: false },
];
const activity = put(2, { lane: 'activity' });
const bothAcked = [life, numbered(one), acked(1), numbered(activity), acked(2), step(0)];
/** Takes no number of its own. */
const call = put(2, { number: 1, silent: true });

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
      // In the range of a record that counts others.
      history([...bothAcked, seen(0, 1, 2), step(1), { ...seen(1, 2), gaps: [gap, activityGap] } as Entry]),
      // A damaged file was read to its end before.
      history([...bothAcked, seen(0, 1, 2), ...corrupted('site'), life, seen(0, 1, 2), step(1), seen(1, 2)]),
    ],
    whole: [
      // Delivered meanwhile, or given up with the alarm.
      history([...bothAcked, seen(0, 1, 2), step(1), seen(1), post(1, 2)]),
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
