import type {
  CaptureJob,
  Changes,
  EventDraft,
  PanelCommand,
  PartitionId,
  PartitionState,
  SiteEvent,
  SiteView,
} from './model/index.ts';
import type { OutboxRow } from './store/index.ts';

/** What the controller needs of the other rooms; `daemon.ts` fills it in. None of these may throw or wait. */
export interface Ports {
  readonly publish: Publish;
  readonly panels: PanelsPort;
  readonly capture: CapturePort;
  readonly sound: SoundPort;
  readonly delivery: DeliveryPort;
  /** The cloud's event as JSON text without `event_time` and `sent_at`. Pure; called once per event. */
  readonly encode: (event: SiteEvent, draft: EventDraft) => string;
}

export interface Publish {
  /** After each decision that changed something a client can see. */
  state(view: SiteView, changes: Changes): void;
  /** After the commit, or after 2 s with `data.durable: false`. */
  event(event: SiteEvent): void;
}

export interface PanelsPort {
  /** Sends one command to a panel. What came of it arrives as signals: an observed state, or a refusal. */
  send(command: PanelCommand): void;
}

export interface CapturePort {
  /**
   * Takes the pictures an event announced, beginning at once. Rows of the media table are updated only after
   * `committed` has resolved.
   */
  capture(job: CaptureJob): void;
}

export interface SoundPort {
  /** Ends the sound of a burglary in this partition within 300 ms; fire and other life safety go on (safety 9). */
  hush(partition: PartitionId): void;
  /**
   * Something was decided that everybody may know; at the decision, before the commit, so that no disk holds up a sound. Never
   * of a silent event (safety 4). With the partition as it is now.
   */
  decided(event: SiteEvent, partition: PartitionState | undefined): void;
}

export interface DeliveryPort {
  /** New rows are on disk. */
  wake(): void;
  /** Rows that could not be written: sent from memory, at most 1,200 of them; the oldest of the least important lane gives way. */
  direct(rows: readonly OutboxRow[]): void;
  /** Some of these are on disk now. */
  written?(rows: readonly OutboxRow[]): void;
  /** The cloud has this one of them. Answers after the stop of delivery too. */
  wasAccepted?(seq: number): boolean;
}
