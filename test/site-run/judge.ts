import type { EventEntry } from '#lan/http/index.ts';
import type { SiteEvent } from '#site/model/index.ts';
import type { Accepted, Upload } from '../harness/cloud.ts';
import type { SeenEvent } from '../harness/lan.ts';
import type { ClockStep } from '../harness/wall-clock.ts';
import {
  acknowledgedButLost,
  overtakers,
  type Pictures,
  picturesOf,
  repeatedOtherwise,
  sharedNumbers,
  withOurBearer,
} from '../proof/findings.ts';
import { aligned } from './align.ts';
import { type Deed, type History, keyOf } from './history.ts';

/** What the cloud and the LAN saw of a run. */
export interface Evidence {
  readonly record: readonly Accepted[];
  readonly uploads: readonly Upload[];
  readonly seen: readonly SeenEvent[];
  /** How siteward's clock was set; its first step is that of the world. */
  readonly steps: readonly ClockStep[];
  /** What the service has recorded of each request to verify an alarm. */
  readonly answers: ReadonlyMap<string, string | null>;
  /** The daemon's delivery trail: of it only the reasons count why a picture is missing, and what stays on the site. */
  readonly trail: readonly EventEntry[];
  /** See `Trail`. */
  readonly gaveWay: ReadonlySet<string>;
}

export type Wrong = 'lost' | 'doubled' | 'invented' | 'order' | 'false disarm' | 'picture' | 'changed';
export interface Violation {
  readonly wrong: Wrong;
  readonly text: string;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly pictures: Pictures;
}

/** What deeds say exactly; of all else there are rules below. */
const told: ReadonlySet<string> = new Set(['alarm', 'arming']);
/** Told to the cloud beside them, each by a deed. */
const toldKinds: ReadonlySet<string> = new Set(['entry_delay_started', 'further_zone']);
function isToldKey(key: string): boolean {
  const [of = '', kind = ''] = key.split(' ');
  return (told.has(of) && kind !== 'auto_arm_warning') || toldKinds.has(kind);
}

/** Troubles the daemon tells of its own accord, and the faults any of which explains them. */
const explains: Readonly<Record<string, readonly string[]>> = {
  // The token server refuses an assertion of another time, and without a token nothing is read or written of the arming status.
  arming_sync: ['time passes', 'clock wrong'],
  auth_failed: ['time passes', 'clock wrong'],
  clock: ['time passes', 'clock wrong'],
  comm_fail: ['line cut', 'slow cloud', 'cloud busy', 'clock wrong'],
  device_offline: ['camera rebooted', 'killed', 'power cut', 'time passes', 'clock wrong'],
  broker_offline: ['broker restarted'],
  panel_offline: ['broker restarted', 'killed', 'power cut', 'restarted'],
  storage: ['disk full', 'power cut'],
};

/** Compares what arrived with what was done. Pure: it can be given any record, and must find what is wrong with it. */
export function judge(history: History, evidence: Evidence): Verdict {
  const { record, uploads, seen, trail } = evidence;
  const pictures = picturesOf(record, uploads, trail, evidence.gaveWay);
  const violations: Violation[] = [
    ...history.unseen.map((text) => ({ wrong: 'lost' as const, text: `never seen: ${text}` })),
    ...partitionsOf(history, record).flatMap((partition) => judgePartition(partition, history, record)),
    ...ordersOf(history),
    ...troublesOf(history, record),
    ...answersOf(history, evidence),
    ...acknowledgedButLost(seen, record, trail)
      .filter((event) => event.class === 'trouble' || isToldKey(keyOf(event)))
      .map((event) => ({ wrong: 'lost' as const, text: `seen on the LAN, never in the cloud: ${nameOf(event)}` })),
    ...sharedNumbers(record).map((number) => ({ wrong: 'doubled' as const, text: `two events have number ${number}` })),
    ...twice(record),
    ...repeatedOtherwise(record).map(({ body }) => ({
      wrong: 'changed' as const,
      text: `repeated with other contents: ${nameOf(body.payload)}`,
    })),
    ...overtakers(record, evidence).map((text) => ({ wrong: 'order' as const, text })),
    ...pictures.missing.map((text) => ({ wrong: 'picture' as const, text: `neither there nor excused: ${text}` })),
    ...withOurBearer(uploads).map(({ event_id }) => ({
      wrong: 'picture' as const,
      text: `sent with a bearer: ${event_id}`,
    })),
    ...unpictured(record),
  ];
  return { violations, pictures };
}

