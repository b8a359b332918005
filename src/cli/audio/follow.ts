import { sleep } from '#lib/wait.ts';
import { type PlaybackShown, playbackShown, type SpeakerPlayback } from '#site/model/index.ts';
import { answered, type Control, patience } from '../control.ts';
import { hasEnded } from './words.ts';

const askEveryMs = 200;

/**
 * Asks after a playback until it has ended, on all its speakers or on those of `only`, and tells every change of one. The daemon
 * bounds how long one takes. Resolves with it as it was last; rejects with the reason of the signal.
 */
export async function follow(
  control: Control,
  begun: PlaybackShown,
  options: {
    readonly signal: AbortSignal;
    readonly only?: string;
    readonly tell?: (device: SpeakerPlayback) => void;
  },
): Promise<PlaybackShown> {
  const { signal, only, tell } = options;
  const told = new Map<string, string>();
  for (let playback = begun; ; ) {
    for (const device of playback.devices) {
      const now = `${device.status} ${device.reason}`;
      if (told.get(device.device_id) === now) continue;
      told.set(device.device_id, now);
      tell?.(device);
    }
    if (playback.devices.every((device) => hasEnded(device) || (only !== undefined && device.device_id !== only)))
      return playback;
    await sleep(askEveryMs, signal);
    playback = await playbackOf(control, playback.playback_id);
  }
}

export async function playbackOf({ client }: Control, id: string): Promise<PlaybackShown> {
  return playbackShown.parse(answered(await client.getPlayback({ params: { id }, signal: patience() })).json);
}
