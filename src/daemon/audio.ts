import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settings } from '#config/index.ts';
import { type Audio, type AudioPlan, createAudio, type SpeakerCondition } from '#devices/audio/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { DeviceId, PlaybackShown } from '#site/model/index.ts';
import type { ClockQualityWatch } from './clock-quality.ts';
import { type House, running } from './house.ts';
import { speakerAccess } from './speaker-access.ts';

/** A change of these begins anew; all else is taken while messages play. */
export const audioWants = ({ store, audio }: Settings): unknown => [store.dir, audio.memory];

export const audioPlan = ({ speakers, audio, site, cameras, nvrs }: Settings): AudioPlan => ({
  ...{ speakers, audio },
  timezone: site.timezone,
  devices: Object.fromEntries([
    ...cameras.map(({ id, url }) => [id, new URL(url).hostname]),
    // Each channel may have a speaker of its own behind its recorder.
    ...nvrs.flatMap((nvr) => nvr.channels.map(({ id }) => [id, `${nvr.id}/${id}`])),
  ]),
});

/** Messages on the speakers of the site. */
export function siteAudio(
  settings: Settings,
  metrics: Registry,
  surroundings: { house: House; clock: Clock; quality: ClockQualityWatch; log: (part: string) => Logger },
): Audio {
  const { house, clock, quality } = surroundings;
  const log = surroundings.log('audio');
  return createAudio({
    plan: audioPlan(settings),
    dir: settings.store.dir,
    ...spokenMessages(),
    ports: {
      journal: {
        playbacks: async () => running(house, 'store').playbacks(),
        setPlaybacks: async (rows, alarm) => running(house, 'store').setPlaybacks(rows, alarm),
      },
      // What is stale or unknown is no disarm (safety 2).
      disarmed: () =>
        (house.controller?.view().partitions ?? [])
          .filter(({ state, stale }) => state === 'disarmed' && !stale)
          .map(({ id }) => id),
      access: speakerAccess(house, clock),
      onSpeaker: (speaker, condition) => tellLink(house, speaker, condition),
    },
    onChanged(playback) {
      house.lan?.playbackChanged(playback);
      logEnd(log, playback);
    },
    ...{ clock, quality: quality.current, log, metrics },
  });
}

/** A speaker that is away is a trouble of the site, as a camera is. */
function tellLink(house: House, id: DeviceId, { up, detail }: SpeakerCondition): void {
  const reason = up === false && detail !== undefined ? { reason: detail } : {};
  void house.controller
    ?.signals([{ kind: 'link', source: { kind: 'speaker', id }, layer: 'device', up: up === true, ...reason }])
    // Only a controller that is ending refuses.
    .catch(() => undefined);
}

function logEnd(log: Logger, { playback_id, audio_message_id, status, requested_by, devices }: PlaybackShown): void {
  if (status === 'queued' || status === 'playing') return;
  const failed = devices.flatMap(({ device_id, reason }) => (reason === undefined ? [] : `${device_id}: ${reason}`));
  const about = { playback: playback_id, message: audio_message_id, by: requested_by, status };
  log[status === 'failed' ? 'warn' : 'info']({ ...about, ...(failed.length > 0 && { failed }) }, 'a message has ended');
}

/** They lie beside the bundle; in development there are none, only the tones made in code. */
const spokenMessages = (): { spoken?: string } =>
  import.meta.url.endsWith('.ts') ? {} : { spoken: join(import.meta.dirname, 'audio') };
