import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Settings } from '#config/index.ts';
import { type Audio, type AudioPlan, createAudio, type NextRuns, type SpeakerCondition } from '#devices/audio/index.ts';
import { auditNotes } from '#site/audit-notes.ts';
import { nextRuns } from '#site/core/index.ts';
import { alarming, type DeviceId, type PartitionState, type PlaybackShown } from '#site/model/index.ts';
import type { SoundPort } from '#site/ports.ts';
import { noteIn } from './audit-wiring.ts';
import { type House, running, type Surroundings } from './house.ts';
import { speakerAccess } from './speaker-access.ts';

/** A change of it begins anew; all else is taken while messages play. */
export const audioWants = ({ store }: Settings): unknown => store.dir;

export const audioPlan = ({ speakers, audio, site, cameras, nvrs, rules, holidays }: Settings): AudioPlan => ({
  ...{ speakers, audio, rules },
  timezone: site.timezone,
  ...(site.language !== undefined && { language: site.language }),
  devices: Object.fromEntries([
    ...cameras.map(({ id, url }) => [id, new URL(url).hostname]),
    // Each channel may have a speaker of its own behind its recorder.
    ...nvrs.flatMap((nvr) => nvr.channels.map(({ id }) => [id, `${nvr.id}/${id}`])),
  ]),
  holidays: holidays.map(({ from, to = from, name }) => ({ from, to, name })),
});

/** What a decision tells the speakers. */
export const soundIn = (house: House): SoundPort => ({
  hush: (partition) => house.audio?.hush(partition),
  decided: (event, partition) => house.audio?.decided(event, partition),
});

/** Messages on the speakers of the site. */
export function siteAudio(settings: Settings, metrics: Registry, surroundings: Surroundings): Audio {
  const { house, clock, quality } = surroundings;
  const log = surroundings.log('audio');
  const note = noteIn(house);
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
      onSpeaker: (speaker, condition) => void tellLink(house, speaker, condition),
      onMessages: () => house.lan?.messagesChanged(),
      // What nobody knows is no alarm: the test is quiet, and gives way to one.
      alarmActive: () => (house.controller?.view().partitions ?? []).some(isAlarming),
      nextRuns: nextPlays,
      onTested(results, by) {
        const words = results.map(
          ({ device_id, ok, reason }) => `${device_id} ${wordOf(ok)}${reason === undefined ? '' : ` (${reason})`}`,
        );
        const hasFailed = results.some(({ ok }) => ok === false);
        log[hasFailed ? 'warn' : 'info']({ by, speakers: words }, 'the speakers were tested');
        const failed = results.flatMap(({ ok, device_id }) => (ok === false ? [device_id] : []));
        void note(
          auditNotes.audio(
            'self_test',
            by,
            'speakers',
            undefined,
            `${results.length} tested, failed: ${failed.join(' ') || 'none'}`,
          ),
        );
      },
    },
    onChanged(playback) {
      house.lan?.playbackChanged(playback);
      house.live?.playbackChanged(playback);
      logEnd(log, playback);
    },
    ...{ clock, quality: quality.current, log, metrics },
  });
}

const isAlarming = ({ state, alarm }: PartitionState): boolean => alarming(state) || alarm !== undefined;

const wordOf = (ok: boolean | null): string => (ok === null ? 'left out' : ok ? 'ok' : 'failed');

/** So many of the next runs are looked at: some may be on holidays. */
const runsAhead = 100;

/** By the same rules as schedules: summer time, holidays, and a time that does not exist (docs/schedules.md). */
export const nextPlays: NextRuns = ({ timezone, holidays, slots }, afterWall) =>
  nextRuns(
    {
      ...{ timezone, holidays },
      schedules: slots.map((slot) => ({ ...slot, name: slot.id, action: { kind: 'announce', message: slot.id } })),
    },
    { afterWall, count: runsAhead },
  )
    .filter(({ skipped }) => !skipped)
    .map(({ schedule, date, at }) => ({ id: schedule, date, at }));

/** A speaker that is away is a trouble of the site, as a camera is. In a later turn: it may be found out within a decision. */
async function tellLink(house: House, id: DeviceId, { up, detail }: SpeakerCondition): Promise<void> {
  const reason = up === false && detail !== undefined ? { reason: detail } : {};
  await Promise.resolve();
  await house.controller
    ?.signals([{ kind: 'link', source: { kind: 'speaker', id }, layer: 'device', up: up === true, ...reason }])
    // Only a controller that is ending refuses.
    .catch(() => undefined);
}

function logEnd(log: Logger, { playback_id, audio_message_id, status, requested_by, devices }: PlaybackShown): void {
  if (status === 'queued' || status === 'playing') return;
  const reasons = devices.flatMap(({ device_id, reason }) => (reason === undefined ? [] : `${device_id}: ${reason}`));
  const about = { playback: playback_id, message: audio_message_id, by: requested_by, status };
  log[status === 'failed' ? 'warn' : 'info'](
    { ...about, ...(reasons.length > 0 && { reasons }) },
    'a message has ended',
  );
}

/** They lie beside the bundle; in development there are none, only the tones made in code. */
const spokenMessages = (): { spoken?: string } =>
  import.meta.url.endsWith('.ts') ? {} : { spoken: join(import.meta.dirname, 'audio') };
