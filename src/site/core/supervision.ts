import {
  bridgeItself,
  type DeviceRef,
  type SitePlan,
  type Stamp,
  type TroubleKind,
  type ZoneNumber,
} from '#site/model/index.ts';
import { deviceName, localEvent } from './events.ts';
import { after, clearTimer, now, setTimer, since } from './timers.ts';
import {
  isApartKey,
  keptTrouble,
  keyOf,
  setTrouble,
  showTrouble,
  type Trouble,
  tellTrouble,
  togetherKey,
} from './trouble.ts';
import type { Evidence, TimerState, TroubleState, WatchState } from './types.ts';
import { change, own, type Work, without } from './work.ts';

/** What stands for a plan that says nothing: three losses within ten minutes, over after ten quiet ones. */
const usual = { changes: 3, windowMs: 600_000, quietMs: 600_000 };
const nobody: WatchState = { begins: [] };
/**
 * Watches of conditions that are over are forgotten beyond this number, once they are older than the window. Those of a panel's own
 * numbers, which no plan bounds, are never more: the oldest gives way.
 */
const watchCap = 128;
/** A panel's troubles of one kind within the window that are told one by one; beyond it they are a storm, and told together. */
const togetherFrom = 32;
/** After a start nothing from before it is reported for this long: how the links are now is heard meanwhile. */
const startGraceMs = 10_000;

/** At least the most losses that may be asked for. */
const beginsCap = 20;
/** The battery of a detector hovers around its limit for weeks: it is reported once a day. */
const oncePerMs = (kind: TroubleKind): number => (kind === 'sensor_battery' ? 86_400_000 : 0);

/** Rules of what a bound has done; they are counted. */
export const manyTogether = 'troubles together';
export const givenWay = 'trouble given way';

const unstableRule = (plan: SitePlan) => plan.supervision?.unstable ?? usual;

const watchOf = (work: Work, key: string): WatchState => own(work.state.watches ?? {}, key) ?? nobody;

/** Whether the condition behind a trouble holds now; a trouble that is told as unstable is shown in either case. */
export function holds(work: Work, key: string): boolean {
  return watchOf(work, key).unstable?.active ?? own(work.state.troubles, key) !== undefined;
}

/** How long a loss may last before it is reported, milliseconds. It is shown at once. */
function reportAfterMs(plan: SitePlan, kind: TroubleKind, source: DeviceRef): number {
  const ms = plan.supervision?.reportAfterMs;
  if (ms === undefined) return 0;
  if (kind === 'comm_fail') return source.id === bridgeItself.id && source.kind === 'bridge' ? ms.cloud : 0;
  if (kind === 'broker_offline') return ms.broker;
  if (kind === 'panel_offline') return ms.panel;
  if (kind === 'device_offline') return ms.camera;
  return kind === 'ac_loss' ? ms.acLoss : 0;
}

/**
 * A condition of a link, a device or its surroundings has come or gone. It is shown at once, and
 * reported when it has lasted (`reportAfterMs`), with the time it began. One that comes and goes `changes` times within
 * the window is reported once as unstable, and its end after a quiet time; until then it is only counted. Repeats
 * change nothing (I1). Alarms never come this way.
 */
export function conditionChanged(work: Work, said: Change): void {
  const trouble = holds(work, keyOf(said)) ? said : together(work, said);
  const key = keyOf(trouble);
  const watch = watchOf(work, key);
  if (holds(work, key) === trouble.active) {
    if (trouble.active && trouble.urgent === true && watch.waiting !== undefined) report(work, key, trouble.detail);
  } else if (watch.unstable !== undefined) count(work, key, watch, trouble);
  else if (trouble.active) begins(work, key, watch, trouble);
  else ends(work, key, watch, trouble);
}

interface Change extends Trouble {
  readonly urgent?: boolean | undefined;
  /** It is one of many, which began then. */
  readonly storm?: WatchState['begins'] | undefined;
}

