import { describe, expect, it } from 'vitest';
import type { EventEntry } from '#lan/http/index.ts';
import type { SiteEvent } from '#site/model/index.ts';
import type { Accepted, Upload } from '../harness/cloud.ts';
import type { Deed, History } from './history.ts';
import { type Evidence, judge, type Wrong } from './judge.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const at = (second: number) => start + second * 1000;

/** An evening in one partition: armed, a window opens and closes, disarmed by its owner. */
const deeds: readonly Deed[] = [
  deed(1, { what: 'arm', by: 'keypad', code: 'right', expects: ['arming armed_away active -'] }),
  deed(2, { what: 'trip 1', by: 'world', expects: ['alarm burglary_perimeter active 1'] }),
  deed(3, { what: 'rest 1', by: 'world', expects: ['alarm burglary_perimeter restored 1'] }),
  deed(4, {
    ...{ what: 'disarm', by: 'http', code: 'right' },
    expects: ['alarm burglary_perimeter cancelled 1', 'arming disarmed active -'],
  }),
];
const history: History = { deeds, faults: [], orders: [], answers: [], unseen: [] };

function deed(second: number, of: Omit<Deed, 'partition' | 'from' | 'to'>): Deed {
  return { partition: 'p1', from: at(second), to: at(second) + 500, ...of };
}

/** The event of a key, such as `alarm fire active 1`. */
function accepted(seq: number, key: string, more: Partial<SiteEvent> = {}): Accepted {
  const [group, kind = '', status, zone = '-'] = key.split(' ');
  const event_id = `00000000-0000-4000-8000-${String(seq).padStart(12, '0')}`;
  const payload = {
    ...{ event_id, event_type: kind, kind, class: group, status, partition: 'p1', seq, source: 'test' },
    ...(zone !== '-' && { zone }),
    at: new Date(at(seq)).toISOString(),
    data: { version: 1, epoch: 1, clock: 'synced' },
    ...more,
  } as SiteEvent;
  const times = { event_time: payload.at, sent_at: payload.at };
  const pictured = group === 'alarm' && status === 'active';
  return {
    ...{ event_id, seq, try_count: 1, identical: true, arrived_at: payload.at },
    body: {
      ...{ event_id, event_type: String(group), event_status: String(status), ...times, payload },
      ...{ upload_snapshot_count: pictured ? 1 : 0, should_signal_to_monitoring_center: pictured },
    },
  };
}

const record = deeds.flatMap(({ expects }) => expects).map((key, index) => accepted(index + 1, key));
const uploads: readonly Upload[] = record
  .filter(({ body }) => body.upload_snapshot_count > 0)
  .map(({ event_id }) => ({
    ...{ event_id, kind: 'snapshot', index: 0, bytes: 20_000, sha256: '', authorization_sent: false },
  }));
const whole: Evidence = {
  record,
  uploads,
  seen: [],
  steps: [{ from: 0, offsetMs: 0 }],
  answers: new Map(),
  trail: [],
  gaveWay: new Set(),
};
const wrongs = (of: Partial<History>, evidence: Partial<Evidence>): readonly Wrong[] =>
  judge({ ...history, ...of }, { ...whole, ...evidence }).violations.map(({ wrong }) => wrong);
/** With these events after all others. */
const plus = (...more: readonly Accepted[]) => ({ record: [...record, ...more] });
const without = (seq: number) => record.filter((one) => one.seq !== seq);
const entry = (of: Accepted, media: object[]) =>
  ({ event: of.body.payload, delivery: 'delivered', media }) as unknown as EventEntry;

