import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { nameUuid } from '#lib/uuid.ts';
import { sleep } from '#lib/wait.ts';
import { type Added, type CommitQueue, commitQueue } from './commit-queue.ts';
import {
  adoptPlan,
  changesBetween,
  type Decision,
  decide,
  type Effect,
  type Input,
  initialState,
  readState,
  type SiteState,
  siteView,
  writeState,
} from './core/index.ts';
import { type NumberedEvent, numberEvents } from './events.ts';
import type {
  Changes,
  ClockQuality,
  Command,
  CommandResult,
  Lane,
  Signal,
  SitePlan,
  SiteView,
  Stamp,
} from './model/index.ts';
import type { Ports } from './ports.ts';
import type { Commit, Store } from './store/index.ts';
import { timerWheel } from './timers.ts';

/** The one place where inputs meet the core. */
export interface Controller extends Part {
  /** Takes what adapters understood; resolves when what it caused is on disk, or after 2 s without a disk. */
  signals(signals: readonly Signal[]): Promise<void>;
  /** `reply` is called with the first answer and, after the commit, with the final one (which may be the same). */
  submit(command: Command, reply: (result: CommandResult) => void): void;
  view(): SiteView;
  /** Takes a new plan between two decisions. What stayed keeps its state. */
  reconfigure(plan: SitePlan): Promise<void>;
}

interface QuietBatch {
  readonly views: { readonly view: SiteView; readonly changes: Changes }[];
  readonly done: PromiseWithResolvers<void>;
}

/** A command to a panel waits at most so long for its `accepted` row. */
const commandAfterMs = 500;

/**
 * One serial loop: an input is decided at once, state advances, `protect` effects start; then the commit; then
 * publication, delivery and `command` effects, in the order of `seq`.
 */
