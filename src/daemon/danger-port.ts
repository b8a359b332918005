import type { Logger } from 'pino';
import { isInAlarm, partitionText } from '#box/standing.ts';
import type { Settings } from '#config/index.ts';
import { describe, type Facts, SitewardError } from '#errors.ts';
import { type DangerPort, partitionEntries } from '#lan/http/index.ts';
import type { Clock } from '#lib/clock.ts';
import { never, sleep, withDeadline } from '#lib/wait.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { type Asker, isoTime } from '#site/model/index.ts';
import type { Note } from './audit-wiring.ts';
import type { ConfigInForce } from './config-port.ts';
import { markReset, obstacle, resetMarker, type Subject, unmarkReset } from './factory-reset.ts';
import { type House, viewOf } from './house.ts';
import { mustBeNamed } from './must-be-named.ts';
import type { OutboxCount } from './outbox-count.ts';
import { noteRestart, restartWaitMs } from './restart-limit.ts';

/** By then the answer is out, also on the control socket, which cuts what is still open. */
const answerMs = 300;
/**
 * How long events are sent before all is forgotten, always: a silent one that waits goes out, and nobody can tell by the time
 * whether there was one (safety 4).
 */
const goOnSendingMs = 15_000;
/** A disk that hangs must not hang the answer. */
const lookMs = 5000;

export interface DangerOptions {
  readonly house: House;
  readonly count: OutboxCount;
  readonly settings: () => Settings;
  readonly config: () => ConfigInForce;
  readonly clock: Pick<Clock, 'wall'>;
  readonly log: Logger;
  readonly note: Note;
  readonly process: ProcessEnd;
}

/** The process as far as it may be ended. */
export interface ProcessEnd {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** As SIGTERM does. */
  end(): void;
  /** Aborts when it ends, whoever wanted that. */
  signal(): AbortSignal;
}

type Danger = 'restart' | 'factory_reset';

