import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { z } from 'zod';
import { type CloudClient, cloudTime, type Tolerant } from '#cloud/client/index.ts';
import type { Playback } from '#cloud/contract/index.ts';
import { describe, isCode, SitewardError } from '#errors.ts';
import { BoundedMap } from '#lib/bounded.ts';
import type { Clock } from '#lib/clock.ts';
import { rateLimit } from '#lib/token-bucket.ts';
import { unlessAborted, withDeadline } from '#lib/wait.ts';
import {
  type CloudMessage,
  isoTime,
  type PlaybackReason,
  type PlaybackShown,
  playbackStates,
} from '#site/model/index.ts';
import type { Memory } from '#site/store/index.ts';

/** A speaker of the site that the service knows by an id of its own. */
export interface KnownSpeaker {
  readonly device_id: string;
  readonly name: string;
  readonly cloud_device_id: string;
}

export interface CloudPlayRequest {
  readonly playback_id: string;
  readonly message: CloudMessage;
  readonly volume: number;
  readonly repeat: number;
  readonly by: string;
  readonly known: readonly KnownSpeaker[];
  /** Devices by the ids of the service; all of the site when absent. */
  readonly targets?: readonly string[];
}

/** Lets the service play a message, once (S-171, S-177). */
export interface CloudPlays {
  /** Reads which ids were sent before the last end. */
  load(): Promise<void>;
  /** What came of a playback that was asked for under this id. */
  find(playbackId: string): Promise<PlaybackShown> | undefined;
  /**
   * Resolves with what the service answers, or as `failed` where its answer was lost: it may be heard, and is not sent again.
   * Rejects with `audio_unavailable` where it surely is not played, with `queue_full`, or the reason of the signal.
   */
  play(request: CloudPlayRequest, signal: AbortSignal): Promise<PlaybackShown>;
}

