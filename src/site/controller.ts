import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { type Health, ok, type Part } from '#lib/health.ts';
import { nameUuid } from '#lib/uuid.ts';
import { version } from '#lib/version.ts';
import { sleep } from '#lib/wait.ts';
import { createAnswers, type Reply } from './answers.ts';
import { auditNotes } from './audit-notes.ts';
import { type Added, type CommitQueue, commitQueue } from './commit-queue.ts';
import {
  adoptPlan,
  type BridgeNews,
  changesBetween,
  type Decision,
  decide,
  type Effect,
  type Input,
  initialState,
  nextRuns,
  Picture,
  plansInForce,
  type SiteState,
  siteView,
  type UpcomingRun,
  visibleDecision,
  withoutCalls,
} from './core/index.ts';
import { type NumberedEvent, numberEvents } from './events.ts';
import { inputLog } from './input-log.ts';
import { inputMetrics } from './input-metrics.ts';
import type {
  AuditDraft,
  AuditRecord,
  Changes,
  ClockQuality,
  Command,
  Lane,
  PanicCall,
  Signal,
  SitePlan,
  SiteView,
  Stamp,
} from './model/index.ts';
import type { Ports } from './ports.ts';
import { quietWrites } from './quiet-writes.ts';
import { stateSealer, unsealState } from './sealed-state.ts';
import { tellSpeakers } from './speakers.ts';
import type { Commit, GapMark, Store } from './store/index.ts';
import { timerWheel } from './timers.ts';

/** The one place where inputs meet the core. */
export interface Controller extends Part {
  /** Takes what adapters understood; resolves when what it caused is on disk, or after 2 s without a disk. */
  signals(signals: readonly Signal[]): Promise<void>;
  /** Takes what the bridge found out about itself; `reported`: the gap records it tells of. Resolves as `signals` does. */
  tell(news: BridgeNews, reported?: readonly GapMark[]): Promise<void>;
  /** `reply` is called with the first answer and, after the commit, with the final one (which may be the same). */
  submit(command: Command, reply: Reply): void;
  /** A call for help; `reply` is called once, with `done` when it is on disk, and with `failed` (BUSY) when it is not within 2 s. */
  panic(call: PanicCall, reply: Reply): void;
  view(): SiteView;
  /** Lets the schedules look at the clock; resolves as `signals` does. */
  tick(): Promise<void>;
  /** What the schedules do next, at most so many; at most 100. */
  nextRuns(count: number): readonly UpcomingRun[];
  /** Adds what no decision tells the audit log, such as a login; resolves as `signals` does. At most 64 at once. */
  audit(entries: readonly AuditDraft[]): Promise<void>;
  /** Takes a new plan between two decisions. What stayed keeps its state. */
  reconfigure(plan: SitePlan): Promise<void>;
}

/** What a decision is recorded with. */
interface Recorded {
  readonly at: Stamp;
  readonly numbered: readonly NumberedEvent[];
  readonly changes: Changes;
  readonly reported: readonly GapMark[];
  /** Nothing of the decision may be seen (safety 4). */
  readonly silent: boolean;
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
  const answers = createAnswers();
  const seal = stateSealer();
  const inForce = plansInForce();
  let plan = options.plan;
  let state: SiteState | undefined;
  let epoch = 0;
  let idSpace = options.bridgeId;
  let nextSeq = 1;
  let hidden = 0;
  let commits: CommitQueue | undefined;
  const history = inputLog({ metrics: options.metrics, version });
  const quiet = quietWrites({
    show: ({ view, changes }) => ports.publish.state(view, changes),
    write: () => add({ rows: [], arming: [] }, () => undefined).durable,
    isFailing: () => queue().failing,
    clock,
  });

