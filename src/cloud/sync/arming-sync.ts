import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ArmingStatusForm } from '#cloud/contract/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Part } from '#lib/health.ts';
import { nameUuid } from '#lib/uuid.ts';
import { withDeadline } from '#lib/wait.ts';
import {
  type BridgeNews,
  keptOf,
  resumeSync,
  type SyncAction,
  type SyncInput,
  type SyncState,
  startSync,
  syncStep,
  syncTimings,
} from '#site/core/index.ts';
import { bridgeTrouble, type Command, type CommandResult, type Signal, type SiteView } from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';
import { createKeeper } from './kept.ts';
import { localChanges } from './local-status.ts';
import { syncMetrics } from './metrics.ts';
import { type Place, readStatus, type StatusCalls, writeStatus } from './requests.ts';
import { type ArmingSyncShown, complaintText, shownOf, syncHealth } from './shown.ts';
import type { StandingPort } from './site-standing.ts';
import { createSteps } from './steps.ts';

/** The site as the sync needs it; `daemon.ts` fills it in. */
export interface SyncPort {
  view(): SiteView;
  submit(command: Command, reply: (result: CommandResult) => void): void;
  tell(news: BridgeNews): Promise<void>;
  signals(signals: readonly Signal[]): Promise<void>;
}

export interface ArmingSyncOptions {
  readonly api: StatusCalls;
  readonly place: Place;
  readonly form: ArmingStatusForm;
  /** Namespace of the ids of its commands. */
  readonly idSpace: string;
  /** Whether this bridge speaks for the site. One that does not only reads: two must never write the same site (I9). */
  readonly speaks: boolean;
  /** While the site is lost in the cloud nothing is read or written. */
  readonly standing?: StandingPort;
  readonly site: SyncPort;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** For tests. */
  readonly random?: () => number;
  /** Runs something after a while, and the way to take that back. For tests. */
  readonly timer?: (ms: number, run: () => void) => () => void;
}

export interface ArmingSync extends Part {
  /** Each picture of the site after a decision, in their order. */
  siteChanged(view: SiteView): void;
  /** A person changed something: the next read is due now. */
  retryNow(): void;
  /** The site was lost in the cloud, which has a trouble of its own, or is back. */
  standingChanged(isOpen: boolean): void;
  shown(): ArmingSyncShown;
}

type Bare = SyncInput extends infer I ? (I extends unknown ? Omit<I, 'at'> : never) : never;

const client = 'cloud-sync';
/** After a step that failed, until the next tick. */
const againMs = 30_000;
/** A disk that takes longer keeps the cloud from nothing. */
const keptMs = 2_000;

/**
 * Keeps site and cloud of one mind about the arming: carries the requests and commands
 * that the rules of `syncStep` ask for, one request at a time, and keeps what they must know over a restart.
 */
