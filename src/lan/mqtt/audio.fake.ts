import { SitewardError } from '#errors.ts';
import type {
  Asker,
  AudioMessageShown,
  CancelWish,
  PlaybackShown,
  PlayWish,
  SpeakerPlayback,
} from '#site/model/index.ts';
import type { SitePort } from './site-port.ts';

/** A speaker `gate` with two messages; a third stands for what only the service holds. */
export interface FakeAudio {
  readonly port: SitePort['audio'];
  messages: readonly AudioMessageShown[];
  readonly wishes: (PlayWish & { readonly by: string | Asker })[];
  readonly cancels: (readonly [target: CancelWish, alarms: boolean, by: string | Asker])[];
  /** What becomes of the next wish. */
  failure: Error | undefined;
  status: SpeakerPlayback['status'];
  /** As the daemon calls the room. */
  onChanged: (playback: PlaybackShown) => void;
  /** Puts one there, or another state of it. */
  set(id: string, status: SpeakerPlayback['status'], change?: Partial<PlaybackShown>): PlaybackShown;
  forget(id: string): void;
}

const message = (key: string, change: Partial<AudioMessageShown> = {}): AudioMessageShown => ({
  ...{ audio_message_id: key, key, name: key, description: '', duration_seconds: 2, language: 'en-US' },
  ...{ category: 'announcement', source: 'builtin', ...change },
});

export function fakeAudio(wall: () => number = Date.now): FakeAudio {
  const playbacks = new Map<string, PlaybackShown>();

  const audio: FakeAudio = {
    messages: [
      message('alarm.siren', { name: 'Siren', category: 'alarm' }),
      message('announcement.leave', { name: 'Please leave' }),
    ],
    wishes: [],
    cancels: [],
    failure: undefined,
    status: 'playing',
    onChanged: () => undefined,
    set(id, status, change = {}) {
      const before = playbacks.get(id);
      const ended = status !== 'queued' && status !== 'playing';
      const now = new Date(wall()).toISOString();
      const count = (what: string) => (status === what ? 1 : 0);
      const playback: PlaybackShown = {
        ...{ playback_id: id, audio_message_id: 'announcement.leave', name: 'Please leave', category: 'announcement' },
        ...{ started_at: now, created_at: now, volume: 70, repeat: 1, requested_by: 'local' },
        ...before,
        ...change,
        status,
        devices: [{ device_id: 'gate', name: 'Gate', status, ...(ended && { ended_at: now }) }],
        seq: (before?.seq ?? -1) + 1,
        summary: {
          ...{ completed: count('completed'), failed: count('failed'), cancelled: count('cancelled'), total: 1 },
        },
        ...(change.devices !== undefined && { devices: change.devices }),
      };
      playbacks.set(id, playback);
      audio.onChanged(playback);
      return playback;
    },
    forget: (id) => void playbacks.delete(id),
    port: {
      messages: () => audio.messages,
      speakers: () => [{ device_id: 'gate', name: 'Gate', driver: 'capture', enabled: true, up: true }],
      playbacks: () => [...playbacks.values()].reverse(),
      async play(wish, by) {
        const asked = wish as PlayWish;
        audio.wishes.push({ ...asked, by });
        if (audio.failure !== undefined) throw audio.failure;
        const { playback_id: id = 'no-id-given', audio_message_id, volume = 70, repeat = 1 } = asked;
        const found = audio.messages.find((one) => one.key === audio_message_id);
        if (found === undefined)
          throw new SitewardError('audio_unknown', 'no such message', { facts: { field: 'audio_message_id' } });
        const known = playbacks.get(id);
        if (known !== undefined) return known;
        const category = asked.category ?? found.category;
        return audio.set(id, audio.status, {
          ...{ audio_message_id, name: found.name, volume, repeat, category, requested_by: String(by) },
        });
      },
      async cancel(target, alarms, by) {
        audio.cancels.push([target, alarms, by]);
        const id = typeof target === 'object' && 'playback' in target ? target.playback : '';
        const known = playbacks.get(id);
        if (known === undefined)
          throw new SitewardError('audio_unknown', 'no such playback', { facts: { field: 'playback_id' } });
        if (known.status === 'queued' || known.status === 'playing') audio.set(id, 'cancelled');
        return [playbacks.get(id) ?? known];
      },
    },
  };
  return audio;
}
