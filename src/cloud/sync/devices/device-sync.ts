import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { describe, SitewardError } from '#errors.ts';
import { backoff } from '#lib/backoff.ts';
import type { Clock } from '#lib/clock.ts';
import type { Part } from '#lib/health.ts';
import { createTurn } from '#lib/turns.ts';
import { unlessAborted, wakeup } from '#lib/wait.ts';
import type { Memory } from '#site/store/index.ts';
import { closedText, type Failure, failureShown, healthOf, isGone, isLasting } from './failure.ts';
import { createHolds } from './holds.ts';
import { createKnownBook } from './known.ts';
import { deviceMetrics } from './metrics.ts';
import { type Look, lookAt } from './reader.ts';
import { sharedTurns } from './shared-turn.ts';
import { doneOf, idsOf, isSettled, leftOf, planShown } from './shown.ts';
import type { DevicePlan, DeviceSyncDone, DeviceSyncShown, HeldDevice, SyncWish, Wanted } from './types.ts';
import { isEmpty, staged, tasksOf, unheld, type Work } from './work.ts';
import { type DeviceCalls, hasWritten, newTally, nothingTold, type Site, type Tally, takenAs, write } from './write.ts';

export interface DeviceSyncOptions {
  readonly manage: DeviceCalls;
  readonly place: Site;
  /** What the cloud should know now; read anew at each look. */
  readonly wanted: () => Wanted;
  /** A room of its own: `store.memory('cloud-devices')`. */
  readonly memory: Memory;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** False: nothing is read or written by itself, at the start, in time, after `changed` or `retryNow`; only `plan` and `sync` work. Default true. */
  readonly automatic?: boolean;
  /** Whether the site is ours in the cloud (`StandingPort`): while it is not, nothing is asked of it here, and a 404 or 403 is for it to judge. */
  readonly standing?: { isOpen(): boolean; judge(): Promise<boolean> };
  /** Something was written, also by itself. */
  readonly onWritten?: (done: DeviceSyncDone) => void;
  readonly random?: () => number;
  /** For tests. */
  readonly everyMs?: number;
  readonly waits?: { readonly baseMs: number; readonly capMs: number; readonly spreadMs: number };
}

export interface DeviceSync extends Part {
  shown(): DeviceSyncShown;
  /** Reads and plans, writes nothing. Rejects with what the reading of the list rejects with (`cloud_*`), or the reason of the signal. */
  plan(signal: AbortSignal): Promise<DevicePlan>;
  /**
   * Reconciles now, and once more after what is under way.
   * Rejects with what ended it (`cloud_*`), or the reason of the signal; the work itself goes on then.
   */
  sync(signal: AbortSignal, wish?: SyncWish): Promise<DeviceSyncDone>;
  /** `wanted` gives something else now. */
  changed(): void;
  /** The line is back, or somebody has mended something. */
  retryNow(): void;
}

const hourMs = 3_600_000;
const everyMs = 6 * hourMs;
/** Between tries of what failed, and after the start: not all sites at the same moment. */
const usualWaits = { baseMs: 1_000, capMs: 300_000, spreadMs: 15_000 };
/** Where somebody must change something first, and the longest the service may ask for. */
const restMs = 900_000;
/** Several changes of the configuration are one. */
const calmMs = 500;
/** A reconciliation needs two or three; what needs more goes on later. */
const roundCap = 8;

/**
 * Keeps the devices and recorders of the site in the cloud as `wanted` says: reads, plans, writes
 * what differs, reads again. Nothing is ever deleted.
 */
