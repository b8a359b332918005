import type { Logger } from 'pino';
import { notedBackups } from '#box/backup-note.ts';
import { profileFolders } from '#box/folders.ts';
import { claimStateDir } from '#box/lock.ts';
import { otherProblems } from '#box/other-problems.ts';
import { clearKept, finishRestore, lastRestore } from '#box/restore.ts';
import {
  ConfigError,
  fixedChanges,
  formatProblem,
  keepLastGood,
  type LoadedConfig,
  loadConfig,
  loadLastGood,
  type Settings,
} from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import { systemClock } from '#lib/clock.ts';
import { createNotifier, watchdogIntervalMs } from '#lib/sd-notify.ts';
import { redactor } from '#lib/secret.ts';
import { secretSources } from '#lib/secret-ref.ts';
import type { ThreadAhead } from '#lib/thread-ahead.ts';
import { never, sleep, withDeadline } from '#lib/wait.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { watchClock } from '#site/clock-quality.ts';
import { noteIn } from './daemon/audit-wiring.ts';
import { lastReset, resetIfMarked } from './daemon/factory-reset.ts';
import { filesAnswer } from './daemon/files-answer.ts';
import type { House } from './daemon/house.ts';
import { lanPort } from './daemon/lan-port.ts';
import { oneAtATime } from './daemon/one-at-a-time.ts';
import { outboxCount } from './daemon/outbox-count.ts';
import { outboxDay } from './daemon/outbox-day.ts';
import { outboxMetrics } from './daemon/outbox-metrics.ts';
import { processMetrics } from './daemon/process-metrics.ts';
import { clearSecretFolders } from './daemon/secret-folders.ts';
import { siteSlots } from './daemon/site.ts';
import { siteLog } from './daemon/site-log.ts';
import { createSlots, type PartReport, type Slots } from './daemon/slots.ts';

const exitCodes = { ok: 0, failed: 1, config: 78 } as const;

/** SIGTERM to exit, at most; what is not done by then is picked up at the next start. */
const stopDeadlineMs = 4500;
/** The same where a disk does not return at all: well before systemd loses patience (systemd/siteward.service). */
const endAtLastMs = 15_000;
const watchdogFallbackMs = 10_000;

/**
 * The daemon: from configuration to exit code. Ready when local protection works; it waits for no network, broker or
 * cloud. SIGHUP reads the configuration again, SIGTERM and SIGINT end it.
 */
