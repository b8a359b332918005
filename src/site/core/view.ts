import {
  bridgeItself,
  type Changes,
  type DelaysLeft,
  type LinkView,
  type PartitionPlan,
  type PartitionState,
  type SitePlan,
  type SiteView,
  type Stamp,
  type TestView,
  type TroubleView,
  type ZoneNumber,
} from '#site/model/index.ts';
import { planInForce } from './authority.ts';
import { linkUp } from './link.ts';
import { isReady } from './ready.ts';
import { runningAlarms } from './running.ts';
import { shown } from './shown.ts';
import { left } from './timers.ts';
import type { SiteState, WatchState } from './types.ts';
import { armWaits, unarmedOf } from './unarmed.ts';
import { missedOf, testOf } from './walk-test.ts';
import { begin, own, periodOf, type Work } from './work.ts';
import { isDoubted } from './zone-doubt.ts';

/** What the LAN may see, in the order of the plan. Nothing silent is in it (safety 4). */
export function siteView(configured: SitePlan, state: SiteState, at: Stamp, meta: ViewNumbers): SiteView {
  const picture = new Picture(configured, state, at, meta);
  const { plan, partitions, zones, troubles, links, epoch, seq, clock, at: wall, ready, delays } = picture;
  const { leftOut, shut, tests, unarmed, armWaits: waits, alarms, doubted, authority } = picture;
  return {
    ...{ plan, partitions, zones, troubles, links, epoch, seq, clock, at: wall, ready, delays },
    ...{ leftOut, shut, tests, unarmed, armWaits: waits, alarms, doubted },
    ...(authority !== undefined && { authority }),
  };
}

export interface ViewNumbers {
  readonly epoch: number;
  readonly seq: number;
}

/**
 * As `siteView`, but each member is drawn when somebody first looks at it: to draw all of them takes ten times as long as a decision. Its
 * members are not its own, so `{ ...picture }` has few of them.
 */
export class Picture implements SiteView {
  readonly plan: SitePlan;
  readonly epoch: number;
  readonly seq: number;
  readonly clock: SiteView['clock'];
  readonly at: number;
  readonly authority?: NonNullable<SiteView['authority']>;
  readonly #work: Work;
  readonly #drawn: { -readonly [K in keyof SiteView]?: SiteView[K] } = {};

  constructor(configured: SitePlan, state: SiteState, at: Stamp, { epoch, seq }: ViewNumbers) {
    this.plan = planInForce(configured, state);
    this.epoch = epoch;
    this.seq = seq;
    this.clock = at.clock;
    this.at = at.wall;
    if (state.authority !== undefined) this.authority = state.authority;
    this.#work = begin(this.plan, state, at);
  }

  get partitions(): SiteView['partitions'] {
    this.#drawn.partitions ??= this.#partitions().map(shown);
    return this.#drawn.partitions;
  }

  get zones(): SiteView['zones'] {
    const { zones } = this.#work.state;
    this.#drawn.zones ??= this.plan.zones.flatMap(({ number }) => own(zones, number) ?? []);
    return this.#drawn.zones;
  }

  get troubles(): SiteView['troubles'] {
    this.#drawn.troubles ??= troublesOf(this.#work.state);
    return this.#drawn.troubles;
  }

  get links(): SiteView['links'] {
    this.#drawn.links ??= linksOf(this.plan, this.#work.state);
    return this.#drawn.links;
  }

  get ready(): SiteView['ready'] {
    this.#drawn.ready ??= Object.fromEntries(this.#engine().map(({ id }) => [id, isReady(this.#work, id, 'away')]));
    return this.#drawn.ready;
  }

  get delays(): SiteView['delays'] {
    this.#drawn.delays ??= delaysOf(this.#partitions(), this.#work.state.timers, this.#work.at);
    return this.#drawn.delays;
  }

  get leftOut(): NonNullable<SiteView['leftOut']> {
    const { state } = this.#work;
    this.#drawn.leftOut ??= Object.fromEntries(this.#engine().map(({ id }) => [id, periodOf(state, id).bypassed]));
    return this.#drawn.leftOut;
  }

  get shut(): NonNullable<SiteView['shut']> {
    this.#drawn.shut ??= shutOf(this.#work.state);
    return this.#drawn.shut;
  }

  get tests(): NonNullable<SiteView['tests']> {
    this.#drawn.tests ??= testsOf(this.#work);
    return this.#drawn.tests;
  }

