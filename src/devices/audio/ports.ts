import type { DeviceId, PartitionId } from '#site/model/index.ts';
import type { JournalPort } from './journal.ts';
import type { SpeakerCondition } from './probes.ts';

export type { JournalPort, JournalRow } from './journal.ts';
export type { SpeakerCondition } from './probes.ts';

/** What the speakers of a site need of the other rooms. */
export interface AudioPorts {
  readonly journal: JournalPort;
  /** Partitions that are known to be disarmed now: after a start nothing of a burglary waits for them. */
  readonly disarmed: () => readonly PartitionId[];
  /** A speaker has gone, or is back. */
  readonly onSpeaker: (speaker: DeviceId, condition: SpeakerCondition) => void;
}
