import type { Logger } from 'pino';
import { isCode } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { withDeadline } from '#lib/wait.ts';
import type { PreparedCache } from './cache.ts';
import { type DriverFailure, SpeakerError } from './driver.ts';
import type { EngineEffect, EngineInput } from './engine/index.ts';
import { createSilences } from './silences.ts';
import { createSound, type MadeSound } from './sound.ts';
import type { Speaker } from './speakers.ts';

type Effect<K extends EngineEffect['kind']> = Extract<EngineEffect, { kind: K }>;
/** What a run reports to the engine; the moment is added by whoever hands it on. */
type Told<T> = T extends unknown ? Omit<T, 'at'> : never;
export type Report = Told<
  Extract<EngineInput, { kind: 'prepared' | 'unprepared' | 'first_sample' | 'ended' | 'failed' | 'silent' }>
>;

/** A disk that does not answer: there is time left for what sounds instead (the engine waits for 5 s). */
const readMs = 3_000;

/** Tries of the engine to play a message on a speaker, by its numbers. Each ends by itself, or with an abort. */
export interface Runs {
  prepare(effect: Effect<'prepare'>): void;
  start(effect: Effect<'start'>): void;
  stop(run: number): void;
  /** Nothing of it is waited for any more. */
  kill(run: number): void;
  drop(run: number): void;
  /** What a daemon before this one left on the speaker is ended, before it plays anything. */
  release(speaker: string): void;
  /** Ends whatever still runs; nothing is reported any more. */
  end(): void;
  /** Resolves when no driver is at work; the caller bounds it. */
  idle(): Promise<void>;
}

interface Run {
  readonly speaker: Speaker;
  sound?: MadeSound;
  /** Ends what it does now. */
  end: AbortController;
  started?: true;
  firstAt?: number;
  stopped?: true;
}

