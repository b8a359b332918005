import { randomUUID } from 'node:crypto';
import { SitewardError } from '#errors.ts';
import {
  type DeviceId,
  driverFailures,
  type PlaybackReason,
  type PlaybackShown,
  type SelfTestResult,
} from '#site/model/index.ts';
import type { PlayAnswer, PlayRequest } from '../engine/index.ts';
import type { Library } from '../library/index.ts';

export type { SelfTestResult } from '#site/model/index.ts';

export interface SelfTest {
  /** Plays the test tone on every speaker. Rejects with `audio_refused` while an alarm is active; a test that runs is joined. */
  run(by: string, signal: AbortSignal): Promise<readonly SelfTestResult[]>;
  /** What a speaker plays to its end proves it as well as a test. */
  heed(playback: PlaybackShown): void;
  /** The last of each speaker. */
  results(): readonly SelfTestResult[];
}

const tone = 'test.tone1k';
/** As many as make a speaker unhealthy, which is the trouble of one that failed. */
const tries = 3;
/** A tone, behind what waits a minute for its turn and is begun in eight seconds. */
const endMs = 120_000;

export function createSelfTest(options: {
  readonly speakers: () => readonly DeviceId[];
  readonly library: () => Library | undefined;
  readonly volume: () => number;
  readonly alarmActive: () => boolean;
  readonly play: (request: PlayRequest) => PlayAnswer;
  /** Resolves with it once it has ended, or as it is after so long. */
  readonly ended: (playback: string, ms: number, signal: AbortSignal) => Promise<PlaybackShown | undefined>;
  readonly onTested: (results: readonly SelfTestResult[], by: string) => void;
}): SelfTest {
  const { speakers, library, volume, alarmActive, play, ended, onTested } = options;
  let last: readonly SelfTestResult[] = [];
  let running: Promise<readonly SelfTestResult[]> | undefined;

  async function test(by: string, signal: AbortSignal): Promise<readonly SelfTestResult[]> {
    const results = new Map(speakers().map((id): [DeviceId, SelfTestResult] => [id, { device_id: id, ok: null }]));
    for (let count = 0; count < tries; count += 1) {
      const open = [...results.values()].filter(({ ok, reason }) => ok !== true && isWorthwhile(reason));
      if (open.length === 0 || alarmActive()) break;
      for (const result of await once(open, by, signal)) results.set(result.device_id, result);
    }
    last = [...results.values()];
    onTested(last, by);
    return last;
  }

  async function once(open: readonly SelfTestResult[], by: string, signal: AbortSignal): Promise<SelfTestResult[]> {
    const message = library()?.find(tone);
    if (message === undefined) throw new SitewardError('audio_unknown', `there is no message "${tone}"`);
    const { key, name, sha256, category } = message;
    const answer = play({
      ...{ id: randomUUID(), category, volume: volume(), repeat: 1, requestedBy: by },
      message: { id: key, key, name, sha256 },
      speakers: open.map(({ device_id }) => device_id),
    });
    // No word on a speaker: the queues are full, or siteward stops.
    if (answer.outcome === 'refused') return open.map(({ device_id }) => ({ device_id, ok: null }));
    const done = (await ended(answer.playback.playback_id, endMs, signal)) ?? answer.playback;
    return done.devices.map(({ device_id, status, reason }) => resultOf(device_id, status, reason));
  }

  return {
    async run(by, signal) {
      if (alarmActive())
        throw new SitewardError('audio_refused', 'an alarm is active; test the speakers when it is over');
      running ??= test(by, signal).finally(() => {
        running = undefined;
      });
      return running;
    },
    heed({ devices }) {
      const well = new Set(devices.filter(({ status }) => status === 'completed').map(({ device_id }) => device_id));
      if (well.size === 0) return;
      last = last.map((one) =>
        one.ok === false && well.has(one.device_id) ? { device_id: one.device_id, ok: true } : one,
      );
    },
    results: () => last,
  };
}

function resultOf(device_id: DeviceId, status: string, reason: PlaybackReason | undefined): SelfTestResult {
  if (status === 'completed') return { device_id, ok: true };
  const failed =
    reason !== undefined && (reason === 'unhealthy' || (driverFailures as readonly string[]).includes(reason));
  return { device_id, ok: failed ? false : null, ...(reason !== undefined && { reason }) };
}

/** A speaker that failed is tried again; quiet hours and alarms are no failure and go on. */
const isWorthwhile = (reason: PlaybackReason | undefined): boolean =>
  reason === undefined || (driverFailures as readonly string[]).includes(reason);