/** What stops the bridge, or cannot be undone. */
export function dangerPort(options: DangerOptions): Omit<DangerPort, 'forgetCloud'> & {
  /** Whether a factory reset was asked for that is not called off. */
  isResetting(): boolean;
} {
  const { house, settings, log, note } = options;
  let isResetting = false;
  let isRestarting = false;

  /** What is refused is on record as well as what is done. */
  async function judged<T>(action: Danger, by: Asker, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SitewardError) await note(auditNotes.danger(by, action, error.code));
      throw error;
    }
  }

  function mustStartAgain(otherwise: string): void {
    const { INVOCATION_ID: id = '', SYSTEMD_EXEC_PID: pid = '' } = options.process.variables;
    // Every service of systemd has the first, and hands it on to what it starts. The second, since version 248, is whom it watches.
    if (id !== '' && (pid === '' || pid === `${process.pid}`)) return;
    throw refused(`siteward was not started by systemd, so nothing would start it again; ${otherwise}`);
  }

  function mustNotBeResetting(): void {
    if (isResetting) throw refused('a factory reset is under way; siteward ends and starts again by itself');
  }

  /** What is armed is armed again afterwards; a delay that runs, or the word of an alarm, could be lost (safety 2). */
  function mustBeAtRest(): void {
    // It may be the way to get one again.
    if (house.controller === undefined) return;
    for (const partition of partitionEntries(viewOf(house))) {
      const { state } = partition;
      if (isInAlarm(partition) || state === 'triggered')
        throw refused(`${partitionText(partition)} is in alarm; wait until it is over, or disarm it`);
      if (state === 'arming' || state === 'pending')
        throw refused(`a delay of ${partitionText(partition)} runs; wait until it is over, or disarm it`);
    }
  }

  async function beginRestart(): Promise<void> {
    const look = () => restartWaitMs(settings().store.dir, options.clock.wall());
    const ms = await withDeadline(lookMs, never(), look, 'looking for the last restart').catch(() => 0);
    if (ms === 0 && !isRestarting) {
      isRestarting = true;
      return;
    }
    if (isRestarting) throw refused('a restart is under way');
    throw refused('siteward is restarted once in five minutes at most', { retryAfterMs: ms });
  }

  /** Armed, or not known to be disarmed, or in alarm (safety 2). Silent alarms stand in nothing that is asked here (safety 4). */
  function mustBeDisarmed(): void {
    for (const partition of partitionEntries(viewOf(house))) {
      const { state, stale } = partition;
      if (isInAlarm(partition))
        throw refused(`${partitionText(partition)} is in alarm; wait until it is over, or disarm it`);
      if (state === 'unknown' || stale)
        throw refused(
          `${partitionText(partition)} is not known to be disarmed; bring its panel back, or take the panel out of the configuration first`,
        );
      if (state !== 'disarmed') throw refused(`${partitionText(partition)} is not disarmed; disarm it first`);
    }
  }

  /**
   * Only what everybody sees waiting counts (safety 4); a line that is down may hold back more. The field of the refusal is the
   * member that has it done all the same.
   */
  async function mustBeDelivered(evenUndelivered: boolean): Promise<void> {
    if (settings().cloud === undefined || evenUndelivered) return;
    const more = 'or say that it is done all the same';
    const field = { field: 'even_undelivered' };
    const counted = await options.count();
    if (typeof counted === 'string')
      throw refused(`it is not known what waits for the cloud: ${counted} Mend that, ${more}`, field);
    const waiting = Object.values(counted.pending).reduce((sum, count) => sum + count, 0);
    if (waiting > 0)
      throw refused(
        `${waiting === 1 ? '1 event waits' : `${waiting} events wait`} for the cloud, which would never learn of them; wait until they are sent, ${more}`,
        field,
      );
    if (house.cloudUp !== true)
      throw refused(`the cloud cannot be reached, so that not all may be there; wait until it can, ${more}`, field);
  }

  /** All that a reset takes. */
  async function readyToReset(by: Asker, evenUndelivered: boolean, signal: AbortSignal) {
    mustStartAgain('end it and start it where it was started');
    mustBeDisarmed();
    await mustBeDelivered(evenUndelivered);
    const subject: Subject = {
      configPath: options.config().path,
      text: options.config().text,
      dir: settings().store.dir,
      site: settings().site.external_id,
    };
    const marker = resetMarker(subject, { by: by.client, at: isoTime(options.clock.wall()) });
    const inTheWay = await withDeadline(lookMs, signal, () => obstacle(subject.dir, marker), 'looking at the disk');
    if (inTheWay !== undefined) throw refused(`nothing was reset: ${inTheWay}`);
    return { dir: subject.dir, marker };
  }

  /** Somebody may have armed while the marker was written. */
  async function mustStillBeDisarmed(dir: string): Promise<void> {
    try {
      mustBeDisarmed();
    } catch (error) {
      await unmarkReset(dir, { log, signal: options.process.signal() });
      throw error;
    }
  }

  /** Whoever asked has the answer by now. What came meanwhile, an alarm or an arming, keeps all as it is. */
  async function reset(by: Asker, evenUndelivered: boolean): Promise<void> {
    const signal = options.process.signal();
    const hasCloud = settings().cloud !== undefined;
    try {
      if (hasCloud) house.delivery?.retryNow();
      await sleep(hasCloud ? goOnSendingMs : answerMs, signal);
      const { dir, marker } = await readyToReset(by, evenUndelivered, signal);
      await markReset(dir, marker);
      await mustStillBeDisarmed(dir);
      log.warn({ actor: by.client }, 'siteward ends; the next start does the factory reset');
      options.process.end();
    } catch (error) {
      isResetting = false;
      log.error({ actor: by.client, reason: describe(error) }, 'the factory reset is not done; ask for it again');
      await note(auditNotes.danger(by, 'factory_reset', error instanceof SitewardError ? error.code : 'failed'));
    }
  }

  return {
    isResetting: () => isResetting,

    async restart(confirm, by) {
      await judged('restart', by, async () => {
        mustBeNamed(settings(), confirm);
        mustStartAgain('start it as a service, or reset it by hand (docs/operations.md, "Factory reset")');
        mustNotBeResetting();
        mustBeAtRest();
        await beginRestart();
      });
      log.warn({ actor: by.client }, 'a restart was asked for');
      const noted = () => noteRestart(settings().store.dir, options.clock.wall());
      await withDeadline(lookMs, never(), noted, 'writing the time down').catch((error: unknown) =>
        log.warn({ reason: describe(error) }, 'when this restart was asked for could not be written down'),
      );
      await note(auditNotes.danger(by, 'restart'));
      setTimeout(options.process.end, answerMs);
    },

    async factoryReset({ confirm, even_undelivered: evenUndelivered }, by, signal) {
      await judged('factory_reset', by, async () => {
        mustBeNamed(settings(), confirm);
        mustNotBeResetting();
        isResetting = true;
        await readyToReset(by, evenUndelivered, signal).catch((error: unknown) => {
          isResetting = false;
          throw error;
        });
      });
      log.warn({ actor: by.client }, 'a factory reset was asked for');
      await note(auditNotes.danger(by, 'factory_reset'));
      void reset(by, evenUndelivered);
    },
  };
}

const refused = (why: string, facts: Facts = {}): SitewardError => new SitewardError('danger_refused', why, { facts });