/**
 * The number of a panel's trouble is the panel's own, and without a key anybody's: beyond `togetherFrom` within the window those of one
 * kind are one unstable trouble without a number, until they are quiet. A zone is one of the plan, and there are not many codes.
 */
function together(work: Work, trouble: Change): Change {
  if (trouble.apart === undefined || trouble.zone !== undefined) return trouble;
  const { windowMs } = unstableRule(work.plan);
  const key = togetherKey(trouble);
  const known = watchOf(work, key).begins.filter((from) => isWithin(since(work.at, from), windowMs));
  if (trouble.active) setWatch(work, key, { begins: [...known, now(work.at)].slice(-togetherFrom) });
  if (known.length < togetherFrom) return trouble;
  work.rules.add(manyTogether);
  const detail = `more than ${togetherFrom} of this kind, no longer told one by one`;
  return { ...trouble, reported: undefined, apart: undefined, storm: known, detail };
}

/** A condition whose end nobody tells: it begins and ends at once. One that holds already goes on, whatever else began it. */
export function conditionPulsed(work: Work, trouble: Trouble): void {
  if (holds(work, keyOf(trouble))) return;
  for (const active of [true, false]) conditionChanged(work, { ...trouble, active });
}

function begins(work: Work, key: string, watch: WatchState, trouble: Change): void {
  const { changes, windowMs } = unstableRule(work.plan);
  const keptMs = Math.max(windowMs, oncePerMs(trouble.kind));
  const all = [...watch.begins.filter((from) => isWithin(since(work.at, from), keptMs)), now(work.at)].slice(
    -beginsCap,
  );
  const recent = trouble.storm ?? all.filter((from) => isWithin(since(work.at, from), windowMs));
  if (recent.length >= changes) {
    becomesUnstable(work, key, recent, trouble);
    return;
  }
  const waitMs = trouble.urgent === true ? 0 : waitOf(work, trouble, watch);
  if (waitMs === 0) {
    setWatch(work, key, { begins: all });
    setTrouble(work, trouble);
    return;
  }
  showTrouble(work, trouble);
  const { detail } = trouble;
  setWatch(work, key, { begins: all, waiting: { at: work.at, ...(detail === undefined ? {} : { detail }) } });
  setTimer(work, 'lost', { trouble: key }, after(work.at, waitMs));
}

/** How long a condition that begins now waits for its report; milliseconds. */
function waitOf(work: Work, { kind, source }: Trouble, { begins }: WatchState): number {
  const last = begins.at(-1);
  const restMs = last === undefined ? 0 : oncePerMs(kind) - since(work.at, last);
  return Math.max(reportAfterMs(work.plan, kind, source), Math.min(restMs, oncePerMs(kind)));
}

function becomesUnstable(work: Work, key: string, begun: WatchState['begins'], trouble: Trouble): void {
  work.rules.add('supervision');
  const { windowMs, quietMs } = unstableRule(work.plan);
  const changes = begun.length;
  setWatch(work, key, { begins: [], unstable: { since: now(work.at), changes, changedAt: work.at, active: true } });
  showTrouble(work, trouble, { unstable: true });
  const detail = `unstable: lost ${changes} times within ${minutes(windowMs)}, counted from now on`;
  tellTrouble(work, trouble, {
    detail: trouble.detail === undefined ? detail : `${detail}; ${trouble.detail}`,
    evidence: [{ unstable: true, losses: changes, window_s: windowMs / 1000 }],
  });
  setTimer(work, 'steady', { trouble: key }, after(work.at, quietMs));
}

function count(work: Work, key: string, watch: WatchState, { active, detail }: Trouble): void {
  const { unstable } = watch;
  if (unstable === undefined) return;
  const changes = unstable.changes + (active ? 1 : 0);
  setWatch(work, key, { ...watch, unstable: change(unstable, { active, changes, changedAt: work.at, detail }) });
}

