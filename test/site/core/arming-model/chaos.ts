import {
  type CloudStatus,
  type KeptSync,
  keptOf,
  resumeSync,
  type SiteStatus,
  type SyncAction,
  type SyncInput,
  type SyncState,
  startSync,
  syncStep,
  syncTimings,
} from '#site/core/cloud-sync/index.ts';
import type { ArmingSource } from '#site/model/index.ts';

type WithoutMoment<T> = T extends unknown ? Omit<T, 'at'> : never;

/** What comes of one request. `late`: given up after 8 s, and a write is done all the same, so long after it was sent. */
export type Fate =
  | { readonly kind: 'answered'; readonly afterMs: number }
  | { readonly kind: 'late'; readonly ms: number }
  | { readonly kind: 'lost' | 'done, answer lost' }
  | { readonly kind: 'unsent' | 'changed' }
  | { readonly kind: 'gone' | 'refused' }
  | { readonly kind: 'nonsense' | 'other' }
  | { readonly kind: 'throttled'; readonly retryAfterMs: number };

export type Act =
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'site'; readonly status: SiteStatus; readonly source: Exclude<ArmingSource, 'cloud'> }
  | { readonly do: 'press'; readonly value: CloudStatus }
  | { readonly do: 'line'; readonly up: boolean }
  /** The next requests meet these fates, one each. */
  | { readonly do: 'fates'; readonly fates: readonly Fate[] }
  | { readonly do: 'gate'; readonly says: 'done' | 'refused' | 'nothing' }
  /** An input from before is given once more. */
  | { readonly do: 'replay'; readonly back: number }
  | { readonly do: 'restart'; readonly kept: boolean }
  | { readonly do: 'authority'; readonly external: boolean }
  /** All is well for so long, so that what is pressed after it can be a command. */
  | { readonly do: 'calm'; readonly ms: number }
  | { readonly do: 'clock'; readonly wallMs: number };

/** A command as it was given, and what really stood behind it. */
export interface Given {
  readonly value: CloudStatus;
  readonly at: number;
  /** When somebody last wrote that value in the cloud's own page; no moment if nobody ever did. */
  readonly pressedAt: number;
  readonly siteAt: number;
  /** The input it came from. */
  readonly from: SyncInput['kind'];
  readonly external: boolean;
  readonly alive: boolean;
}

export interface Outcome {
  readonly commands: readonly Given[];
  readonly puts: readonly { readonly seq: number; readonly status: CloudStatus; readonly trueStatus: SiteStatus }[];
  readonly state: SyncState;
  readonly status: SiteStatus;
  readonly cloud: CloudStatus;
  /** Rules of the machine itself that were broken. */
  readonly broken: readonly string[];
}

export interface CloudKind {
  readonly versions: boolean;
  /** Every second read shows what the cloud held so long ago. */
  readonly lagMs: number;
  /** Answers tell when the value was written and when they were made; a copy, when the copy was. */
  readonly ages?: boolean;
}

/** Far above what any stretch of quiet needs. */
const mostSteps = 200_000;