function partitionsOf({ deeds }: History, record: readonly Accepted[]): readonly string[] {
  const all = [
    ...deeds.map(({ partition }) => partition),
    ...record.flatMap(({ body }) => body.payload.partition ?? []),
  ];
  return [...new Set(all)].sort();
}

function judgePartition(partition: string, history: History, record: readonly Accepted[]): readonly Violation[] {
  const expected = history.deeds
    .filter((deed) => deed.partition === partition)
    .flatMap((deed) => deed.expects.map((key) => ({ key, deed })))
    .filter(({ key }) => isToldKey(key));
  const came = record
    .map(({ body }) => body.payload)
    .filter((event) => event.partition === partition && isToldKey(keyOf(event)))
    .sort((a, b) => a.data.epoch - b.data.epoch || a.seq - b.seq)
    .map((event) => ({ key: keyOf(event), event }));
  const anywhere = history.deeds
    .filter((deed) => deed.partition === partition)
    .flatMap((deed) => (deed.anywhere ?? []).map((key) => ({ key, deed })));
  const isAnywhere = new Set(anywhere.map(({ key }) => key));
  const inOrder = aligned(
    expected,
    came.filter(({ key }) => !isAnywhere.has(key)),
  );
  const loose = [...isAnywhere].map((one) => {
    const ofIt = ({ key }: { readonly key: string }) => key === one;
    return aligned(anywhere.filter(ofIt), came.filter(ofIt));
  });
  const missing = [inOrder, ...loose].flatMap((one) => one.missing);
  const extra = [inOrder, ...loose].flatMap((one) => one.extra);
  const violations: Violation[] = [];
  const spare = [...missing];
  const anew = toldAnew(history);
  function mayBeAnew(key: string): boolean {
    const left = anew.get(`${partition} ${key}`) ?? 0;
    anew.set(`${partition} ${key}`, left - 1);
    return left > 0;
  }
  for (const { key, event } of extra) {
    const moved = spare.findIndex((one) => one.key === key);
    if (moved !== -1) {
      const [one] = spare.splice(moved, 1);
      violations.push({ wrong: 'order', text: `${nameOf(event)} is not where ${one?.deed.what} was` });
    } else if (event.kind === 'disarmed') {
      violations.push({ wrong: 'false disarm', text: `nobody asked for it: ${nameOf(event)} by ${event.source}` });
    } else if (!mayBeAnew(key)) {
      const isKnown = [...expected, ...anywhere].some((one) => one.key === key);
      violations.push({ wrong: isKnown ? 'doubled' : 'invented', text: nameOf(event) });
    }
  }
  for (const { key, deed } of spare)
    violations.push({ wrong: 'lost', text: `${partition} ${key}, by ${deed.what} (${deed.by})` });
  for (const { key, deed } of expected)
    if (key.startsWith('arming disarmed') && !mayDisarm(deed))
      violations.push({ wrong: 'false disarm', text: `${partition}: ${deed.what} (${deed.by}) without a right code` });
  return violations;
}

/** No schedule: the clocks of this world are set over its time. */
const mayDisarm = ({ by, code }: Deed): boolean => code === 'right' || by === 'panel';

const ended: ReadonlySet<string> = new Set(['killed', 'power cut', 'restarted', 'broker restarted']);

