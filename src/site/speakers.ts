import { type Decision, hushedBy, type Input } from './core/index.ts';
import type { NumberedEvent } from './events.ts';
import { isSilent } from './model/index.ts';
import type { SoundPort } from './ports.ts';

/**
 * What a decision means for the speakers, at once: no disk holds up silence or sound. Silence goes first, so that what a disarm brings about
 * is heard. Of silent events nothing is told (safety 4).
 */
export function tellSpeakers(
  sound: SoundPort,
  { input, decision, numbered }: { input: Input; decision: Decision; numbered: readonly NumberedEvent[] },
): void {
  for (const partition of hushedBy(decision.effects)) sound.hush(partition);
  const { partitions } = decision.state;
  for (const { event, silent } of numbered) {
    // What a start finds has happened before; an alarm that goes on is one now.
    const isPast = input.kind === 'started' && event.class !== 'alarm';
    if (silent || isSilent(event) || isPast) continue;
    const of = event.partition;
    sound.decided(event, of !== undefined && Object.hasOwn(partitions, of) ? partitions[of] : undefined);
  }
}
