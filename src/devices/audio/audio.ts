import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import type { Health, Part } from '#lib/health.ts';
import { settingsKey } from '#lib/settings-key.ts';
import { never, sleep, withDeadline } from '#lib/wait.ts';
import {
  type ClockQuality,
  type DeviceId,
  hasEnded,
  type PartitionId,
  type PartitionState,
  type PlaybackShown,
  type SelfTestResult,
  type SiteEvent,
} from '#site/model/index.ts';
import { createPreparedCache } from './cache.ts';
import { createPlayers } from './drivers/child.ts';
import { type CancelTarget, type PlayAnswer, type PlayRequest, readRow } from './engine/index.ts';
import { createJournal, type Journal } from './journal.ts';
import { createShelf, type Library } from './library/index.ts';
import { audioMetrics } from './metrics.ts';
import { createPlayer } from './player.ts';
import type { AudioPorts, SpeakerCondition } from './ports.ts';
import { createProbes } from './probes.ts';
import { createTriggers } from './rules/index.ts';
import { createRuns } from './runs.ts';
import { type AudioPlan, createSpeaker, endsByItselfMs, enginePlan, laneOf, type Speaker } from './speakers.ts';
import { createWaits, isBegun } from './waits.ts';

/** Messages on the speakers of a site. */
export interface Audio extends Part {
  /** Takes other speakers and bounds; what plays on a speaker that stayed as it was plays on. */
  reconfigure(plan: AudioPlan): void;
  /** Throws `stopped` before the start. Whoever changes it says so with `messagesChanged`. */
  readonly library: Library;
  /** Alarms are made ready anew; `gone`: the digest of one that is not needed any more. */
  messagesChanged(gone?: string): void;
  play(request: PlayRequest): PlayAnswer;
  cancel(target: CancelTarget, alarms: boolean): readonly string[];
  /** A partition was disarmed, or its alarm silenced: the sound of its burglary ends within 300 ms (safety 9). */
  hush(partition: PartitionId): void;
  /** Something was decided that everybody may know: rules may play. Never throws. */
  decided(event: SiteEvent, partition: PartitionState | undefined): void;
  /** Plays the test tone on every speaker; rejects with `audio_refused` while an alarm is active. */
  selfTest(by: string, signal: AbortSignal): Promise<readonly SelfTestResult[]>;
  clockJumped(byMs: number): void;
  /** The newest last. */
  playbacks(): readonly PlaybackShown[];
  /** Of those that are used. */
  speakers(): readonly (SpeakerCondition & { readonly id: DeviceId })[];
  /** Resolves with it once it is no longer `queued`, or after `ms`; rejects with the reason of the signal. */
  begun(playback: string, ms: number, signal: AbortSignal): Promise<PlaybackShown | undefined>;
}

/** The messages of the site lie here, below the state directory. */
const libraryFolder = 'audio';
const driverFolder = 'speakers';
/** Of a stop: what sounds is silent by then, and on disk. */
const closeMs = endsByItselfMs + 400;
const flushMs = 200;

