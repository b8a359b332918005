import type { DeviceId, PartitionId, SelfTestResult } from '#site/model/index.ts';
import type { SpeakerLogin, Trust } from './drivers/network.ts';
import type { JournalPort } from './journal.ts';
import type { SpeakerOptions } from './options.ts';
import type { SpeakerCondition } from './probes.ts';
import type { NextRuns } from './rules/index.ts';

export type { SpeakerCondition } from './probes.ts';

/** How a speaker on the network is reached. */
export interface SpeakerAccess {
  /** Of its RTSP stream; asked for each sound. */
  address(signal: AbortSignal): Promise<string>;
  readonly login: SpeakerLogin;
  readonly trust: Trust;
}

/** What the speakers of a site need of the other rooms. */
export interface AudioPorts {
  readonly journal: JournalPort;
  /** Partitions that are known to be disarmed now: after a start nothing of a burglary waits for them. */
  readonly disarmed: () => readonly PartitionId[];
  /** Asked anew whenever the speakers change, for all of them: those of one device have one account. */
  readonly access?: (speakers: readonly SpeakerOptions[]) => ReadonlyMap<DeviceId, SpeakerAccess>;
  /** A speaker has gone, or is back. */
  readonly onSpeaker: (speaker: DeviceId, condition: SpeakerCondition) => void;
  /** The messages of the site were read after the start. */
  readonly onMessages?: () => void;
  /** Whether an alarm of the site goes on: no speaker is tested then. */
  readonly alarmActive?: () => boolean;
  /** When rules by the clock and the test of each month come next; without it they never do. */
  readonly nextRuns?: NextRuns;
  readonly onTested?: (results: readonly SelfTestResult[], by: string) => void;
}