/** Runs the sync alone against a cloud, a line and a gate that do what the acts say; then heals all and keeps quiet. */
export function chaos(acts: readonly Act[], kind: CloudKind): Outcome {
  const never = Number.NEGATIVE_INFINITY;
  const commands: Given[] = [];
  const puts: { seq: number; status: CloudStatus; trueStatus: SiteStatus }[] = [];
  const broken: string[] = [];
  const given: SyncInput[] = [];
  const pressedAt: Record<CloudStatus, number> = { armed: never, disarmed: never };
  const pending: { at: number; run(): void }[] = [];
  const fates: Fate[] = [];
  let held = { value: 'disarmed' as CloudStatus, version: 0, at: 0 };
  const writes = [{ ...held, at: never }];
  let copies = 0;
  let now = 0;
  let wall = 1_800_000_000_000;
  let up = true;
  let gate: 'done' | 'refused' | 'nothing' = 'done';
  let external = false;
  let status: SiteStatus = 'disarmed';
  let seq = 1;
  let siteAt = never;
  let run = 0;
  let ids = 0;
  let dice = 1;
  let state: SyncState = { ...startSync({ mono: 0, wall, random: 0.5 }, syncTimings), echoes: [] };
  let wakeAt = 0;

  const siteStatus = () => status;
  /** Only for the jitter; a fixed sequence. */
  const random = () => {
    dice = (Math.imul(dice, 1_103_515_245) + 12_345) >>> 0;
    return dice / 4_294_967_296;
  };
  const later = (ms: number, act: () => void) => {
    const mine = run;
    pending.push({ at: now + ms, run: () => (mine === run ? act() : undefined) });
  };
  const write = (value: CloudStatus) => {
    held = { value, version: held.version + 1, at: now };
    writes.push(held);
  };
  const read = () => {
    copies += 1;
    const madeAt = copies % 2 === 0 ? now : now - kind.lagMs;
    return { ...(writes.findLast(({ at }) => at <= madeAt) ?? held), madeAt };
  };

  function feed(bare: WithoutMoment<SyncInput>): void {
    const input = { ...bare, at: { mono: now, wall: wall + now, random: random() } } as SyncInput;
    given.push(input);
    Object.freeze(state);
    const step = syncStep({ timings: syncTimings, external }, state, input);
    state = step.state;
    wakeAt = now + step.wakeInMs;
    if (!(step.wakeInMs >= 0 && step.wakeInMs < 24 * 3_600_000)) broken.push(`wakes in ${step.wakeInMs} ms`);
    if (step.actions.filter((action) => action.kind === 'get' || action.kind === 'put').length > 1) {
      broken.push('two requests at once');
    }
    if (state.echoes.length > 2) broken.push('echoes without a bound');
    for (const action of step.actions) act(action, input);
  }

  function act(action: SyncAction, input: SyncInput): void {
    if (action.kind === 'get') request(action.request);
    else if (action.kind === 'put') {
      puts.push({ seq: action.seq, status: action.status, trueStatus: status });
      request(action.request, action.status);
    } else if (action.kind === 'command') command(action, input);
  }

  function request(number: number, put?: CloudStatus): void {
    const fate: Fate = up ? (fates.shift() ?? { kind: 'answered', afterMs: 300 }) : { kind: 'lost' };
    const lost = () =>
      put === undefined
        ? feed({ kind: 'pollFailed', request: number, why: 'unreachable' })
        : feed({ kind: 'putFailed', request: number, why: 'lost' });
    const refused = (why: 'gone' | 'refused' | 'throttled', retryAfterMs = 0) =>
      put === undefined
        ? feed({ kind: 'pollFailed', request: number, why, retryAfterMs })
        : feed({ kind: 'putFailed', request: number, why, retryAfterMs });
    if (fate.kind === 'answered' || fate.kind === 'nonsense' || fate.kind === 'other') {
      const afterMs = fate.kind === 'answered' ? fate.afterMs : 300;
      later(afterMs / 2, () => {
        if (put !== undefined) write(put);
        const seen = put === undefined ? read() : { ...held, madeAt: now };
        later(afterMs / 2, () => answer(number, put, seen, fate.kind));
      });
    } else if (fate.kind === 'late') {
      later(8000, lost);
      if (put !== undefined) pending.push({ at: now + fate.ms, run: () => write(put) });
    } else if (fate.kind === 'done, answer lost') {
      if (put !== undefined) write(put);
      later(8000, lost);
    } else if (fate.kind === 'throttled') {
      later(300, () => refused('throttled', fate.retryAfterMs));
    } else if (fate.kind === 'gone' || fate.kind === 'refused') {
      later(300, () => refused(fate.kind));
    } else if (put !== undefined && (fate.kind === 'unsent' || fate.kind === 'changed')) {
      later(300, () => feed({ kind: 'putFailed', request: number, why: fate.kind }));
    } else {
      later(8000, lost);
    }
  }

  function answer(
    number: number,
    put: CloudStatus | undefined,
    seen: typeof held & { madeAt: number },
    how: string,
  ): void {
    const version = kind.versions ? { version: String(seen.version) } : {};
    if (put !== undefined) {
      const value = how === 'other' ? (put === 'armed' ? 'disarmed' : 'armed') : put;
      feed({ kind: 'putAnswered', request: number, ...(how === 'answered' ? version : { value }) });
      return;
    }
    ids += 1;
    const value = how === 'nonsense' ? 'unknown' : seen.value;
    const age = kind.ages === true ? { writtenAt: seen.at, answeredAt: seen.madeAt } : {};
    feed({ kind: 'polled', request: number, value, ...version, ...age, id: `c${ids}` });
  }

  function command(action: Extract<SyncAction, { kind: 'command' }>, input: SyncInput): void {
    const value = action.verb === 'arm' ? 'armed' : 'disarmed';
    const alive = wall + now <= action.expiresAt;
    commands.push({ value, at: now, pressedAt: pressedAt[value], siteAt, from: input.kind, external, alive });
    if (gate === 'nothing') return;
    const { id } = action;
    if (gate === 'refused' || !alive) {
      later(50, () => feed({ kind: 'commanded', id, outcome: alive ? 'refused' : 'expired', code: 'NOT_ALLOWED' }));
      return;
    }
    later(50, () => {
      status = value;
      seq += 1;
      feed({ kind: 'local', status, seq, source: 'cloud' });
      feed({ kind: 'commanded', id, outcome: 'done' });
    });
  }

  function pass(ms: number): void {
    const end = now + ms;
    // A sync that wakes without end would otherwise end the test run instead of a test.
    for (let left = mostSteps; ; left -= 1) {
      if (left === 0) throw new Error(`more than ${mostSteps} steps in ${ms} ms: ${JSON.stringify(given.slice(-3))}`);
      let first = -1;
      for (let i = 0; i < pending.length; i += 1) if (first < 0 || pending[i]!.at < pending[first]!.at) first = i;
      const due = first < 0 ? Number.POSITIVE_INFINITY : pending[first]!.at;
      const at = Math.min(due, wakeAt);
      if (at > end) break;
      now = Math.max(now, at);
      if (due <= wakeAt) pending.splice(first, 1)[0]!.run();
      else feed({ kind: 'tick' });
    }
    now = end;
  }

  function calm(ms: number): void {
    fates.length = 0;
    up = true;
    gate = 'done';
    if (external) perform({ do: 'authority', external: false });
    pass(ms);
  }

  function perform(one: Act): void {
    if (one.do === 'pass') pass(one.ms);
    else if (one.do === 'calm') calm(one.ms);
    else if (one.do === 'line') up = one.up;
    else if (one.do === 'fates') fates.push(...one.fates);
    else if (one.do === 'gate') gate = one.says;
    else if (one.do === 'clock') wall += one.wallMs;
    else if (one.do === 'press') {
      pressedAt[one.value] = now;
      write(one.value);
    } else if (one.do === 'site') {
      status = one.status;
      seq += 1;
      if (one.source !== 'engine') siteAt = now;
      feed({ kind: 'local', status, seq, source: one.source });
    } else if (one.do === 'authority') {
      external = one.external;
      feed({ kind: 'tick' });
    } else if (one.do === 'replay') {
      const old = given[given.length - 1 - one.back];
      if (old !== undefined) feed(old);
    } else {
      restart(one.kept);
    }
  }

  function restart(kept: boolean): void {
    run += 1;
    const at = { mono: now, wall: wall + now, random: random() };
    const stored = JSON.parse(JSON.stringify(keptOf(state))) as KeptSync;
    if (JSON.stringify(stored) !== JSON.stringify(keptOf(state))) broken.push('the state is not plain data');
    const { requests } = state;
    state = {
      ...(kept
        ? resumeSync(stored, at, syncTimings, { sameBoot: run % 2 === 0 })
        : startSync(at, syncTimings, external)),
      requests,
    };
    feed({ kind: 'local', status, seq, source: 'engine' });
  }

  feed({ kind: 'local', status, seq, source: 'engine' });
  for (const one of acts) perform(one);
  calm(0);
  if (siteStatus() !== 'armed' && siteStatus() !== 'disarmed')
    perform({ do: 'site', status: 'armed', source: 'engine' });
  pass(2 * 3_600_000);
  return { commands, puts, state, status, cloud: held.value, broken };
}