export function createDeviceSync(options: DeviceSyncOptions): DeviceSync {
  const { manage, place, clock, log, random = Math.random } = options;
  const rules = options.waits ?? usualWaits;
  const periodMs = options.everyMs ?? everyMs;
  const stopping = new AbortController();
  const { signal } = stopping;
  const wakeups = wakeup();
  const inTurn = createTurn();
  const room = { memory: options.memory, of: `${place.dealerId} ${place.siteId}`, log };
  const known = createKnownBook(room);
  const holds = createHolds({ ...rules, ...room, clock, random });
  const waits = backoff({ ...rules, random, jitter: 'full' });
  let loading: Promise<void> | undefined;
  let isLoaded = false;
  let loop: Promise<void> | undefined;
  let latest: Look | undefined;
  let failure: Failure | undefined;
  let inStepAt: number | undefined;
  let wantedThen = '';
  let dueMono = 0;

  const outcomes = deviceMetrics(options.metrics, () => ({ planned: latest?.planned, held: held() }));

  async function loaded(): Promise<void> {
    loading ??= known
      .load()
      .then(() => holds.load())
      .then(() => {
        isLoaded = true;
      })
      .catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
    await loading;
  }

  async function look(): Promise<Look> {
    await loaded();
    if (options.standing?.isOpen() === false) throw new SitewardError('site_gone', closedText);
    const wanted = options.wanted();
    wantedThen = JSON.stringify(wanted);
    for (const { external_nvr_id: id, cloud_nvr_id: stated } of wanted.nvrs)
      if (stated !== undefined && known.nvrs.get(id)?.id !== stated) known.nvr(id, { ...nothingTold, id: stated });
    const found = await lookAt(wanted, { manage, place, known, signal });
    holds.keepOnly(tasksOf(found.work));
    latest = found;
    return found;
  }

  async function reconcile(tally: Tally, { again, lost }: SyncWish): Promise<void> {
    await loaded();
    if (again) holds.release();
    if (lost) letGoLost();
    for (let round = 1; ; round += 1) {
      const found = await look();
      // Asked for again in spite of having been taken.
      for (const task of tasksOf(found.work)) if (tally.taken.delete(takenAs(task))) holds.vain(task);
      const work = ready(found, again);
      if (isEmpty(work) || round > roundCap) return;
      await write(work, { manage, place, known, holds, stated, tally, wall: () => clock.wall(), signal });
    }
  }

  const stated = (id: string) =>
    options.wanted().nvrs.find(({ external_nvr_id }) => external_nvr_id === id)?.cloud_nvr_id;

  /** Recorders may be registered of which nobody knows whether they are there. */
  function letGoLost(): void {
    for (const { external_nvr_id: id } of options.wanted().nvrs)
      if (known.nvrs.get(id)?.asked === true) known.nvr(id, { ...nothingTold, doubtful: true });
  }

  function ready({ work, planned, actual }: Look, again = false): Work {
    const open = unheld(work, holds);
    const update = open.nvrs.update.filter(({ task }) => again || restOf(task.external_id) === 0);
    return staged({ ...open, nvrs: { ...open.nvrs, update } }, planned, actual);
  }

  /** How long a recorder is not changed again, milliseconds. */
  function restOf(id: string): number {
    const { changedAt = 0 } = known.nvrs.get(id) ?? {};
    const passedMs = clock.wall() - changedAt;
    return changedAt === 0 || passedMs < 0 ? 0 : Math.max(0, hourMs - passedMs);
  }

  const resting = () => (latest?.work.nvrs.update ?? []).filter(({ task }) => restOf(task.external_id) > 0);

  const held = (): readonly HeldDevice[] => [
    ...(latest?.planned.held ?? []),
    ...holds.list(),
    ...resting().map(({ task: { external_id } }) => ({
      ...{ external_id, kind: 'nvr' as const, reason: 'waiting' as const },
      message: 'it was changed less than an hour ago; the next change follows by itself',
    })),
  ];

  const turn = sharedTurns(inTurn, run);

  async function run(wish: SyncWish): Promise<DeviceSyncDone> {
    signal.throwIfAborted();
    const tally = newTally();
    try {
      await reconcile(tally, wish);
      succeeded();
    } catch (error) {
      signal.throwIfAborted();
      const isOpen = await isOpenAfter(error);
      throw failed(
        isOpen === false ? new SitewardError('site_gone', closedText, { cause: error }) : error,
        isOpen === true,
      );
    } finally {
      await keep();
      const done = doneOf(tally, shown());
      outcomes.inc({ outcome: done.shown.state });
      if (hasWritten(tally)) {
        log.info(
          { created: done.created, updated: done.updated, nvrs: done.nvrs },
          'devices were written to the cloud',
        );
        options.onWritten?.(done);
      }
      if (JSON.stringify(options.wanted()) !== wantedThen) dueMono = Math.min(dueMono, clock.monotonic() + calmMs);
      wakeups.wake();
    }
    return doneOf(tally, shown());
  }

  /** Whether the site itself is there in spite of what was answered; undefined where it is not asked for. */
  async function isOpenAfter(error: unknown): Promise<boolean | undefined> {
    if (options.standing === undefined || !(error instanceof SitewardError) || !isGone(error.code)) return undefined;
    return unlessAborted(options.standing.judge(), signal);
  }

  async function keep(): Promise<void> {
    // What could not be read yet must not be written over.
    if (!isLoaded) return;
    // The session goes on by what it knows; only a restart would know less.
    for (const book of [known, holds])
      await book.keep().catch((error: unknown) => {
        if (!signal.aborted) log.warn({ err: error }, 'what is known of the devices in the cloud cannot be kept');
      });
  }

  function succeeded(): void {
    if (failure !== undefined) log.info('the devices of the cloud are read again');
    failure = undefined;
    const isDone = latest === undefined || isEmpty(ready(latest));
    if (isDone) waits.reset();
    if (isSettled(latest?.planned, held())) inStepAt = clock.wall();
    const now = clock.monotonic();
    const moments = [
      now + periodMs * (0.8 + 0.4 * random()),
      holds.nextDue(),
      ...resting().map(({ task }) => now + restOf(task.external_id)),
      isDone ? undefined : now + waits.next(),
    ];
    dueMono = Math.min(...moments.filter((moment) => moment !== undefined));
  }

  function failed(error: unknown, isOpen: boolean): SitewardError {
    const known =
      error instanceof SitewardError ? error : new SitewardError('internal', describe(error), { cause: error });
    if (failure?.error.code !== known.code)
      log.warn(
        { reason: describe(known), code: known.code },
        'the devices of the site cannot be brought in step with the cloud',
      );
    failure = { error: known, isSiteThere: isOpen };
    const askedMs = Math.min(Number(known.facts.retry_after_ms ?? 0), restMs);
    const pauseMs = isLasting(known.code) ? restMs * (0.8 + 0.4 * random()) : Math.max(askedMs, waits.next());
    dueMono = clock.monotonic() + Math.min(pauseMs, periodMs);
    return known;
  }

  function sooner(ms: number): void {
    const at = clock.monotonic() + ms;
    if (at >= dueMono) return;
    dueMono = at;
    wakeups.wake();
  }

  async function repeat(): Promise<void> {
    for (;;) {
      const waitMs = dueMono - clock.monotonic();
      signal.throwIfAborted();
      if (waitMs > 0) await wakeups.wait(waitMs, signal);
      else await turn({}).catch(() => undefined);
    }
  }

  function shown(): DeviceSyncShown {
    const wanted = options.wanted();
    const settled = isSettled(latest?.planned, held());
    const now = latest === undefined ? 'away' : settled ? 'in_step' : 'behind';
    return {
      ...(failure === undefined ? { state: now } : failureShown(failure)),
      ...(inStepAt !== undefined && { inStepAt }),
      ids: idsOf(wanted, known),
      left: leftOf(wanted, known, latest?.planned),
      held: held(),
    };
  }

  return {
    name: 'cloud-devices',
    async start() {
      // So that it is shown before the cloud was asked; who needs it reads it again where the store is away.
      void loaded().catch(() => undefined);
      if (options.automatic === false) return;
      dueMono = clock.monotonic() + rules.spreadMs * random();
      loop ??= repeat().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'the devices are not brought in step with the cloud any more');
      });
    },
    async stop() {
      stopping.abort(new SitewardError('stopped', 'siteward is stopping'));
      await loop;
      await inTurn(async () => undefined);
    },
    shown,
    async plan(until) {
      const work = inTurn(async () => {
        signal.throwIfAborted();
        // A look tells nobody: what has changed is still to be told.
        const toldThen = wantedThen;
        const found = await look().finally(() => {
          wantedThen = toldThen;
        });
        return planShown(found, { holds, held: held(), isResting: (id) => restOf(id) > 0 });
      });
      return unlessAborted(work, until);
    },
    sync: (until, wish = {}) => unlessAborted(turn(wish), until),
    changed() {
      if (JSON.stringify(options.wanted()) !== wantedThen) sooner(calmMs);
    },
    retryNow() {
      if (shown().state !== 'in_step') sooner(0);
    },
    health: () => healthOf(shown(), failure),
  };
}
