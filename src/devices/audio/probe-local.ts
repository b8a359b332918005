import { tmpdir } from 'node:os';
import type { Probe } from './driver.ts';
import { createPlayers } from './drivers/child.ts';
import type { SpeakerOptions } from './options.ts';
import { createSpeaker } from './speakers.ts';

/** Speakers that this box plays on by itself. */
const local: ReadonlySet<string> = new Set(['alsa', 'pulse', 'command', 'capture', 'null']);

/**
 * Asks a speaker of this box, without a sound, whether it is there; undefined for one on the network, which counts wrong passwords and
 * is asked by the daemon alone. Rejects with a `SpeakerError`, or the reason of the signal.
 */
export async function probeLocalSpeaker(options: SpeakerOptions, signal: AbortSignal): Promise<Probe | undefined> {
  if (!local.has(options.driver)) return undefined;
  return createSpeaker(options, { folder: tmpdir(), players: createPlayers(), lane: options.id }).driver.probe(signal);
}