describe('the judge of a run', () => {
  it('finds nothing wrong with what was done', () => {
    expect(judge(history, whole).violations).toEqual([]);
    expect(judge(history, whole).pictures).toMatchObject({ announced: 1, arrived: 1 });
  });

  it('takes what may come anywhere in any place, but neither not at all nor twice', () => {
    const restored = 'alarm burglary_perimeter restored 1';
    const panels = deeds
      .filter(({ what }) => what !== 'rest 1')
      .map((one) => (one.what === 'disarm' ? { ...one, anywhere: [restored] } : one));
    const [armed, active, , cancelled, disarmed] = record.map(({ body }) => {
      const { class: group, kind, status, zone = '-' } = body.payload;
      return `${group} ${kind} ${status} ${zone}`;
    });
    const judged = (...keys: readonly (string | undefined)[]) =>
      wrongs({ deeds: panels }, { record: keys.map((key, index) => accepted(index + 1, String(key))) });
    expect(judged(armed, active, restored, cancelled, disarmed)).toEqual([]);
    expect(judged(armed, active, cancelled, disarmed, restored)).toEqual([]);
    expect(judged(armed, active, cancelled, disarmed)).toEqual(['lost']);
    expect(judged(armed, active, restored, cancelled, disarmed, restored)).toEqual(['doubled']);
    expect(judged(armed, active, restored, disarmed, cancelled)).toEqual(['order']);
  });

  it('finds each event that is lost', () => {
    for (const { seq } of record) expect(wrongs({}, { record: without(seq) })).toContain('lost');
    const seen = [{ at: at(9), event: accepted(9, 'trouble comm_fail active -').body.payload }];
    expect(wrongs({}, { seen })).toEqual(['lost']);
    expect(wrongs({ unseen: ['p1: arming disarmed active -'] }, {})).toEqual(['lost']);
    expect(wrongs({}, plus(accepted(9, 'trouble events_lost active -')))).toEqual(['lost']);
  });

  it('finds what is there twice: as a second event, under one id, or under one number', () => {
    expect(wrongs({}, plus(accepted(9, 'alarm burglary_perimeter restored 1')))).toEqual(['doubled']);
    const again = { ...accepted(9, 'alarm burglary_perimeter active 1') };
    expect(
      wrongs({}, { ...plus(again), uploads: [{ ...uploads[0], event_id: again.event_id } as Upload, ...uploads] }),
    ).toEqual(['doubled']);
    const [first] = record;
    if (first === undefined) throw new Error('no record');
    expect(wrongs({}, plus(first))).toContain('doubled');
    const other = accepted(9, 'camera person active -');
    const shared = { ...other, body: { ...other.body, payload: { ...other.body.payload, seq: 1 } } };
    expect(wrongs({}, plus(shared))).toContain('doubled');
  });

  it('finds what nobody did', () => {
    expect(wrongs({}, plus(accepted(9, 'alarm fire restored 3')))).toEqual(['invented']);
    expect(wrongs({}, plus(accepted(9, 'arming armed_night active -')))).toEqual(['invented']);
    expect(wrongs({}, plus(accepted(9, 'alarm fire restored 3', { partition: 'p9' })))).toEqual(['invented']);
    const trouble = plus(accepted(9, 'trouble comm_fail active -'));
    expect(wrongs({}, trouble)).toEqual(['invented']);
    expect(wrongs({ faults: [{ what: 'line cut', from: at(1), to: at(2) }] }, trouble)).toEqual([]);
    const sync = plus(accepted(9, 'trouble arming_sync active -'));
    for (const [what, found] of [
      ['clock wrong', []],
      ['time passes', []],
      ['token revoked', ['invented']],
      ['slow cloud', ['invented']],
    ] as const)
      expect(wrongs({ faults: [{ what, from: at(1), to: at(2) }] }, sync), what).toEqual(found);
  });

  describe('lets what has the lane of the alarms go alone after three seconds, and no sooner', () => {
    const began = 'system entry_delay_started active 1';
    /** Decided at second 6, and the fourth accepted one; the disarming, of number 5, comes after it. */
    function waited(
      seconds: number,
      of: { key?: string; evidence?: Partial<Evidence>; more?: Partial<SiteEvent> } = {},
    ) {
      const { key = began, evidence = {}, more = {} } = of;
      const entry = accepted(6, key, more);
      const early = { ...entry, seq: 4, arrived_at: new Date(at(6 + seconds)).toISOString() };
      const late = record.flatMap((one) => (one.seq >= 4 ? [{ ...one, seq: one.seq + 1 }] : [one]));
      const told = deed(5, { what: 'trip 1', by: 'world', expects: [key] });
      return wrongs({ deeds: [...deeds, told] }, { record: [...late, early], ...evidence });
    }
    const stamped = (second: number) => ({ at: new Date(at(second)).toISOString() });
    const steps = (...of: [second: number, offsetS: number][]) => ({
      steps: [{ from: 0, offsetMs: 0 }, ...of.map(([second, s]) => ({ from: at(second), offsetMs: s * 1000 }))],
    });
    const hour = 3600;

    it('by the clock of the machine', () => {
      expect(waited(3)).toEqual([]);
      expect(waited(2)).toEqual(['order']);
      expect(waited(3, { key: 'arming armed_away active -' })).toEqual(['order']);
    });

    it.each([
      ['forwards', hour],
      ['back', -hour],
    ])('though the clock of siteward is set %s while it waits', (_, offset) => {
      const evidence = steps([7, offset]);
      expect(waited(3, { evidence })).toEqual([]);
      expect(waited(2, { evidence })).toEqual(['order']);
    });

    it.each([
      ['ahead', hour],
      ['behind', -hour],
    ])('though the clock of siteward is %s when it is decided, and is put right while it waits', (_, offset) => {
      const of = { evidence: steps([5, offset], [7, 0]), more: stamped(6 + offset) };
      expect(waited(3, of)).toEqual([]);
      expect(waited(2, of)).toEqual(['order']);
    });

    it('by the shorter wait where the clock showed its time twice', () => {
      // At second 8 it showed second 6 again.
      expect(waited(4, { evidence: steps([7, -2], [9, 0]) })).toEqual(['order']);
      expect(waited(5, { evidence: steps([7, -2], [9, 0]) })).toEqual([]);
    });

    it('by when the LAN saw it where its own time tells nothing', () => {
      const seen = (second: number, more: Partial<SiteEvent>) => ({
        evidence: { seen: [{ at: at(second), event: accepted(6, began, more).body.payload }] },
        more,
      });
      // Told late with the time of long ago, and one that the clock never showed.
      for (const more of [{ ...stamped(2), late: true as const }, stamped(hour)]) {
        expect(waited(3, seen(6, more))).toEqual([]);
        expect(waited(3, seen(7, more))).toEqual(['order']);
        expect(waited(3, { more })).toEqual(['order']);
      }
    });
  });

  it('finds what is out of order: numbered so, or accepted so', () => {
    const swapped = record.map((one) => {
      const seq = { 2: 3, 3: 2 }[one.seq];
      return seq === undefined ? one : { ...one, body: { ...one.body, payload: { ...one.body.payload, seq } } };
    });
    expect(wrongs({}, { record: swapped })).toContain('order');
    const late = record.map((one) => (one.seq === 1 ? { ...one, seq: 99 } : one));
    expect(wrongs({}, { record: late })).toEqual(['order']);
  });

  it('finds a disarming nobody with the right code asked for', () => {
    expect(wrongs({}, plus(accepted(9, 'arming disarmed active -')))).toEqual(['false disarm']);
    const given = (more: Partial<Deed>) => [...deeds.slice(0, 3), { ...(deeds[3] as Deed), ...more }];
    expect(wrongs({ deeds: given({ code: 'wrong' }) }, {})).toEqual(['false disarm']);
    expect(wrongs({ deeds: given({ by: 'schedule', code: 'wrong' }) }, {})).toEqual(['false disarm']);
    const order = { partition: 'p1', verb: 'disarm' };
    expect(wrongs({ orders: [{ ...order, at: at(4) + 100 }] }, {})).toEqual([]);
    expect(wrongs({ orders: [{ ...order, at: at(2) }] }, {})).toEqual(['false disarm']);
  });

  it('finds a picture that is neither there nor excused, and an alarm that announces none', () => {
    const alarm = record[1] as Accepted;
    expect(wrongs({}, { uploads: [] })).toEqual(['picture']);
    const failed = { kind: 'snapshot', index: 0, camera: 'yard', state: 'failed' };
    expect(wrongs({}, { uploads: [], trail: [entry(alarm, [failed])] })).toEqual(['picture']);
    const excused = judge(history, {
      ...whole,
      uploads: [],
      trail: [entry(alarm, [{ ...failed, reason: 'no camera' }])],
    });
    expect(excused.violations).toEqual([]);
    expect([...excused.pictures.excused]).toEqual([['no camera', 1]]);
    const planned = { ...failed, state: 'planned' };
    const gaveWay = new Set([alarm.event_id]);
    expect(wrongs({}, { uploads: [], trail: [entry(alarm, [planned])] })).toEqual(['picture']);
    expect(wrongs({}, { uploads: [], trail: [entry(alarm, [planned])], gaveWay })).toEqual([]);
    expect(wrongs({}, { uploads: [], gaveWay })).toEqual(['picture']);
    const none = record.map((one) =>
      one === alarm ? { ...one, body: { ...one.body, upload_snapshot_count: 0 } } : one,
    );
    expect(wrongs({}, { record: none })).toEqual(['picture']);
    expect(wrongs({}, { uploads: uploads.map((one) => ({ ...one, authorization_sent: true })) })).toEqual(['picture']);
  });

  it('finds a repeat with other contents', () => {
    expect(wrongs({}, { record: record.map((one) => ({ ...one, identical: one.seq !== 3 })) })).toEqual(['changed']);
  });

  it('finds an answer to a verification that is not what was said', () => {
    const answers = [{ verification_id: 'v1', action: 'dispatch' }];
    const recorded = (action: string | null) => ({ answers: new Map([['v1', action]]) });
    expect(wrongs({ answers }, recorded('dispatch'))).toEqual([]);
    expect(wrongs({ answers }, recorded(null))).toEqual(['lost']);
    expect(wrongs({ answers }, {})).toEqual(['lost']);
    expect(wrongs({ answers }, recorded('disregard'))).toEqual(['changed']);
    expect(wrongs({}, recorded('dispatch'))).toEqual(['invented']);
    expect(wrongs({}, recorded(null))).toEqual([]);
  });

  it('lets a device say anew what lasts once for each end of the daemon, and no more', () => {
    const saying = deeds.map((one) => (one.what === 'trip 1' ? { ...one, saysAnew: true } : one));
    const extra = (seq: number) => accepted(seq, 'alarm burglary_perimeter restored 1');
    const faults = [{ what: 'killed', from: at(2) + 100, to: at(2) + 900 }];
    expect(wrongs({ deeds: saying }, plus(extra(9)))).toEqual(['doubled']);
    expect(wrongs({ deeds: saying, faults }, plus(extra(9)))).toEqual([]);
    expect(wrongs({ deeds: saying, faults }, plus(extra(9), extra(10)))).toEqual(['doubled']);
    expect(wrongs({ deeds, faults }, plus(extra(9)))).toEqual(['doubled']);
  });
});