/** How often each alarm may be told again, as `partition key`: once for each end of the daemon while it lasted. */
function toldAnew({ faults, deeds }: History): Map<string, number> {
  const ends = faults.filter(({ what }) => ended.has(what));
  const counts = new Map<string, number>();
  for (const [at, deed] of deeds.entries()) {
    if (deed.saysAnew !== true || !deed.what.startsWith('trip ')) continue;
    const over = deeds.slice(at + 1).find(({ partition, what }) => partition === deed.partition && what === 'disarm');
    const lasted = ends.filter(({ from, to }) => to >= deed.from && from <= (over?.to ?? Number.POSITIVE_INFINITY));
    for (const key of deed.expects)
      for (const status of ['active', 'restored']) {
        const name = `${deed.partition} ${key.replace(' active ', ` ${status} `)}`;
        counts.set(name, (counts.get(name) ?? 0) + lasted.length);
      }
  }
  return counts;
}

/** A panel is told to disarm only while somebody with a code asks for it. */
function ordersOf({ orders, deeds }: History): readonly Violation[] {
  return orders
    .filter(({ verb }) => verb.startsWith('disarm'))
    .filter(
      ({ partition, at }) =>
        !deeds.some(
          (deed) =>
            deed.partition === partition &&
            deed.code === 'right' &&
            deed.what === 'disarm' &&
            deed.from <= at &&
            at <= deed.to,
        ),
    )
    .map(({ partition, at }) => ({
      wrong: 'false disarm' as const,
      text: `${partition}: its panel was told to disarm at ${new Date(at).toISOString()}, and nobody had asked`,
    }));
}

function troublesOf({ faults }: History, record: readonly Accepted[]): readonly Violation[] {
  const happened = new Set(faults.map(({ what }) => what));
  return record
    .map(({ body }) => body.payload)
    .filter((event) => event.class === 'trouble')
    .flatMap((event): Violation[] => {
      if (event.kind === 'events_lost') return [{ wrong: 'lost', text: `the site says itself: ${nameOf(event)}` }];
      const causes = explains[event.kind] ?? [];
      if (causes.some((what) => happened.has(what))) return [];
      return [{ wrong: 'invented', text: `a trouble that no fault explains: ${nameOf(event)} of ${event.source}` }];
    });
}

function answersOf({ answers }: History, evidence: Evidence): readonly Violation[] {
  const given = new Map(answers.map(({ verification_id, action }) => [verification_id, action]));
  return [...given.keys(), ...evidence.answers.keys()]
    .filter((id, at, all) => all.indexOf(id) === at)
    .flatMap((id): Violation[] => {
      const [said, recorded] = [given.get(id), evidence.answers.get(id) ?? undefined];
      if (said === recorded) return [];
      if (recorded === undefined) return [{ wrong: 'lost', text: `the answer ${said} to verification ${id}` }];
      const wrong = said === undefined ? 'invented' : 'changed';
      return [{ wrong, text: `verification ${id}: ${recorded} is recorded, ${said ?? 'nothing'} was said` }];
    });
}

/** The sandbox keeps one of each id; a record that does not is wrong, too. */
function twice(record: readonly Accepted[]): readonly Violation[] {
  const ids = new Set<string>();
  return record.flatMap(({ event_id, body }): Violation[] => {
    if (ids.has(event_id)) return [{ wrong: 'doubled', text: `twice under one id: ${nameOf(body.payload)}` }];
    ids.add(event_id);
    return [];
  });
}

/** Some camera looks at each zone, so that every alarm announces pictures. Its end has none. */
function unpictured(record: readonly Accepted[]): readonly Violation[] {
  return record
    .filter(({ body }) => body.payload.class === 'alarm' && body.payload.status === 'active')
    .filter(({ body }) => body.upload_snapshot_count === 0)
    .map(({ body }) => ({ wrong: 'picture' as const, text: `an alarm without pictures: ${nameOf(body.payload)}` }));
}

export const nameOf = (event: SiteEvent): string =>
  `${event.partition ?? 'site'} ${keyOf(event)} (${event.data.epoch}/${event.seq} at ${event.at})`;