export interface CloudPlaysOptions {
  readonly manage: Pick<CloudClient['manage'], 'playAudioMessage'>;
  readonly siteId: string;
  readonly memory: Memory;
  readonly stopping: AbortSignal;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** The whole exchange: a message that comes later meets somebody else. */
const deadlineMs = 5_000;
/** A disk that does not answer holds no message back. */
const noteMs = 500;
const atOnce = 4;
const remembered = 100;
/** What is kept on disk; it fits into one value of the memory. */
const keptPlays = 30;
const key = 'plays';
const kept = z.array(z.strictObject({ id: z.string(), at: z.number(), accepted: z.boolean() }));
/** When the service was asked, wall clock milliseconds, and whether it has said that it plays. */
type Kept = z.output<typeof kept>[number];

export function createCloudPlays(options: CloudPlaysOptions): CloudPlays {
  const { manage, memory, stopping, clock, log } = options;
  const results = new BoundedMap<string, Promise<PlaybackShown>>(remembered);
  const limit = rateLimit({ clock, burst: 10, perSecond: 1, cap: 1 });
  let sent: readonly Kept[] = [];
  let before: ReadonlyMap<string, Kept> = new Map();
  let loaded: Promise<void> = Promise.resolve();
  let underWay = 0;
  const plays = new Counter({
    name: 'siteward_audio_cloud_plays_total',
    help: 'Messages the service was asked to play, by what came of it',
    labelNames: ['outcome'],
    registers: [options.metrics],
  });

  async function load(): Promise<void> {
    const plays = playsIn(await memory.get(key).catch(() => undefined));
    before = new Map(plays.map((play) => [play.id, play]));
    sent = [...plays, ...sent];
  }

  /** On disk before it is asked for: what a crash cuts short is not asked for again. */
  async function note(plays: readonly Kept[]): Promise<void> {
    sent = plays.slice(-keptPlays);
    const write = () => memory.set(key, JSON.stringify(sent));
    await withDeadline(noteMs, stopping, write).catch((error: unknown) => {
      if (!stopping.aborted) log.warn({ reason: describe(error) }, 'what the service is to play cannot be noted');
    });
  }

  async function send(request: CloudPlayRequest): Promise<PlaybackShown> {
    const { playback_id: id, message, volume, repeat, targets } = request;
    const askedAt = clock.wall();
    await withDeadline(noteMs, stopping, () => loaded).catch(() => stopping.throwIfAborted());
    // Asked for before siteward ended.
    const earlier = before.get(id);
    if (earlier?.accepted === true) return accepted(request, {}, earlier.at);
    if (earlier !== undefined) return failed(request, 'interrupted', earlier.at);
    const asked: Kept = { id, at: askedAt, accepted: false };
    const others = () => sent.filter((play) => play.id !== id);
    await note([...others(), asked]);
    try {
      const { value } = await manage.playAudioMessage({
        params: { site_id: options.siteId, audio_message_id: message.audio_message_id },
        body: { volume, repeat, ...(targets !== undefined && { target_devices: [...targets] }) },
        signal: stopping,
        deadlineMs,
      });
      plays.inc({ outcome: 'accepted' });
      void note([...others(), { ...asked, accepted: true }]);
      return accepted(request, value.data ?? {}, askedAt);
    } catch (error) {
      if (stopping.aborted) throw error;
      const facts = { playback: id, message: message.audio_message_id, reason: describe(error) };
      if (isCode(error, 'cloud_outcome_unknown')) {
        plays.inc({ outcome: 'lost' });
        log.warn(facts, 'whether the service plays a message is not known; it is not asked again');
        return failed(request, lostBy(error), askedAt);
      }
      plays.inc({ outcome: 'refused' });
      log.warn(facts, 'the service does not play a message');
      await note(others());
      throw unavailable(message, error);
    }
  }

  return {
    load: () => (loaded = load()),

    find: (id) => results.get(id),

    async play(request, signal) {
      const { playback_id: id, message } = request;
      const known = results.get(id);
      if (known !== undefined) return unlessAborted(known, signal);
      if (underWay >= atOnce || !limit.take('site'))
        throw new SitewardError('queue_full', 'the service is asked for too many messages. Ask again', {
          facts: { message: message.audio_message_id },
        });
      underWay += 1;
      const result = send(request).finally(() => {
        underWay -= 1;
      });
      results.set(id, result);
      // What was surely not played may be asked for again.
      result.catch(() => results.delete(id));
      return unlessAborted(result, signal);
    },
  };
}

function playsIn(text = '[]'): Kept[] {
  try {
    return kept.parse(JSON.parse(text));
  } catch {
    return [];
  }
}

function unavailable(message: CloudMessage, cause: unknown): SitewardError {
  const { facts } = cause instanceof SitewardError ? cause : { facts: {} };
  return new SitewardError(
    'audio_unavailable',
    `only the service holds message ${message.audio_message_id}, and it does not play it: ${describe(cause)}`,
    { facts: { ...facts, field: 'audio_message_id' }, cause },
  );
}

const lostBy = (error: unknown): PlaybackReason => {
  const failure = error instanceof SitewardError ? error.facts.failure : undefined;
  if (failure === 'timeout') return 'timeout';
  return failure === 'reset' ? 'connection_lost' : 'device_error';
};

type Device = PlaybackShown['devices'][number];

/** Nothing can be asked later (S-176): that it plays is the word of the service, of this moment. */
function accepted(request: CloudPlayRequest, said: Tolerant<Playback>, askedAt: number): PlaybackShown {
  const status = stateOf(said.status) ?? 'playing';
  const startedAt = isoTime(cloudTime(said.started_at) ?? askedAt);
  const devices = (said.devices ?? []).slice(0, 500).map((device): Device => {
    const ours = request.known.find((one) => one.cloud_device_id === device.device_id);
    const state = stateOf(device.status) ?? status;
    const taken = state === 'playing' || state === 'completed';
    return {
      device_id: ours?.device_id ?? shortened(device.device_id, 255),
      name: ours?.name ?? shortened(device.name ?? device.device_id, 64),
      status: state,
      ...(taken && { started_at: startedAt, delivered: 'accepted' as const }),
    };
  });
  return shown(request, { status, startedAt, askedAt, devices });
}

const failed = (request: CloudPlayRequest, reason: PlaybackReason, askedAt: number): PlaybackShown =>
  shown(request, { status: 'failed', startedAt: isoTime(askedAt), askedAt, devices: [], reason });

function shown(
  request: CloudPlayRequest,
  of: {
    readonly status: PlaybackShown['status'];
    readonly startedAt: string;
    readonly askedAt: number;
    readonly devices: readonly Device[];
    readonly reason?: PlaybackReason;
  },
): PlaybackShown {
  const { message, known, targets } = request;
  const { status, reason } = of;
  // Nobody said which: those that were asked for, or the service as a whole.
  const unnamed = (targets ?? ['']).map((target): Device => {
    const ours = known.find((one) => one.cloud_device_id === target);
    const { device_id = target || 'cloud', name = target || 'the service' } = ours ?? {};
    return { device_id, name, status, ...(reason !== undefined && { reason }) };
  });
  const devices = of.devices.length > 0 ? [...of.devices] : unnamed;
  const count = (state: PlaybackShown['status']) => devices.filter((device) => device.status === state).length;
  return {
    playback_id: request.playback_id,
    audio_message_id: message.audio_message_id,
    status,
    started_at: of.startedAt,
    volume: request.volume,
    repeat: request.repeat,
    devices,
    name: message.name,
    category: message.category,
    requested_by: request.by,
    created_at: isoTime(of.askedAt),
    seq: 0,
    summary: {
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      total: devices.length,
    },
  };
}

const stateOf = (word: string | undefined) => playbackStates.find((state) => state === word);

const shortened = (text: string, cap: number): string =>
  text
    .slice(0, cap)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
