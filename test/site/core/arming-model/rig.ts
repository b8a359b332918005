import {
  type CloudStatus,
  type SyncAction,
  type SyncInput,
  type SyncState,
  siteStatus,
  startSync,
  syncStep,
  syncTimings,
} from '#site/core/cloud-sync/index.ts';
import { decide, type Effect, type Input, initialState, type SiteState } from '#site/core/index.ts';
import type { ArmingSource, ArmingWord, Command, CommandResult, SitePlan, Stamp } from '#site/model/index.ts';
import { house } from '../world.ts';

type WithoutMoment<T> = T extends unknown ? Omit<T, 'at'> : never;
/** What the cloud does with one write instead of taking it. */
type PutFate = 'lost' | 'done, answer lost' | 'unsent' | 'body' | 'changed' | { readonly throttledMs: number };

/** The rules of the sync with the real core behind them and a cloud in front, on a clock that the test moves. */
export interface Rig {
  readonly cloud: {
    value: CloudStatus | 'nonsense';
    up: boolean;
    /** Whether answers say when the value was written. */
    stamps: boolean;
    /** How far its clock is ahead, milliseconds. */
    aheadMs: number;
    gone: boolean;
    throttledMs: number | undefined;
    /** What a read shows instead of the value: an old copy. */
    copy: { value: CloudStatus; writtenAt: number } | undefined;
    /** Reads are answered by a copy that is so long behind: each of them, or each second one. */
    behindMs: number;
    behindEvery: 1 | 2;
    /** Each read says that the value was written just then. */
    stampsReads: boolean;
    readonly puts: PutFate[];
  };
  readonly log: (SyncAction & { readonly ms: number })[];
  readonly results: CommandResult[];
  readonly effects: Effect[];
  sync: SyncState;
  ms: number;
  clock: Stamp['clock'];
  /** Wall clock at the beginning of the story, milliseconds. */
  wall: number;
  securityType: SitePlan['securityType'];
  word(): ArmingWord | undefined;
  pass(ms: number): void;
  /** The operator writes a value in the cloud's own page. */
  press(value: CloudStatus): void;
  /** Something that was said to be lost reaches the cloud now. */
  arrives(value: CloudStatus): void;
  keypad(verb: 'arm' | 'disarm', more?: Partial<Command>): CommandResult | undefined;
  open(zone: string, open?: boolean): void;
  restart(sync: SyncState): void;
  of<K extends SyncAction['kind']>(kind: K): readonly (Extract<SyncAction, { kind: K }> & { readonly ms: number })[];
}

const client = 'cloud-sync';
const latencyMs = 100;

/** One partition of siteward's own engine with a door, a window and a smoke detector, all closed. */
const smallHouse = (exitDelayMs: number): SitePlan => {
  const plan = house();
  return {
    ...plan,
    partitions: plan.partitions.map((partition) => ({ ...partition, exitDelayMs })),
    zones: plan.zones.filter(({ number }) => ['1', '2', '10'].includes(number)),
    cameras: [],
  };
};