export async function runDaemon(options: {
  configPath: string;
  strict: boolean;
  storeThread?: ThreadAhead | undefined;
}): Promise<number> {
  const clock = systemClock();
  const startedMono = clock.monotonic();
  const secrets = redactor();
  const environment = { redactor: secrets, sources: secretSources() };
  const first = firstConfig(options, environment);
  if (typeof first === 'number') return first;

  let loaded: LoadedConfig = first.loaded;
  let configError = first.error;
  let isRetrying = false;
  const metrics = processMetrics();
  const { log, levels, tail } = siteLog({ level: loaded.settings.log.level, redactor: secrets, clock, metrics });
  for (const warning of loaded.warnings) log.warn({ file: loaded.file }, warning);
  if (configError !== undefined)
    log.error({ reason: configError }, 'the configuration has errors; running on the last good copy');

  const house: House = { lastPictures: new BoundedMap(256) };
  const count = outboxCount(house);
  house.outboxDay = outboxDay({ count, clock });
  outboxMetrics({ count, clock, metrics });
  const quality = watchClock({
    clock,
    log,
    onTrusted: (moment) => house.delivery?.clockTrusted(moment),
    onStep(byMs) {
      house.audio?.clockJumped(byMs);
      house.delivery?.clockStepped();
      // A certificate that was not yet valid may be now.
      house.delivery?.linkUp();
    },
  });
  const slots: Slots<Settings> = createSlots({
    slots: siteSlots(house, {
      clock,
      quality,
      log,
      count,
      settings: () => loaded.settings,
      profiles: profileFolders(options.configPath),
      storeThread: options.storeThread,
      lan: lanPort({
        house,
        count,
        log: log.child({ part: 'control' }),
        slots: { health: () => slots.health(), metrics: () => slots.metrics() },
        clock,
        uptimeMs: () => clock.monotonic() - startedMono,
        settings: () => loaded.settings,
        quality,
        logs: { log, levels, tail },
        config: () => ({
          path: options.configPath,
          ...{ lastGood: loaded.lastGood, text: loaded.text, warnings: loaded.warnings },
          error: configError,
        }),
        async reload() {
          await reloads.request();
          return { error: configError };
        },
        redactor: secrets,
        metrics,
        process: { variables: process.env, end: () => ending.end(), signal: () => ending.signal },
      }),
    }),
    processMetrics: metrics,
    log,
  });

  const notifier = createNotifier({
    variables: process.env,
    failed: (error) => log.warn({ err: error }, 'systemd could not be told'),
  });
  const ending = untilEnd(() => endAtLast(log));
  const reloads = oneAtATime(reload);
  process.on('SIGHUP', () => void reloads.request());
  try {
    const { dir } = loaded.settings.store;
    claimStateDir(dir);
    const again = () => loadConfig(options.configPath, { ...environment, unreadableSecrets: 'degrade' });
    if (await finishRestore(dir, log)) {
      loaded = again();
      configError = undefined;
    }
    const { site, store } = loaded.settings;
    const subject = { dir: store.dir, configPath: options.configPath, site: site.external_id };
    if (await resetIfMarked(subject, { log, signal: ending.signal })) {
      loaded = again();
      configError = undefined;
    }
    void clearSecretFolders(options.configPath, loaded.text);
    await slots.start(loaded.settings);
    // The newest transition on record: a box without a battery-backed clock may have woken up before it.
    for (const { at } of house.controller?.view().partitions ?? []) quality.notBefore(at);
    await tell(lastReset(store.dir), (reset) => auditNotes.wasReset(reset));
    await tell(lastRestore(store.dir), (restore) => auditNotes.restored(restore));
    await tell(notedBackups(store.dir), (backups) => auditNotes.backupsBefore(backups));
    void clearKept(store.dir, clock.wall()).catch(() => undefined);
    await keepCopy(loaded);
    log.info({ startMs: Math.round(clock.monotonic() - startedMono) }, 'ready');
    notifier.ready();
    notifier.status(statusLine(slots, configError));
    void watch(ending.signal);
    await ending.ended;
    log.info('stopping');
    notifier.stopping();
    return exitCodes.ok;
  } catch (error) {
    log.fatal({ err: error }, 'siteward cannot run');
    return exitCodes.failed;
  } finally {
    ending.end();
    const stopped = () => slots.stop().then(() => notifier.flush());
    await withDeadline(stopDeadlineMs, never(), stopped, 'stopping').catch((error: unknown) =>
      log.warn({ err: error }, 'not everything stopped in time; it is picked up at the next start'),
    );
  }

  /** A file that cannot be taken changes nothing; otherwise the parts whose settings changed are swapped. */
  async function reload(): Promise<void> {
    notifier.reloading();
    try {
      await filesAnswer(options.configPath, profileFolders(options.configPath));
      const next = loadConfig(options.configPath, { ...environment, alsoCheck: otherProblems(options.configPath) });
      for (const warning of next.warnings) log.warn({ file: next.file }, warning);
      const before = loaded;
      refuseAnotherSite(before.settings, next.settings);
      loaded = next;
      const swapped = await slots.reload(next.settings).catch((error: unknown) => {
        loaded = before;
        throw error;
      });
      configError = undefined;
      levels.configure(next.settings.log.level);
      log.info({ swapped }, 'configuration read again');
      await noteIn(house)(auditNotes.reloaded({ swapped }));
      await keepCopy(next);
      // Whoever sends SIGHUP may have mended something outside the file: no wait lasts longer than that.
      house.delivery?.retryNow();
      house.answers?.retryNow();
      house.arming?.retryNow();
      house.catalogue?.retryNow();
      house.devices?.retryNow();
    } catch (error) {
      configError = reasonOf(error);
      log.error({ reason: configError }, 'the configuration was not taken; the running one stays');
      const code = error instanceof SitewardError ? error.code : 'failed';
      await noteIn(house)(auditNotes.reloaded({ reason: code }));
    }
    notifier.ready();
  }

  /** Not forgotten before it is on record. */
  async function tell<Done extends { forget(): Promise<void> }>(
    done: Done | undefined,
    entry: (done: Done) => ReturnType<typeof auditNotes.restored>,
  ): Promise<void> {
    if (done === undefined) return;
    const told = await house.controller?.audit([entry(done)]).then(
      () => true,
      () => false,
    );
    if (told === true) await done.forget();
  }

  async function keepCopy(good: LoadedConfig): Promise<void> {
    await keepLastGood(good).catch((error: unknown) => log.warn({ err: error }, 'no last good copy could be kept'));
  }

  async function retry(): Promise<void> {
    isRetrying = true;
    await slots.retry().catch((error: unknown) => log.error({ err: error }, 'a part could not start'));
    isRetrying = false;
  }

  /** Signs of life for systemd, given only while the store and the loop really work. */
  async function watch(signal: AbortSignal): Promise<void> {
    const everyMs = watchdogIntervalMs(process.env) ?? watchdogFallbackMs;
    while (!signal.aborted) {
      if (slots.health().every(isAlive)) notifier.watchdog();
      notifier.status(statusLine(slots, configError));
      // Not waited for: a part that takes its time to start is no reason to be taken for dead.
      if (!isRetrying) void retry();
      await sleep(everyMs, signal).catch(() => undefined);
    }
  }
}