  get unarmed(): NonNullable<SiteView['unarmed']> {
    return unarmedOf(this.#work.state);
  }

  get armWaits(): NonNullable<SiteView['armWaits']> {
    this.#drawn.armWaits ??= armWaits(this.#work);
    return this.#drawn.armWaits;
  }

  get alarms(): NonNullable<SiteView['alarms']> {
    this.#drawn.alarms ??= runningAlarms(this.#work);
    return this.#drawn.alarms;
  }

  get doubted(): NonNullable<SiteView['doubted']> {
    const { state } = this.#work;
    this.#drawn.doubted ??= this.plan.zones.filter((zone) => isDoubted(state, zone)).map(({ number }) => number);
    return this.#drawn.doubted;
  }

  /** As the core has them. */
  #partitions(): readonly PartitionState[] {
    return this.plan.partitions.flatMap(({ id }) => own(this.#work.state.partitions, id) ?? []);
  }

  #engine(): readonly PartitionPlan[] {
    return this.plan.partitions.filter(({ authority }) => authority === 'engine');
  }
}

const troublesOf = (state: SiteState): readonly TroubleView[] => [
  ...Object.entries(state.troubles).map(([key, trouble]) => troubleView(trouble, own(state.watches ?? {}, key))),
  ...unarmedTroubles(state),
];

/** One that should be armed and is not is a trouble of the site like any other. */
const unarmedTroubles = (state: SiteState): readonly TroubleView[] =>
  Object.entries(unarmedOf(state)).map(([partition, { at }]) => ({
    kind: 'fail_to_arm',
    source: bridgeItself,
    partition,
    since: at,
  }));

const troubleView = (
  { trouble, source, zone, reported, since }: SiteState['troubles'][string],
  watch: WatchState | undefined,
): TroubleView => ({
  kind: trouble,
  source,
  ...(zone === undefined ? {} : { zone }),
  ...(reported === undefined ? {} : { reported }),
  since,
  ...(watch?.unstable === undefined ? {} : { losses: watch.unstable.changes }),
});

function linkView(key: string, link: SiteState['links'][string]): LinkView {
  const colon = key.indexOf(':');
  const kind = key.slice(0, colon) as LinkView['source']['kind'];
  return {
    source: { kind, id: key.slice(colon + 1) },
    up: linkUp(link),
    ...(link.reason === undefined ? {} : { reason: link.reason }),
  };
}

/** A channel is heard while its recorder is. */
function linksOf({ cameras }: SitePlan, state: SiteState): readonly LinkView[] {
  const heard = Object.entries(state.links).map(([key, link]) => linkView(key, link));
  const channels = cameras.flatMap(({ id, nvr }) => {
    const carrier = heard.find(({ source }) => source.kind === 'nvr' && source.id === nvr);
    return carrier === undefined ? [] : [{ ...carrier, source: { kind: 'camera' as const, id } }];
  });
  return [...heard, ...channels];
}

function delaysOf(partitions: readonly PartitionState[], timers: SiteState['timers'], at: Stamp): SiteView['delays'] {
  const delays: Record<string, DelaysLeft> = {};
  for (const { id, exitEnds, entryEnds } of partitions) {
    if (exitEnds !== undefined) delays[id] = { exitLeftS: seconds(left(at, exitEnds)) };
    if (entryEnds !== undefined) delays[id] = { ...delays[id], entryLeftS: seconds(left(at, entryEnds)) };
    const abort = own(timers, `abort:${id}`);
    if (abort !== undefined) delays[id] = { ...delays[id], abortLeftS: seconds(left(at, abort.due)) };
  }
  return delays;
}

function shutOf({ timers }: SiteState): NonNullable<SiteView['shut']> {
  const shut: Record<string, ZoneNumber[]> = {};
  for (const { kind, partition, zone } of Object.values(timers)) {
    if (kind === 'swinger' && partition !== undefined && zone !== undefined)
      shut[partition] = [...(shut[partition] ?? []), zone];
  }
  return shut;
}

function testsOf(work: Work): NonNullable<SiteView['tests']> {
  const tests: Record<string, TestView> = {};
  for (const { kind, partition, due } of Object.values(work.state.timers)) {
    const test = kind === 'test' && partition !== undefined ? testOf(work, partition) : undefined;
    if (test === undefined || partition === undefined) continue;
    const missing = missedOf(work, partition, test);
    tests[partition] = { leftS: seconds(left(work.at, due)), walked: test.walked, missing };
  }
  return tests;
}

const seconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1000));

/** What a client can see changed between two states; states of one run share what did not change. */
export function changesBetween(before: SiteState, after: SiteState): Changes {
  return {
    partitions: [...new Set([...changedKeys(before.partitions, after.partitions), ...changedAsides(before, after)])],
    zones: changedKeys(before.zones, after.zones),
    troubles: before.troubles !== after.troubles || unarmedOf(before) !== unarmedOf(after),
    links: before.links !== after.links,
  };
}

/** Partitions whose abort window, left out or shut zones, walk test or failed arming changed: they show with the partition. */
function changedAsides(before: SiteState, after: SiteState): readonly string[] {
  const tested = [
    ...(before.periods === after.periods
      ? []
      : Object.keys(after.periods).filter((id) => {
          const [was, is] = [own(before.periods, id), own(after.periods, id)];
          return was?.test !== is?.test || was?.bypassed !== is?.bypassed;
        })),
    ...changedKeys(unarmedOf(before), unarmedOf(after)),
    ...changedWaits(before, after),
  ];
  if (before.timers === after.timers) return tested;
  const timers = { ...before.timers, ...after.timers };
  const changed = Object.values(timers).flatMap(({ id, kind, partition }) => {
    const isShown = kind === 'abort' || kind === 'swinger' || kind === 'test';
    return isShown && partition !== undefined && own(before.timers, id) !== own(after.timers, id) ? [partition] : [];
  });
  return [...tested, ...changed];
}

/** Partitions that a schedule begins or ceases to wait for. */
function changedWaits({ schedules: before }: SiteState, { schedules: after }: SiteState): readonly string[] {
  if (before?.waiting === after?.waiting) return [];
  const [was, is] = [before?.waiting ?? {}, after?.waiting ?? {}];
  return changedKeys(was, is).flatMap((id) => (own(is, id) ?? own(was, id))?.partition ?? []);
}

function changedKeys(
  before: Readonly<Record<string, object>>,
  after: Readonly<Record<string, object>>,
): readonly string[] {
  if (before === after) return [];
  const keys: string[] = [];
  for (const key in after) if (own(before, key) !== after[key]) keys.push(key);
  for (const key in before) if (own(after, key) === undefined) keys.push(key);
  return keys;
}