export function createRuns(options: {
  readonly speaker: (id: string) => Speaker | undefined;
  readonly cache: PreparedCache;
  /** The digest of what sounds in place of the message of an alarm that cannot be read. */
  readonly siren: () => string | undefined;
  readonly report: (report: Report) => void;
  /** Told when a speaker failed to play. */
  readonly onFailed: (speaker: Speaker) => void;
  /** Told of one that was to be silent and may sound on, and when it is silent. */
  readonly onSoundsOn: (speaker: string, isSo: boolean) => void;
  readonly clock: Clock;
  readonly log: Logger;
}): Runs {
  const { speaker: find, cache, siren, report, onFailed, onSoundsOn, clock, log } = options;
  const over = new AbortController();
  const silences = createSilences({ speaker: find, onSoundsOn, over: over.signal, clock, log });
  /** Those the engine knows; it has at most one of each kind in a lane. */
  const runs = new Map<number, Run>();
  const working = new Set<Promise<void>>();
  /** Of each speaker, what is ended there. */
  const releasing = new Map<string, Promise<void>>();

  function follow(work: Promise<void>): void {
    const followed = work.finally(() => working.delete(followed));
    working.add(followed);
  }

  async function prepare(effect: Effect<'prepare'>, run: Run): Promise<void> {
    const { speaker } = run;
    const { message, volume, repeat, gapMs } = effect;
    const { trim_db, volume_curve, lead, tail } = speaker.options;
    try {
      const { format } = speaker;
      const samples = await samplesOf(effect, run);
      if (runs.get(effect.run) !== run) return;
      const shape = { curve: volume_curve, trimDb: trim_db, leadMs: lead, tailMs: tail };
      const sound = createSound({ samples, format, key: message.key, volume, repeat, gapMs, ...shape });
      run.sound = sound;
      report({ kind: 'prepared', run: effect.run, lengthMs: lengthMs(sound) });
    } catch (error) {
      if (run.end.signal.aborted) return;
      runs.delete(effect.run);
      const gone = isCode(error, 'audio_gone') || isCode(error, 'audio_unknown');
      if (!gone) log.error({ err: error, message: message.key }, 'a message could not be made ready');
      report({ kind: 'unprepared', run: effect.run, reason: gone ? 'message_gone' : 'device_error' });
    }
  }

  /** An alarm whose message cannot be read is a siren rather than silent. */
  async function samplesOf({ message, urgent }: Effect<'prepare'>, { speaker, end }: Run): Promise<Int16Array> {
    const { rate } = speaker.format;
    try {
      const get = (signal: AbortSignal) => cache.get({ sha256: message.sha256, rate }, signal, urgent);
      if (!urgent) return await get(end.signal);
      return await withDeadline(readMs, end.signal, get, 'reading the message of an alarm');
    } catch (error) {
      const instead = urgent && !end.signal.aborted ? siren() : undefined;
      if (instead === undefined || instead === message.sha256) throw error;
      const samples = await cache.get({ sha256: instead, rate }, end.signal, urgent).catch(() => Promise.reject(error));
      const about = { err: error, speaker: speaker.options.id, message: message.key };
      log.error(about, 'the message of an alarm cannot be read; the built-in siren sounds in its place');
      return samples;
    }
  }

  async function play(number: number, run: Run, sound: MadeSound): Promise<void> {
    const { speaker } = run;
    const isOurs = () => runs.get(number) === run;
    const playedMs = () => (run.firstAt === undefined ? 0 : Math.max(0, clock.monotonic() - run.firstAt));
    let resume: Awaited<ReturnType<typeof silences.giveWay>>;
    try {
      const left = releasing.get(speaker.options.id);
      // Else it would end the new sound.
      if (left !== undefined) await left;
      run.end.signal.throwIfAborted();
      const way = silences.giveWay(speaker);
      if (way !== undefined) resume = await way;
      const { samples, delivered } = await speaker.driver.play(sound, {
        signal: run.end.signal,
        onFirstSample() {
          if (!isOurs() || run.firstAt !== undefined) return;
          run.firstAt = clock.monotonic();
          report({ kind: 'first_sample', run: number });
        },
      });
      silences.isSilent(speaker);
      if (!isOurs()) return;
      runs.delete(number);
      report({ kind: 'ended', run: number, playedMs: (samples * 1000) / sound.format.rate, delivered });
    } catch (error) {
      const soundsOn = error instanceof SpeakerError && error.soundsOn;
      if (soundsOn) mayTell(number, run, wordsOf(error));
      else if (run.end.signal.aborted && run.firstAt !== undefined) silences.isSilent(speaker);
      if (!isOurs()) return;
      if (run.stopped === true) {
        runs.delete(number);
        return report({ kind: 'silent', run: number, playedMs: playedMs(), ...(soundsOn && { soundsOn }) });
      }
      const reason = reasonOf(error);
      log.warn({ speaker: speaker.options.id, reason, why: wordsOf(error) }, 'a speaker did not play');
      // One that is busy is asked again with the same sound, or dropped.
      if (reason !== 'busy') runs.delete(number);
      report({ kind: 'failed', run: number, playedMs: playedMs(), reason });
      onFailed(speaker);
    } finally {
      for (const telling of resume?.(run.firstAt !== undefined) ?? []) follow(telling);
    }
  }

  /** One that was given up may say so late: no order must end the sound that has its place by then. */
  function mayTell(number: number, { speaker }: Run, why: string): void {
    const isReplaced = [...runs].some(([n, one]) => n > number && one.started && one.speaker.lane === speaker.lane);
    if (speaker.driver.release !== undefined && !isReplaced) follow(silences.insist(speaker, why));
  }

  return {
    prepare(effect) {
      const speaker = find(effect.speaker);
      if (speaker === undefined) return report({ kind: 'unprepared', run: effect.run, reason: 'not_found' });
      const run: Run = { speaker, end: new AbortController() };
      runs.set(effect.run, run);
      follow(prepare(effect, run));
    },
    start({ run: number }) {
      const run = runs.get(number);
      if (run?.sound === undefined) return report({ kind: 'failed', run: number, playedMs: 0, reason: 'device_error' });
      run.end = new AbortController();
      run.started = true;
      follow(play(number, run, run.sound));
    },
    stop(number) {
      const run = runs.get(number);
      if (run === undefined) return;
      run.stopped = true;
      run.end.abort(new Error('the sound is to end'));
    },
    kill(number) {
      const run = runs.get(number);
      runs.delete(number);
      run?.end.abort(new Error('the sound is to end'));
      run?.speaker.renew();
    },
    drop(number) {
      const run = runs.get(number);
      runs.delete(number);
      run?.end.abort(new Error('the message is not needed'));
    },
    release(id) {
      const speaker = find(id);
      if (speaker?.driver.release === undefined) return;
      const work = speaker.driver
        .release(over.signal)
        .catch((error: unknown) => {
          if (!over.signal.aborted) follow(silences.insist(speaker, wordsOf(error)));
        })
        .finally(() => releasing.delete(id));
      releasing.set(id, work);
      follow(work);
    },
    end() {
      for (const run of runs.values()) run.end.abort(new Error('siteward ends'));
      runs.clear();
      over.abort(new Error('siteward ends'));
    },
    async idle() {
      await Promise.allSettled(working);
    },
  };
}

const lengthMs = ({ samples, format }: MadeSound): number => (samples * 1000) / format.rate;

const reasonOf = (error: unknown): DriverFailure => (error instanceof SpeakerError ? error.failure : 'device_error');

/** Nothing else is sure to hold no address and no password. */
const wordsOf = (error: unknown): string => (error instanceof SpeakerError ? error.message : 'its driver failed');