  const countInput = inputMetrics(options.metrics);
  const events = new Counter({
    name: 'siteward_events_total',
    help: 'Site events by class',
    labelNames: ['class'],
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
  function apply(input: Input, reported: readonly GapMark[] = []): Promise<void> {
    const before = current();
    const decision = decide(plan, before, input);
    state = decision.state;
    const seen = visibleDecision(plan, before, { input, decision });
    // Calls for help and silent buttons show in no metric (safety 4).
    if (seen !== undefined) countInput(input.kind, decision);
    // Most ticks find nothing to do.
    if (seen !== undefined && (input.kind !== 'tick' || decision.state !== before)) history.add(plan, before, seen);
    for (const effect of decision.effects) {
      if (effect.kind === 'timer.set') timers.set(effect.timer);
      if (effect.kind === 'timer.clear') timers.clear(effect.timer);
    }
    const numbered = numberEvents({
      effects: decision.effects,
      at: input.at,
      epoch,
      idSpace,
      ...{ firstSeq: nextSeq, hidden },
      encode: ports.encode,
      log,
    });
    nextSeq += numbered.length;
    hidden += numbered.filter(({ silent }) => silent).length;
    tellSpeakers(ports.sound, { input, decision, numbered });
    const changes = changesBetween(before, decision.state);
    const silent = seen === undefined || changesNothing(seen);
    if (isRecord(decision.effects)) return commit(decision, { at: input.at, numbered, changes, reported, silent });
    if (decision.state === before) return Promise.resolve();
    return quiet.add({ view: picture(), changes });
  }

  /** A decision with something to record: one transaction of its own. */
  function commit(decision: Decision, { at, numbered, changes, reported, silent }: Recorded): Promise<void> {
    const arming = decision.effects.flatMap((effect) =>
      effect.kind === 'transition' ? [{ ...effect.record, epoch }] : [],
    );
    const audit = decision.effects.flatMap((effect) =>
      effect.kind === 'audit' ? [auditRecord(effect.entry, at, epoch)] : [],
    );
    const view = picture();
    const rows = numbered.map((entry) => entry.row);
    const records = { rows, arming, audit, reported, ...(silent && { silent }) };
    const { durable, durableIn, published } = add(records, (isDurable) => {
      publish(decision.effects, numbered, view, changes, isDurable);
      // Also when the commit comes late: what was sent from memory meanwhile is settled then.
      for (const lane of new Set(rows.map((row) => row.lane))) {
        void durableIn(lane).then(ports.delivery.wake, nothing);
      }
    });
    if (rows.length > 0) for (const effect of decision.effects) answers.saving(effect, durableIn('alarm'));
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

  /**
   * Every commit carries the newest state, and with it the quiet changes before it. A silent one leaves the lines of the input log to
   * the next, and stops being silent when quiet changes go with it (safety 4).
   */
  function add(
    { silent, ...records }: Omit<Commit, 'state' | 'inputs'>,
    show: (isDurable: (lane: Lane) => boolean) => void,
  ): Added {
    const before = quiet.take();
    const unseen = silent === true && before.isEmpty;
    const added = queue().add({
      commit: {
        ...records,
        // What fails to be written must come again after a crash, not be taken for known.
        state: seal(queue().failing ? withoutCalls(current(), answers.unsaved) : current(), epoch),
        inputs: unseen ? [] : history.take(),
        ...(unseen && { silent: true }),
      },
      publish(isDurable) {
        before?.show();
        show(isDurable);
      },
    });
    added.published.catch(() => undefined);
    before?.follow(added.published);
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
    for (const effect of effects) if (effect.kind === 'reply') answers.give(effect, isDurable('alarm'));
  }

  /** `command` effects: after the commit of what allows them, or after half a second without a disk. */
  async function sendToPanels(effects: readonly Effect[], durable: Promise<void>): Promise<void> {
    const commands = effects.filter((effect) => effect.kind === 'panel');
    if (commands.length === 0) return;
    await Promise.race([durable, sleep(commandAfterMs, abort.signal)]).catch(() => undefined);
    if (abort.signal.aborted) return;
    for (const { kind: _, ...command } of commands) ports.panels.send(command);
  }

  function queue(): CommitQueue {
    if (commits === undefined) throw new TypeError('the controller was used before it was started');
    return commits;
  }

  const numbers = () => ({ epoch, seq: nextSeq - 1 - hidden });

  /** For those to whom a change is shown; most of them look at one member of it. */
  const picture = (): SiteView => new Picture(inForce(plan, current()), current(), stamp(), numbers());

  return {
    name: 'controller',

    async start() {
      const found = store.recovery();
      epoch = found.epoch;
      idSpace = nameUuid(options.bridgeId, found.storeId);
      nextSeq = found.nextSeq;
      hidden = found.hidden;
      commits = commitQueue({ store, ...ports.delivery, log, metrics: options.metrics });
      const at = stamp();
      const stored = found.state === undefined ? undefined : unsealState(found.state, epoch, found);
      const storeLost = found.lost || (found.state !== undefined && stored === undefined);
      const first = stored === undefined ? initialState(plan, at, { storeLost }) : adoptPlan(plan, stored, at);
      state = first;
      history.begin('start', plan, first, at);
      for (const timer of Object.values(first.timers)) timers.set(timer);
      await apply({ kind: 'started', sameBoot: found.lastBoot === clock.bootId, storeLost, at });
    },

    async stop() {
      timers.stop();
      abort.abort(new SitewardError('stopped', 'the controller is stopping'));
      if (!(history.isEmpty && quiet.isEmpty) && commits !== undefined && !commits.failing)
        await add({ rows: [], arming: [] }, () => undefined).durable.catch(() => undefined);
      await commits?.stop();
    },

    async signals(signals) {
      await Promise.all(signals.map((signal) => apply({ kind: 'signal', signal, at: stamp() })));
    },

    tell: (news, reported) => apply({ ...news, at: stamp() }, reported),

    submit(command, reply) {
      answers.expect(command.client, command.id, reply);
      void apply({ kind: 'command', command, at: stamp() });
    },

    panic(call, reply) {
      answers.expectCall(call, reply);
      void apply({ kind: 'panic', call, at: stamp() });
    },

    view: () => siteView(inForce(plan, current()), current(), stamp(), numbers()),

    tick: () => apply({ kind: 'tick', at: stamp() }),

    nextRuns(count) {
      if (plan.schedules === undefined) return [];
      const memory = current().schedules?.memory;
      return nextRuns(plan.schedules, { afterWall: clock.wall(), count, ...(memory !== undefined && { memory }) });
    },

    audit(entries) {
      const at = stamp();
      const audit = entries.map((entry) => auditRecord(entry, at, epoch));
      return add({ rows: [], arming: [], audit }, () => undefined).published;
    },

    async reconfigure(next) {
      const before = current();
      const at = stamp();
      const after = adoptPlan(next, before, at);
      const drafts = auditNotes.planChanged(plan, next);
      plan = next;
      state = after;
      history.begin('plan', plan, after, at);
      const [view, changes] = [picture(), changesBetween(before, after)];
      const audit = drafts.map((draft) => auditRecord(draft, at, epoch));
      const adopted = add({ rows: [], arming: [], audit }, () => ports.publish.state(view, changes)).published;
      // Another security type takes effect now, unless something is armed; what waited in a partition that is gone is told.
      await Promise.all([adopted, apply({ kind: 'replanned', at })]);
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

/** A function made in `publish` would keep the decision and its view in memory until the disk takes them. */
const nothing = (): void => undefined;

const auditRecord = (entry: AuditDraft, at: Stamp, epoch: number): AuditRecord => ({
  ...entry,
  at_wall: at.wall,
  at_mono: at.mono,
  clock: at.clock,
  epoch,
});

/** Whether the decision must be on disk by itself: it made an event, a transition, a timer or an answer. */
const isRecord = (effects: readonly Effect[]): boolean => effects.length > 0;

/** What of a decision may be seen is neither recorded nor a change of state: without what may not, there were no commit. */
function changesNothing({ before, decision }: { readonly before: SiteState; readonly decision: Decision }): boolean {
  return !isRecord(decision.effects) && decision.state === before;
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
