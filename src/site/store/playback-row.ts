import type { PlaybackRow } from '#site/model/index.ts';

const rowBytes = 128;

/** What rows cost on their way to the disk, about. */
export const playbackBytes = (rows: readonly PlaybackRow[]): number =>
  rows.reduce((sum, { record }) => sum + rowBytes + (record?.length ?? 0), 0);

export interface PlaybackStore {
  /** All that are kept, in the order in which they were first written. */
  playbacks(): Promise<PlaybackRow[]>;
  /** Each as a whole, in one transaction. `alarm`: it may use the room that is kept for alarms. */
  setPlaybacks(rows: readonly PlaybackRow[], alarm: boolean): Promise<void>;
}
