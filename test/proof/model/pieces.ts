import type { Accepted } from '../../harness/cloud.ts';
import type { Entry, Final, History, Put } from './history.ts';

/** What the histories are made of by which the invariants are tested themselves. */

/** A put with everything that goes well after it. */
export function put(token: number, change: Partial<Put> = {}): Put {
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
export const numbered = (one: Put): Entry => ({ what: 'numbered', ...one });
export const acked = (token: number): Entry => ({ what: 'acked', token });
export const post = (nth: number, token: number, mono = nth * 100): Entry => ({
  what: 'post',
  nth,
  eventId: `id-${token}`,
  mono,
});
export const posted = (nth: number, more: Partial<Extract<Entry, { what: 'posted' }>> = {}): Entry => ({
  ...{ what: 'posted', nth, mono: nth * 100 + 10, status: 200, taken: true },
  ...more,
});
export const settled = (...seqs: number[]): Entry => ({ what: 'settled', seqs });
export const life: Entry = {
  ...{ what: 'life', boot: 'boot-1', mono: 0, epoch: 1, storeId: 's', nextSeq: 1, lost: false },
  synchronous: { site: 2, bulk: 2 },
};
export const killed: Entry = { what: 'end', how: 'kill', clean: false };
export const stopped: Entry = { what: 'end', how: 'stop', clean: true };

export function accepted(one: Put, seq: number, change: Partial<Accepted> = {}): Accepted {
  const payload = { seq: one.seq, zone: `t${one.token}` } as Accepted['body']['payload'];
  const at = new Date(one.trueWall).toISOString();
  const body = { event_id: one.eventId, event_time: at, payload } as Accepted['body'];
  return { event_id: one.eventId, seq, arrived_at: at, body, try_count: 1, identical: true, ...change };
}

export function history(entries: readonly Entry[], final: Partial<Final> = {}): History {
  const empty: Final = {
    ...{ accepted: [], uploads: [], pending: [], parked: [], known: [], gaps: [], media: [], anchors: [], spool: [] },
    ...{ pictures: new Map(), sizes: {}, caps: {}, slots: 4 },
  };
  return { seed: 0, entries, final: { ...empty, ...final } };
}

/** One put after the other, each delivered. */
export function good(...puts: readonly Put[]): Entry[] {
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

export const gap = {
  id: 1,
  lane: 'alarm',
  seqFrom: 1,
  seqTo: 1,
  count: 1,
  why: 'disk_full',
  at: 0,
  reported: false,
} as const;
export const activityGap = { ...gap, lane: 'activity', seqFrom: 1, seqTo: 9 } as const;
export const step = (index: number): Entry => ({ what: 'step', index, step: { do: 'kill' } });
export const bodyAt = (one: Put, wall: number) => ({
  body: { ...accepted(one, 1).body, event_time: new Date(wall).toISOString() },
});
export const media = (change: object) =>
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
export const upload = (sha256: string) =>
  ({ event_id: 'id-1', kind: 'snapshot', index: 0, bytes: 1, sha256, authorization_sent: false }) as const;
export const one = put(1);
export const doubted = put(1, { clock: 'doubtful' });
export const two = put(2);
/** The older alarm of the key goes out, and what comes of it shows after three seconds. */
export const heldUp = (outcome: { status: number } | { failure: string }): Entry[] => [
  ...[life, numbered(one), acked(1), numbered(two), acked(2), post(1, 1)],
  { what: 'posted', nth: 1, mono: 3_110, taken: false, ...outcome },
  post(2, 2, 3_120),
];
export const overtaken = { accepted: [accepted(two, 1), accepted(one, 2)] };
/** One was taken, and another fails. */
export const suspected = (status: number) => [
  ...[...good(one), numbered(two), acked(2), post(2, 2), posted(2, { taken: false, status })],
];
/** It fails so often, each time after another had passed. */
export const failsAlone = (status: number, times: number): Entry[] => [
  ...[life, numbered(one), acked(1), numbered(two), acked(2)],
  ...Array.from({ length: times }, (_, i) => [
    ...[post(2 * i + 1, 1), posted(2 * i + 1, { taken: false, status })],
    ...[post(2 * i + 2, 9), posted(2 * i + 2)],
  ]).flat(),
  ...[post(100, 1), posted(100, { taken: false, status, mono: 0 }), post(101, 2, 1)],
];
/** Its request went out and the answer is open. */
export const underWay = [life, numbered(one), acked(1), post(1, 1)];
/** The records and what stands undelivered, before they are read and after. */
export const seen = (count: number, ...undelivered: number[]): Entry => ({
  ...{ what: 'gaps', before: undelivered, gaps: count === 0 ? [] : [{ ...gap, count }], after: undelivered },
});
export const countedThough = (entries: readonly Entry[], count = 1) =>
  history(entries, { accepted: [accepted(one, 1)], gaps: [{ ...gap, count }] });
export const corrupted = (file: 'site' | 'bulk'): Entry[] => [
  { what: 'step', index: 0, step: { do: 'corrupt', file, place: 0.5, clean: false } },
  killed,
  { what: 'end', how: 'corrupt', clean: false },
];
export const activity = put(2, { lane: 'activity' });
export const bothAcked = [life, numbered(one), acked(1), numbered(activity), acked(2), step(0)];
/** Takes no number of its own. */
export const call = put(2, { number: 1, silent: true });