function ends(work: Work, key: string, watch: WatchState, trouble: Trouble): void {
  const begun = watch.begins.at(-1);
  if (watch.waiting === undefined) {
    setTrouble(work, trouble, begun === undefined ? {} : { evidence: lasted(work, begun) });
  } else {
    clearTimer(work, 'lost', { trouble: key });
    showTrouble(work, trouble);
    shortOutage(work, trouble, watch.waiting.at);
  }
  setWatch(work, key, watch.begins.length === 0 ? nobody : { begins: watch.begins });
}

/** Too short to be reported; the site's own history has it. */
function shortOutage(work: Work, { kind, source, zone }: Trouble, at: Stamp): void {
  const s = Math.max(0, Math.round(since(work.at, at) / 1000));
  const where = { ...(zone === undefined ? {} : { zone }), source: deviceName(source) };
  localEvent(work, { class: 'system', kind: 'short_outage', ...where, at, detail: `${kind}, over after ${s} s` });
}

/** The condition has lasted: it is reported with the time it began. */
function report(work: Work, key: string, detail?: string): void {
  const { waiting, begins } = watchOf(work, key);
  const entry = own(work.state.troubles, key);
  if (waiting === undefined || entry === undefined) return;
  clearTimer(work, 'lost', { trouble: key });
  setWatch(work, key, { begins });
  tellTrouble(work, { ...keptTrouble(entry), active: true }, { at: waiting.at, detail: detail ?? waiting.detail });
}

/** A timer of a watched condition has come to its end. */
export function watchTimerEnded(work: Work, timer: TimerState): void {
  const key = timer.trouble;
  if (key === undefined) return;
  if (timer.kind === 'lost') report(work, key);
  if (timer.kind === 'steady') quietFor(work, key);
}

/** The end of the quiet time, or a later one when something happened meanwhile. */
function quietFor(work: Work, key: string): void {
  const { unstable } = watchOf(work, key);
  const entry = own(work.state.troubles, key);
  if (unstable === undefined || entry === undefined) {
    setWatch(work, key, nobody);
    return;
  }
  const { changedAt, changes, active } = unstable;
  const { quietMs } = unstableRule(work.plan);
  // A change of an earlier boot: the timer was resumed with this one, and nothing has changed since.
  const leftMs = changedAt.boot === work.at.boot ? quietMs - since(work.at, changedAt) : 0;
  if (leftMs > 0) {
    setTimer(work, 'steady', { trouble: key }, after(work.at, leftMs));
    return;
  }
  work.rules.add('supervision');
  const trouble = { ...keptTrouble(entry), active };
  const evidence = [{ unstable: false, losses: changes, ...seconds('unstable_s', work, unstable.since) }];
  const detail = `${active ? 'lost and steady' : 'back and steady'} after ${changes} losses`;
  showTrouble(work, trouble);
  if (active) setWatch(work, key, { begins: [now(changedAt)] });
  else setWatch(work, key, nobody);
  tellTrouble(work, trouble, { at: changedAt, detail, evidence });
}

/**
 * Ends the troubles of devices and zones that are no longer in the plan: nobody would ever end them otherwise, and the
 * cloud would show them for good.
 */
export function endOrphans(work: Work): void {
  for (const [key, entry] of Object.entries(work.state.troubles)) {
    const { source, zone } = entry;
    if (isInPlan(work.plan, source, zone)) continue;
    const detail =
      zone === undefined ? 'no longer in the configuration' : `zone ${zone} is no longer in the configuration`;
    endKept(work, key, entry, detail);
  }
}

/** Ends a trouble whose end nobody will tell. */
export function endKept(work: Work, key: string, entry: TroubleState, detail: string): void {
  const { waiting } = watchOf(work, key);
  for (const timer of ['lost', 'steady'] as const) clearTimer(work, timer, { trouble: key });
  setWatch(work, key, nobody);
  const trouble = { ...keptTrouble(entry), active: false };
  showTrouble(work, trouble);
  if (waiting === undefined) tellTrouble(work, trouble, { detail });
}