export function rig(options: { readonly exitDelayMs?: number } = {}): Rig {
  const plan = smallHouse(options.exitDelayMs ?? 0);
  const boot = 'boot-1';
  let site: SiteState;
  let seq = 0;
  let wakeMs = 0;
  let writtenAt = 0;
  let commands = 0;
  const pending: { readonly ms: number; run(): void }[] = [];
  const timers = new Map<string, number>();
  const writes: { ms: number; value: CloudStatus; writtenAt: number }[] = [];

  const stamp = (): Stamp => ({ mono: 1_000_000 + self.ms, wall: self.wall + self.ms, boot, clock: self.clock });
  const moment = () => ({ mono: 1_000_000 + self.ms, wall: self.wall + self.ms, random: 0.5 });
  const later = (ms: number, run: () => void) => pending.push({ ms: self.ms + ms, run });

  function feed(input: WithoutMoment<SyncInput>): void {
    const settings = { timings: syncTimings, external: self.securityType === 4 };
    const step = syncStep(settings, self.sync, { ...input, at: moment() } as SyncInput);
    self.sync = step.state;
    wakeMs = self.ms + step.wakeInMs;
    for (const action of step.actions) {
      self.log.push({ ...action, ms: self.ms });
      if (action.kind === 'get') get(action.request);
      else if (action.kind === 'put') put(action.request, action.status);
      else if (action.kind === 'command') command(action);
    }
  }

  function get(request: number): void {
    const { cloud } = self;
    if (!cloud.up) {
      later(8000, () => feed({ kind: 'pollFailed', request, why: 'unreachable' }));
    } else if (cloud.gone) {
      later(latencyMs, () => feed({ kind: 'pollFailed', request, why: 'gone' }));
    } else if (cloud.throttledMs !== undefined) {
      const retryAfterMs = cloud.throttledMs;
      later(latencyMs, () => feed({ kind: 'pollFailed', request, why: 'throttled', retryAfterMs }));
    } else {
      later(latencyMs, () => {
        const shown = cloud.copy ?? copyOf(request);
        const stamps = cloud.stamps
          ? {
              version: String(shown.writtenAt),
              writtenAt: shown.writtenAt,
              answeredAt: self.wall + self.ms + cloud.aheadMs,
            }
          : {};
        const value = shown.value === 'nonsense' ? 'unknown' : shown.value;
        feed({ kind: 'polled', request, value, ...stamps, id: `read-${request}` });
      });
    }
  }

  function copyOf(request: number): { value: CloudStatus | 'nonsense'; writtenAt: number } {
    const { cloud } = self;
    if (cloud.stampsReads) return { value: cloud.value, writtenAt: self.wall + self.ms };
    if (cloud.behindMs === 0 || request % cloud.behindEvery !== 0) return { value: cloud.value, writtenAt };
    return writes.findLast(({ ms }) => ms <= self.ms - cloud.behindMs) ?? { value: 'disarmed', writtenAt: 0 };
  }

  function put(request: number, status: CloudStatus): void {
    const fate = self.cloud.puts.shift();
    if (!self.cloud.up || fate === 'lost' || fate === 'done, answer lost') {
      if (fate === 'done, answer lost') self.arrives(status);
      later(8000, () => feed({ kind: 'putFailed', request, why: 'lost' }));
    } else if (typeof fate === 'object') {
      later(latencyMs, () => feed({ kind: 'putFailed', request, why: 'throttled', retryAfterMs: fate.throttledMs }));
    } else if (self.cloud.gone) {
      later(latencyMs, () => feed({ kind: 'putFailed', request, why: 'gone' }));
    } else if (fate !== undefined) {
      later(latencyMs, () => feed({ kind: 'putFailed', request, why: fate }));
    } else {
      self.arrives(status);
      const stamp = { version: String(writtenAt), writtenAt };
      later(latencyMs, () => feed({ kind: 'putAnswered', request, ...(self.cloud.stamps && stamp) }));
    }
  }

  function command({ verb, id, issuedAt, expiresAt }: Extract<SyncAction, { kind: 'command' }>): void {
    core({
      kind: 'command',
      command: {
        id,
        verb,
        partition: 'all',
        issuedAt,
        expiresAt,
        source: 'cloud',
        client,
        code: 'none',
        bodyHash: id,
      },
    });
  }

  function core(input: WithoutMoment<Input>): readonly Effect[] {
    const { state, effects } = decide({ ...plan, securityType: self.securityType }, site, {
      ...input,
      at: stamp(),
    } as Input);
    site = state;
    self.effects.push(...effects);
    for (const effect of effects) {
      if (effect.kind === 'timer.set') timers.set(effect.timer.id, effect.timer.due.mono - 1_000_000);
      if (effect.kind === 'timer.clear') timers.delete(effect.timer);
    }
    for (const effect of effects) if (effect.kind === 'transition') changed(effect.record.source);
    for (const effect of effects) if (effect.kind === 'reply') answered(effect.result, effect.client);
    return effects;
  }

  function changed(source: ArmingSource): void {
    seq += 1;
    feed({ kind: 'local', status: siteStatus(Object.values(site.partitions)), seq, source });
  }

  function answered(result: CommandResult, to: string): void {
    if (to !== client) return;
    self.results.push(result);
    if (!result.final) return;
    const code = result.error?.code;
    const { commandId: id, outcome } = result;
    feed({ kind: 'commanded', id, outcome, ...(code === undefined ? {} : { code }) });
  }

  function fire(id: string): void {
    timers.delete(id);
    core({ kind: 'timer.fired', timer: id });
  }

  const self: Rig = {
    cloud: {
      value: 'disarmed',
      up: true,
      stamps: false,
      aheadMs: 0,
      gone: false,
      throttledMs: undefined,
      copy: undefined,
      behindMs: 0,
      behindEvery: 1,
      stampsReads: false,
      puts: [],
    },
    log: [],
    results: [],
    effects: [],
    sync: { ...startSync({ mono: 1_000_000, wall: 0, random: 0.5 }, syncTimings), echoes: [] },
    ms: 0,
    clock: 'synced',
    wall: Date.UTC(2026, 10, 2, 21),
    securityType: plan.securityType,
    word: () => site.partitions.p1?.state,
    pass(ms) {
      const end = self.ms + ms;
      for (;;) {
        const next = pending.reduce((a, b) => (b.ms < a.ms ? b : a), { ms: wakeMs, run: () => feed({ kind: 'tick' }) });
        const timer = [...timers].reduce((a, b) => (b[1] < a[1] ? b : a), ['', Number.POSITIVE_INFINITY]);
        if (Math.min(next.ms, timer[1]) > end) break;
        self.ms = Math.max(self.ms, Math.min(next.ms, timer[1]));
        if (timer[1] < next.ms) {
          fire(timer[0]);
        } else {
          const index = pending.indexOf(next);
          if (index >= 0) pending.splice(index, 1);
          next.run();
        }
      }
      self.ms = end;
    },
    press: (value) => self.arrives(value),
    arrives(value) {
      self.cloud.value = value;
      writtenAt = self.wall + self.ms + self.cloud.aheadMs;
      writes.push({ ms: self.ms, value, writtenAt });
    },
    keypad(verb, more = {}) {
      commands += 1;
      const id = `keypad-${commands}`;
      const issuedAt = stamp().wall;
      const effects = core({
        kind: 'command',
        command: {
          id,
          verb,
          partition: 'p1',
          issuedAt,
          source: 'lan',
          client: 'keypad',
          actor: 'u1',
          code: 'ok',
          bodyHash: id,
          ...more,
        },
      });
      return effects.flatMap((effect) => (effect.kind === 'reply' ? [effect.result] : [])).at(-1);
    },
    open: (zone, open = true) => {
      core({
        kind: 'signal',
        signal: { kind: 'zone', source: { kind: 'panel', id: 'main' }, zone, open, replay: false },
      });
    },
    restart(sync) {
      pending.length = 0;
      self.sync = sync;
      wakeMs = self.ms;
    },
    of: (kind) => self.log.filter((action) => action.kind === kind) as never,
  };
  site = initialState(plan, stamp(), { storeLost: false });
  for (const { number } of plan.zones) self.open(number, false);
  changed('engine');
  return self;
}