export function createArmingSync(options: ArmingSyncOptions): ArmingSync {
  const { clock, log, site } = options;
  const random = options.random ?? Math.random;
  const timer = options.timer ?? realTimer;
  const stopping = new AbortController();
  const keeper = createKeeper({ memory: options.memory, bootId: clock.bootId, log });
  const changes = localChanges();
  const metrics = syncMetrics(options.metrics, () => state);
  const requests = { ...options, wall: () => clock.wall(), signal: stopping.signal };
  const steps = createSteps<Bare>({ run: step, givenUp, clock, log, metrics: options.metrics });
  let state: SyncState | undefined;
  /** The newest change of the site that was not decided on. */
  let missed: Bare | undefined;
  let cancelTimer = () => {};
  let externally = false;

  const at = () => ({ mono: clock.monotonic(), wall: clock.wall(), random: random() });

  function feed(input: Bare): void {
    if (state !== undefined && !stopping.signal.aborted) steps.take(input);
  }

  /** The site tells each change once, so one that failed comes again; its `seq` tells whether it is old by then. */
  function tick(): void {
    const again = missed;
    missed = undefined;
    if (again !== undefined) feed(again);
    feed({ kind: 'tick' });
  }

  function givenUp(input: Bare): void {
    if (input.kind === 'local') missed = input;
    cancelTimer();
    cancelTimer = timer(againMs, tick);
  }

  function step(input: Bare): void {
    if (state === undefined) return;
    const before = state;
    const settings = { timings: syncTimings, external: externally || !options.speaks };
    const result = syncStep(settings, before, { ...input, at: at() } as SyncInput);
    state = result.state;
    keeper.keep(keptOf(state));
    cancelTimer();
    cancelTimer = timer(result.wakeInMs, tick);
    for (const action of result.actions) steps.guarded(() => act(action));
    if (before.complaint !== state.complaint) complained(state.complaint);
  }

  function act(action: SyncAction): void {
    if (isLost() && (action.kind === 'get' || action.kind === 'put')) unasked(action);
    else if (action.kind === 'get') void get(action.request);
    else if (action.kind === 'put') void put(action);
    else if (action.kind === 'command') command(action);
    else if (action.kind === 'conflict') conflict(action);
    else if (action.kind === 'mirrored') log.info({ cloud: action.value }, 'the cloud tells another arming status');
  }

  const isLost = () => options.standing?.isOpen() === false;

  /** As if the cloud had said it again: so the step goes on, and waits. */
  function unasked({ kind, request }: Extract<SyncAction, { kind: 'get' | 'put' }>): void {
    feed({ kind: kind === 'get' ? 'pollFailed' : 'putFailed', why: 'gone', request });
  }

  async function get(request: number): Promise<void> {
    const outcome = await readStatus(requests).catch(() => undefined);
    if (outcome === undefined) return;
    metrics.requests.inc({ method: 'get', outcome: outcome.kind === 'polled' ? outcome.value : outcome.why });
    if (outcome.kind === 'pollFailed') return feed({ ...outcome, request });
    feed({ ...outcome, request, id: idOf(outcome.value, outcome.version ?? `${clock.bootId} ${clock.monotonic()}`) });
  }

  /** The same write in the cloud gives the same command, so that the gate would know it again (C2). */
  const idOf = (value: string, version: string): string => nameUuid(options.idSpace, `${value} ${version}`);

  /** What is about to be written is on disk before it leaves: after a crash its echo is no news (C6). */
  async function put({ request, status }: Extract<SyncAction, { kind: 'put' }>): Promise<void> {
    await withDeadline(keptMs, stopping.signal, () => keeper.settled(), 'keeping what is written').catch(() => {});
    // Given up meanwhile, because the disk was slow: an old state must never follow a newer one (I8).
    if (state?.flight?.request !== request || stopping.signal.aborted) return;
    const outcome = await writeStatus(requests, status).catch(() => undefined);
    if (outcome === undefined) return;
    metrics.requests.inc({ method: 'put', outcome: outcome.kind === 'putAnswered' ? 'answered' : outcome.why });
    feed({ ...outcome, request });
  }

  function command({ id, verb, issuedAt, expiresAt }: Extract<SyncAction, { kind: 'command' }>): void {
    log.info({ verb, command_id: id }, 'the cloud changed the arming status; the site is asked to follow');
    const asked = { id, verb, issuedAt, expiresAt, source: 'cloud', client, code: 'none', bodyHash: id } as const;
    site.submit({ ...asked, partition: 'all' }, ({ final, outcome, error }) => {
      if (!final) return;
      metrics.commands.inc({ verb, outcome });
      feed({ kind: 'commanded', id, outcome, ...(error !== undefined && { code: error.code }) });
    });
  }

  function conflict({ reason, cloud, local, code }: Extract<SyncAction, { kind: 'conflict' }>): void {
    metrics.conflicts.inc({ reason });
    log.warn(
      { reason, cloud, local, code },
      'the site does not follow the cloud, which has still to be told the truth',
    );
    void site
      .tell({ kind: 'arming.conflict', reason, cloud, local, ...(code !== undefined && { code }) })
      // Only a controller that is ending refuses; its successor tells the cloud the truth all the same.
      .catch(() => {});
  }

  function complained(what: SyncState['complaint']): void {
    if (isLost()) return;
    if (what !== 'gone' && what !== 'refused') {
      tellComplaint(what);
      return;
    }
    // Where the whole site is lost, that is the trouble.
    void (options.standing?.judge() ?? Promise.resolve(true)).then((isOpen) => {
      if (isOpen && state?.complaint === what) tellComplaint(what);
    });
  }

  function tellComplaint(what: SyncState['complaint']): void {
    const detail = what === null ? 'the arming status goes both ways again' : complaintText(what);
    if (what === null) log.info(detail);
    else log.warn({ what }, detail);
    trouble(what !== null, detail);
  }

  function trouble(active: boolean, detail: string): void {
    void site.signals([bridgeTrouble('arming_sync', active, detail)]).catch(() => {});
  }

  function siteChanged(view: SiteView): void {
    if (state === undefined) return;
    externally = view.plan.securityType === 4;
    const change = changes.next(view);
    if (change !== undefined) feed({ kind: 'local', ...change, seq: nextSeq() });
  }

  /** Counts the changes of the site as the sync sees them, over restarts and over every partition. */
  let lastSeq = 0;
  function nextSeq(): number {
    lastSeq += 1;
    return lastSeq;
  }

  function retryNow(): void {
    if (state === undefined) return;
    state = { ...state, due: clock.monotonic(), putAt: 0, quietUntil: 0 };
    feed({ kind: 'tick' });
  }

  return {
    name: 'arming-sync',
    async start() {
      const kept = await keeper.load();
      lastSeq = kept?.state.local?.seq ?? 0;
      state = kept === undefined ? startSync(at(), syncTimings) : resumeSync(kept.state, at(), syncTimings, kept);
      // A trouble from before the start ends, or is told again by the first request.
      trouble(false, 'siteward was started again');
      siteChanged(site.view());
    },
    async stop() {
      cancelTimer();
      stopping.abort(new Error('the arming sync is stopping'));
      await keeper.settled();
    },
    siteChanged,
    retryNow,
    standingChanged(isOpen) {
      if (!isOpen) return trouble(false, 'the whole site is lost in the cloud, which is told as a trouble of its own');
      // What was said while it was lost is no complaint of now.
      if (state !== undefined) state = { ...state, complaint: null };
      retryNow();
    },
    shown: () => shownOf(state),
    health: () => syncHealth(state, steps.hasFailed()),
  };
}

function realTimer(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1));
  return () => clearTimeout(timer);
}