function isInPlan(
  { cameras, panels, nvrs, speakers = [], zones }: SitePlan,
  source: DeviceRef,
  zone: ZoneNumber | undefined,
): boolean {
  if (zone !== undefined && !zones.some(({ number }) => number === zone)) return false;
  if (source.kind === 'camera') return cameras.some(({ id }) => id === source.id);
  if (source.kind === 'speaker') return speakers.includes(source.id);
  const known = source.kind === 'panel' ? panels : source.kind === 'nvr' ? nvrs : undefined;
  return known === undefined || known.includes(source.id);
}

/** How much longer a condition from before a start waits; milliseconds. */
export function watchLeftMs(work: Work, timer: TimerState, leftMs: number): number {
  if (timer.trouble === undefined) return leftMs;
  return Math.max(leftMs, Math.min(startGraceMs, longestWatchMs(work, timer)));
}

/** The whole length of a watch's timer; milliseconds. */
export function longestWatchMs(work: Work, timer: TimerState): number {
  const entry = timer.trouble === undefined ? undefined : own(work.state.troubles, timer.trouble);
  if (entry === undefined) return 0;
  if (timer.kind === 'steady') return unstableRule(work.plan).quietMs;
  return Math.max(reportAfterMs(work.plan, entry.trouble, entry.source), oncePerMs(entry.trouble));
}

function setWatch(work: Work, key: string, watch: WatchState): void {
  const watches = work.state.watches ?? {};
  if (watch === nobody) {
    if (own(watches, key) !== undefined) work.state = { ...work.state, watches: without(watches, key) };
    return;
  }
  const kept = Object.keys(watches).length < watchCap ? watches : withoutOld(work, watches);
  // The one that changed last stands last.
  work.state = { ...work.state, watches: { ...without(kept, key), [key]: watch } };
}

function withoutOld(work: Work, watches: Readonly<Record<string, WatchState>>): Readonly<Record<string, WatchState>> {
  const { windowMs } = unstableRule(work.plan);
  const isOpen = ([key, { unstable, waiting }]: [string, WatchState]) =>
    unstable !== undefined || waiting !== undefined || own(work.state.troubles, key) !== undefined;
  const isRecent = ([key, { begins }]: [string, WatchState]) => {
    const keptMs = key.startsWith('sensor_battery|') ? Math.max(windowMs, oncePerMs('sensor_battery')) : windowMs;
    return begins.some((from) => isWithin(since(work.at, from), keptMs));
  };
  const kept = Object.entries(watches).filter((one) => isOpen(one) || isRecent(one));
  const over = kept.filter((one) => isApartKey(one[0]) && !isOpen(one)).map(([key]) => key);
  const gone = new Set(over.slice(0, Math.max(0, over.length - watchCap + 1)));
  if (gone.size > 0) work.rules.add(givenWay);
  return Object.fromEntries(kept.filter(([key]) => !gone.has(key)));
}

/** A beginning that seems to be ahead belongs to a clock that was set back; it does not count. */
const isWithin = (ms: number, windowMs: number): boolean => ms >= 0 && ms < windowMs;

const minutes = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000} min` : `${Math.round(ms / 1000)} s`);

const lasted = (work: Work, from: WatchState['begins'][number]): Evidence[] => {
  const known = seconds('lasted_s', work, from);
  return Object.keys(known).length === 0 ? [] : [known];
};

/** Only within one boot: across boots no clock can tell how long something took. */
function seconds(name: string, { at }: Work, from: { readonly boot: string; readonly mono: number }): Evidence {
  return from.boot === at.boot ? { [name]: Math.max(0, Math.round((at.mono - from.mono) / 1000)) } : {};
}