interface FirstConfig {
  readonly loaded: LoadedConfig;
  readonly error: string | undefined;
}

/** The configuration to start with: the file, or its last good copy unless `strict`. A number is the exit code. */
function firstConfig(
  options: { configPath: string; strict: boolean },
  environment: Parameters<typeof loadConfig>[1],
): FirstConfig | number {
  try {
    const strictSecrets = options.strict ? 'refuse' : 'degrade';
    return {
      loaded: loadConfig(options.configPath, { ...environment, unreadableSecrets: strictSecrets }),
      error: undefined,
    };
  } catch (error) {
    const reason = reasonOf(error);
    process.stderr.write(`${reason}\n`);
    const lastGood = options.strict ? undefined : loadLastGood(options.configPath, environment);
    return lastGood === undefined ? exitCodes.config : { loaded: lastGood, error: reason };
  }
}

/**
 * Numbers and states on disk belong to one site, bridge and folder: another one is another daemon. Taken over in a
 * running one, an armed partition would begin anew as disarmed (safety 2).
 */
function refuseAnotherSite(running: Settings, next: Settings): void {
  const changed = fixedChanges(running, next);
  if (changed.length === 0) return;
  const what = changed.join(' and ');
  throw new SitewardError(
    'config_needs_restart',
    `${what} cannot change while siteward runs; set it back, or restart siteward`,
  );
}

/** What is wrong, in full: every problem of the file with its line, one below the other. */
function reasonOf(error: unknown): string {
  return error instanceof ConfigError ? error.problems.map(formatProblem).join('\n') : describe(error);
}

/** A file that cannot be opened is no death: siteward goes on from memory, and a new start would open it no better. */
const isAlive = ({ name, facts }: PartReport): boolean => name !== 'store' || facts?.running === true;

/** For `systemctl status`: what is wrong, the configuration first. */
function statusLine(slots: Slots<Settings>, configError: string | undefined): string {
  const config = configError === undefined ? [] : [`the configuration has errors: ${configError}`];
  const parts = slots
    .health()
    .flatMap(({ name, state, reason }) => (state === 'ok' ? [] : [`${name}: ${reason ?? state}`]));
  const wrong = [...config, ...parts];
  return wrong.length === 0 ? 'all parts work' : wrong.join('; ').replaceAll('\n', '; ').slice(0, 500);
}

/** Ends with the first SIGTERM or SIGINT, or with `end`. */
function untilEnd(onEnd: () => void): { ended: Promise<void>; signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const end = () => {
    if (controller.signal.aborted) return;
    controller.abort(new SitewardError('stopped', 'the daemon is stopping'));
    onEnd();
    resolve();
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  return { ended, signal: controller.signal, end };
}

/**
 * A thread inside a call to a disk that does not return is ended by nobody, and an exit in order waits for it. What is given
 * up has been logged by then; the signal makes the end a failure for whoever started siteward.
 */
function endAtLast(log: Logger): void {
  const end = () => {
    log.fatal('the disk does not answer; siteward ends without what it was to write there');
    process.kill(process.pid, 'SIGKILL');
  };
  setTimeout(end, endAtLastMs).unref();
}