export function createController(options: {
  plan: SitePlan;
  /** Namespace of event ids; fixed for a bridge of a site. */
  bridgeId: string;
  store: Store;
  ports: Ports;
  clock: Clock;
  quality: () => ClockQuality;
  log: Logger;
  metrics: Registry;
}): Controller {
  const { store, ports, clock, log } = options;
  const abort = new AbortController();
  const timers = timerWheel({ clock, fire: (timer) => void apply({ kind: 'timer.fired', timer, at: stamp() }) });
  const replies = new BoundedMap<string, (result: CommandResult) => void>(1000);
  let plan = options.plan;
  let state: SiteState | undefined;
  let epoch = 0;
  let idSpace = options.bridgeId;
  let nextSeq = 1;
  let commits: CommitQueue | undefined;
  /** Input log lines that ride with the next commit. */
  let inputLog: string[] = [];
  /** Changes of state that no event carries: they wait for the write under way and then share one. */
  let quiet: QuietBatch | undefined;
  let quietWriting = false;

  const inputs = new Counter({
    name: 'siteward_inputs_total',
    help: 'Inputs of the core by kind',
    labelNames: ['kind'],
    registers: [options.metrics],
  });
  const events = new Counter({
    name: 'siteward_events_total',
    help: 'Site events by class',
    labelNames: ['class'],
    registers: [options.metrics],
  });
  const logDropped = new Counter({
    name: 'siteward_input_log_dropped_total',
    help: 'Input log lines given up because no commit took them',
    registers: [options.metrics],
  });

  function stamp(): Stamp {
    return { mono: clock.monotonic(), wall: clock.wall(), boot: clock.bootId, clock: options.quality() };
  }

  function current(): SiteState {
    if (state === undefined) throw new TypeError('the controller was used before it was started');
    return state;
  }

  /** One input, from decision to publication; resolves when what it caused is on disk and shown. */
  function apply(input: Input): Promise<void> {
    const before = current();
    const decision = decide(plan, before, input);
    state = decision.state;
    inputs.inc({ kind: input.kind });
    remember(input, decision);
    for (const effect of decision.effects) {
      if (effect.kind === 'timer.set') timers.set(effect.timer);
      if (effect.kind === 'timer.clear') timers.clear(effect.timer);
    }
    const numbered = numberEvents({
      effects: decision.effects,
      at: input.at,
      epoch,
      idSpace,
      firstSeq: nextSeq,
      encode: ports.encode,
      log,
    });
    nextSeq += numbered.length;
    const changes = changesBetween(before, decision.state);
    if (isRecord(decision.effects)) return commit(decision, numbered, changes);
    if (decision.state === before) return Promise.resolve();
    return commitQuiet(changes);
  }

  /** A decision with something to record: one transaction of its own. */
  function commit(decision: Decision, numbered: readonly NumberedEvent[], changes: Changes): Promise<void> {
    const arming = decision.effects.flatMap((effect) =>
      effect.kind === 'transition' ? [{ ...effect.record, epoch }] : [],
    );
    const view = snapshotView();
    const rows = numbered.map((entry) => entry.row);
    const { durable, durableIn, published } = add({ rows, arming }, (isDurable) => {
      publish(decision.effects, numbered, view, changes, isDurable);
      // Also when the commit comes late: what was sent from memory meanwhile is settled then.
      for (const lane of new Set(rows.map((row) => row.lane))) {
        void durableIn(lane).then(ports.delivery.wake, () => undefined);
      }
    });
    for (const { row, captured } of numbered) {
      if (captured && row.media.length > 0) {
        ports.capture.capture({
          seq: row.seq,
          lane: row.lane,
          items: row.media,
          committed: durableIn(row.lane),
          ...(row.silent === true && { silent: true as const }),
        });
      }
    }
    void sendToPanels(decision.effects, durable);
    return published;
  }

  /** A change of state without an event. While nothing can be written it is shown at once and written later. */
  function commitQuiet(changes: Changes): Promise<void> {
    const view = snapshotView();
    if (quietWriting && queue().failing) {
      ports.publish.state(view, changes);
      return Promise.resolve();
    }
    quiet ??= { views: [], done: Promise.withResolvers<void>() };
    quiet.views.push({ view, changes });
    const done = quiet.done.promise;
    if (!quietWriting) writeQuiet();
    return done;
  }

  function writeQuiet(): void {
    if (quiet === undefined) return;
    quietWriting = true;
    const { durable } = add({ rows: [], arming: [] }, () => undefined);
    void durable
      .catch(() => undefined)
      .then(() => {
        quietWriting = false;
        writeQuiet();
      });
  }

  /**
   * Every commit carries the newest state and with it the quiet changes before it, so that nothing older is ever
   * shown after something newer.
   */
  function add(records: Pick<Commit, 'rows' | 'arming'>, show: (isDurable: (lane: Lane) => boolean) => void): Added {
    const batch = quiet;
    quiet = undefined;
    const added = queue().add({
      commit: { ...records, state: sealState(current(), epoch), inputs: takeInputLog() },
      publish(isDurable) {
        for (const { view, changes } of batch?.views ?? []) ports.publish.state(view, changes);
        show(isDurable);
      },
    });
    added.published.catch(() => undefined);
    if (batch !== undefined) {
      batch.done.promise.catch(() => undefined);
      added.published.then(batch.done.resolve, batch.done.reject);
    }
    return added;
  }

  /** After the commit, in order: the LAN, the answers, delivery. */
  function publish(
    effects: readonly Effect[],
    numbered: readonly NumberedEvent[],
    view: SiteView,
    changes: Changes,
    isDurable: (lane: Lane) => boolean,
  ): void {
    ports.publish.state(view, withRefused(effects, changes));
    for (const { event, silent, row } of numbered) {
      if (silent) continue;
      events.inc({ class: event.class });
      ports.publish.event(isDurable(row.lane) ? event : { ...event, data: { ...event.data, durable: false } });
    }
    crashPoint('published');
    for (const effect of effects) if (effect.kind === 'reply') answer(effect.result, effect.client);
  }

  function answer(result: CommandResult, client: string): void {
    const key = `${client} ${result.commandId}`;
    replies.get(key)?.(result);
    if (result.final) replies.delete(key);
  }

  /** `command` effects: after the commit of what allows them, or after half a second without a disk. */
  async function sendToPanels(effects: readonly Effect[], durable: Promise<void>): Promise<void> {
    const commands = effects.filter((effect) => effect.kind === 'panel');
    if (commands.length === 0) return;
    await Promise.race([durable, sleep(commandAfterMs, abort.signal)]).catch(() => undefined);
    if (abort.signal.aborted) return;
    for (const { panel, partition, action, commandId } of commands) {
      ports.panels.send({ panel, partition, action, commandId });
    }
  }

  function remember(input: Input, decision: Decision): void {
    inputLog.push(JSON.stringify({ ...input, rules: decision.rules }));
    if (inputLog.length <= 1000) return;
    inputLog = inputLog.slice(-500);
    logDropped.inc(500);
  }

  function takeInputLog(): string[] {
    const lines = inputLog;
    inputLog = [];
    return lines;
  }

  function queue(): CommitQueue {
    if (commits === undefined) throw new TypeError('the controller was used before it was started');
    return commits;
  }

  function snapshotView(): SiteView {
    return siteView(plan, current(), stamp(), { epoch, seq: nextSeq - 1 });
  }

  return {
    name: 'controller',

    async start() {
      const found = store.recovery();
      epoch = found.epoch;
      idSpace = nameUuid(options.bridgeId, found.storeId);
      nextSeq = found.nextSeq;
      commits = commitQueue({ store, direct: ports.delivery.direct, log, metrics: options.metrics });
      const at = stamp();
      const stored = found.state === undefined ? undefined : unsealState(found.state, epoch);
      const storeLost = found.lost || (found.state !== undefined && stored === undefined);
      const first = stored === undefined ? initialState(plan, at, { storeLost }) : adoptPlan(plan, stored, at);
      state = first;
      for (const timer of Object.values(first.timers)) timers.set(timer);
      await apply({ kind: 'started', sameBoot: found.lastBoot === clock.bootId, storeLost, at });
    },

    async stop() {
      timers.stop();
      abort.abort(new SitewardError('stopped', 'the controller is stopping'));
      if (inputLog.length > 0 && commits !== undefined && !commits.failing)
        await add({ rows: [], arming: [] }, () => undefined).durable.catch(() => undefined);
      commits?.stop();
    },

    async signals(signals) {
      await Promise.all(signals.map((signal) => apply({ kind: 'signal', signal, at: stamp() })));
    },

    submit(command, reply) {
      replies.set(`${command.client} ${command.id}`, reply);
      void apply({ kind: 'command', command, at: stamp() });
    },

    view: snapshotView,

    async reconfigure(next) {
      const before = current();
      const after = adoptPlan(next, before, stamp());
      plan = next;
      state = after;
      await commitQuiet(changesBetween(before, after));
    },

    health(): Health {
      const facts = { epoch, waitingRows: commits?.waitingRows ?? 0 };
      if (commits?.failing !== true && commits?.bulkFailing === true) {
        const reason = 'bulk.db takes no writes; activity is kept in memory and sent directly, alarms are stored';
        return { state: 'degraded', reason, facts };
      }
      if (commits?.failing !== true) return ok(facts);
      return {
        state: 'degraded',
        reason: 'the disk does not take writes; events are kept in memory and sent directly',
        facts,
      };
    },
  };
}

/**
 * The stored state carries the epoch it was written in. An older copy of the database that was put back has a new
 * epoch: what it says of the arming is history, and history never disarms a site (I3).
 */
const sealState = (state: SiteState, epoch: number): string => `${epoch}\n${writeState(state)}`;

function unsealState(text: string, epoch: number): SiteState | undefined {
  const end = text.indexOf('\n');
  return Number(text.slice(0, end)) === epoch ? readState(text.slice(end + 1)) : undefined;
}

/** Whether the decision must be on disk by itself: it made an event, a transition, a timer or an answer. */
function isRecord(effects: readonly Effect[]): boolean {
  return effects.length > 0;
}

/** Rule C9: a refused command shows the true state again, so that clients that switched early fall back. */
function withRefused(effects: readonly Effect[], changes: Changes): Changes {
  const refused = effects.flatMap((effect) =>
    effect.kind === 'reply' &&
    effect.result.final &&
    effect.result.error !== undefined &&
    effect.result.partition !== undefined
      ? [effect.result.partition]
      : [],
  );
  if (refused.length === 0) return changes;
  return { ...changes, partitions: [...new Set([...changes.partitions, ...refused])] };
}