export function createAudio(options: {
  readonly plan: AudioPlan;
  /** The state directory. */
  readonly dir: string;
  /** With the spoken messages of the package, where it has any. */
  readonly spoken?: string;
  readonly ports: AudioPorts;
  readonly onChanged: (playback: PlaybackShown) => void;
  readonly clock: Clock;
  readonly quality: () => ClockQuality;
  readonly log: Logger;
  readonly metrics: Registry;
}): Audio {
  const { dir, spoken, ports, clock, quality, log } = options;
  let plan = options.plan;
  let journal: Journal | undefined;
  let wrong: string | undefined;
  const stop = new AbortController();
  const players = createPlayers();
  const places = { folder: join(dir, driverFolder), players };
  const speakers = new Map<DeviceId, Speaker>();
  const waits = createWaits((id) => player.playbacks().find(({ playback_id }) => playback_id === id));

  const shelf = createShelf({
    ...{ folder: join(dir, libraryFolder), spoken, stop: stop.signal, log },
    inUse: (key) => player.needs(key),
    onRead() {
      void pinAlarms();
      ports.onMessages?.();
    },
  });
  const cache = createPreparedCache({
    maxBytes: plan.audio.memory,
    load: (sha256) => shelf.load(sha256),
    stop: stop.signal,
  });
  const probes = createProbes({
    everyMs: () => plan.audio.probe,
    isBusy: (lane) => player.isBusy(lane),
    onProbed: (speaker, ok) => player.give({ kind: 'probed', speaker, ok }),
    onChanged: ports.onSpeaker,
    wall: clock.wall,
  });
  const metrics = audioMetrics(options.metrics, {
    queued: () => player.queued(),
    cacheBytes: () => cache.stats.bytes,
    speakers: conditions,
  });
  const runs = createRuns({
    speaker: (id) => speakers.get(id),
    cache,
    siren: () => shelf.siren,
    report: (report) => player.give(report),
    onFailed: (speaker) => probes.hurry(speaker.options.id),
    onSoundsOn: probes.soundsOn,
    ...{ clock, log },
  });
  const player = createPlayer({
    plan: enginePlan(plan),
    runs,
    journal: opensJournal,
    speaker: (id) => speakers.get(id),
    onChanged(playback) {
      options.onChanged(playback);
      triggers.heed(playback);
      waits.changed(playback);
    },
    onHealth: probes.heed,
    ...{ clock, quality, metrics, log },
  });

  const triggers = createTriggers({
    plan: () => plan,
    library: () => shelf.library,
    play: player.play,
    ended: (id, ms, signal) => waits.until(id, hasEnded, ms, signal),
    alarmActive: () => ports.alarmActive?.() === true || player.playbacks().some(soundsAlarm),
    nextRuns: (clockPlan, after) => ports.nextRuns?.(clockPlan, after) ?? [],
    onTested: (results, by) => ports.onTested?.(results, by),
    stamp: () => ({ mono: clock.monotonic(), wall: clock.wall(), boot: clock.bootId, clock: quality() }),
    stop: stop.signal,
    ...{ log, metrics: options.metrics },
  });

  function opensJournal(): Journal {
    journal ??= createJournal({ port: ports.journal, onWritten: (to) => player.written(to), stop: stop.signal, log });
    return journal;
  }

  function library(): Library {
    if (shelf.library === undefined)
      throw new SitewardError('stopped', 'the messages are not read yet; try again in a moment');
    return shelf.library;
  }

  function conditions() {
    return [...speakers.keys()].map((id) => ({ id, ...probes.of(id) }));
  }

  /** Makes those anew whose options changed, and keeps the others with whatever they play. */
  function makeSpeakers(): void {
    const wanted = plan.speakers.filter(({ enabled }) => enabled);
    for (const id of [...speakers.keys()]) if (!wanted.some((one) => one.id === id)) speakers.delete(id);
    const access = ports.access?.(wanted);
    for (const one of wanted) {
      const old = speakers.get(one.id);
      const lane = laneOf(one, plan);
      if (old?.lane === lane && settingsKey(old.options) === settingsKey(one)) continue;
      speakers.set(one.id, createSpeaker(one, { ...places, lane, access: access?.get(one.id) }));
    }
  }

  /** So that an alarm needs neither disk nor arithmetic: the siren, what rules raise to an alarm, and all other alarms. */
  async function pinAlarms(): Promise<void> {
    const rates = [...new Set([...speakers.values()].map(({ format }) => format.rate))];
    const ofRules = triggers.messages();
    const alarms = [
      ...(shelf.siren === undefined ? [] : [{ key: 'alarm.siren', sha256: shelf.siren }]),
      ...ofRules.filter(({ alarm }) => alarm),
      ...library()
        .list()
        .filter(({ category }) => category === 'alarm'),
    ];
    const wanted = alarms.flatMap(({ key, sha256 }) => rates.map((rate) => ({ key, sha256, rate })));
    cache.unpin(wanted);
    const failed = (key: string) => (error: unknown) => {
      if (!stop.signal.aborted) log.warn({ err: error, message: key }, 'a message could not be made ready');
      return true;
    };
    for (const { key, ...of } of wanted)
      if (!(await cache.pin(of, stop.signal).catch(failed(key)))) {
        log.warn({ message: key }, 'audio.memory is too small to keep every alarm ready');
        break;
      }
    // Read once, so that what is gone or damaged is known before its time comes.
    for (const { key, sha256 } of ofRules) await shelf.load(sha256).catch(failed(key));
  }

  return {
    name: 'audio',

    async start() {
      makeSpeakers();
      await shelf.start();
      wrong = undefined;
      try {
        const rows = await ports.journal.playbacks();
        player.recover(rows.flatMap(({ record }) => rowOf(record) ?? []));
        for (const partition of ports.disarmed()) player.hush(partition);
      } catch (error) {
        wrong = 'what was played before the start cannot be read; new messages are played';
        log.error({ err: error }, wrong);
      }
      probes.follow(speakers);
      triggers.start();
      void pinAlarms();
    },

    async stop() {
      await triggers.stop();
      await withDeadline(closeMs, never(), () => player.close(), 'ending what sounds').catch(() =>
        log.warn('what sounds did not end in time'),
      );
      await probes.stop();
      await withDeadline(flushMs, never(), async (signal) => journal?.flush(signal)).catch(() => undefined);
      player.end();
      runs.end();
      stop.abort(new SitewardError('stopped', 'the speakers are stopping'));
      await Promise.race([runs.idle(), sleep(flushMs, never())]);
    },

    reconfigure(next) {
      plan = next;
      cache.bound(plan.audio.memory);
      makeSpeakers();
      player.replan(enginePlan(plan));
      probes.follow(speakers);
      triggers.replanned();
      void pinAlarms();
    },

    get library() {
      return library();
    },

    messagesChanged(gone) {
      if (
        gone !== undefined &&
        library()
          .list()
          .every(({ sha256 }) => sha256 !== gone)
      )
        cache.forget(gone);
      void pinAlarms();
    },

    play: (request) => player.play(request),
    cancel: (target, alarms) => player.cancel(target, alarms),
    hush(partition) {
      player.hush(partition);
      triggers.hushed(partition);
    },
    decided: triggers.decided,
    selfTest: triggers.run,
    clockJumped: (byMs) => player.give({ kind: 'clock_jumped', byMs }),
    playbacks: () => player.playbacks(),
    speakers: conditions,

    begun: (id, ms, signal) => waits.until(id, isBegun, ms, signal),

    health(): Health {
      const all = conditions();
      const away = all.filter(({ up }) => up === false);
      const facts = { speakers: all.length, away: away.length, waiting: player.queued() };
      const reasons = [
        ...(wrong === undefined ? [] : [wrong]),
        ...(journal?.failing === true ? ['playbacks cannot be written down; they sound all the same'] : []),
        ...away.map(({ id, detail = 'it does not answer' }) => `speaker ${id}: ${detail}`),
        ...shelf.problems(),
        ...(shelf.library?.problems ?? []),
        ...triggers.problems(),
      ];
      if (reasons.length === 0) return { state: 'ok', facts };
      return { state: 'degraded', reason: reasons.join('; ').slice(0, 500), facts };
    },
  };

  function rowOf(record: string | null) {
    try {
      return record === null ? undefined : readRow(JSON.parse(record));
    } catch {
      return undefined;
    }
  }
}

const soundsAlarm = (playback: PlaybackShown): boolean => playback.category === 'alarm' && !hasEnded(playback);
