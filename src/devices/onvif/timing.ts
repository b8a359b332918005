/** Waits of a camera session, milliseconds. The defaults are for the field; tests make them small. */
export interface Timing {
  readonly retryBaseMs: number;
  readonly retryCapMs: number;
  /** After so much time of good pulls the waits begin small again. */
  readonly goodAfterMs: number;
  /** How long a camera that refused the password twice is left alone. */
  readonly authHoldMs: number;
  readonly createsPerWindow: number;
  readonly createWindowMs: number;
  readonly firstPullMs: number;
  /** A camera that cuts long pulls is asked for shorter ones, down to this. */
  readonly leastPullMs: number;
  /** Least time from pull to pull when nothing came, and when something came. */
  readonly emptyPullMs: number;
  readonly fullPullMs: number;
  readonly clockEveryMs: number;
  /** The same while the camera's clock is wrong. */
  readonly clockOffEveryMs: number;
  /** Deadline of a call, and of a pull beyond the time it may be held. */
  readonly callMs: number;
  readonly pullGraceMs: number;
  /** See `SilenceWatch`. */
  readonly greetMs: number;
  /** So long after it was asked how things stand a camera tells that. */
  readonly presentMs: number;
  readonly silentMs: number;
  readonly silentCapMs: number;
  /** How often a recorder's channels are read again, and the least time between two readings. */
  readonly topologyEveryMs: number;
  readonly topologyAtLeastMs: number;
  /** How long a channel must have no picture before that is told. */
  readonly lossAfterMs: number;
}

export const fieldTiming: Timing = {
  retryBaseMs: 1000,
  retryCapMs: 300_000,
  goodAfterMs: 60_000,
  authHoldMs: 15 * 60_000,
  createsPerWindow: 4,
  createWindowMs: 60_000,
  firstPullMs: 1000,
  leastPullMs: 4000,
  emptyPullMs: 1000,
  fullPullMs: 100,
  clockEveryMs: 3_600_000,
  clockOffEveryMs: 300_000,
  callMs: 10_000,
  pullGraceMs: 15_000,
  greetMs: 60_000,
  presentMs: 10_000,
  silentMs: 3_600_000,
  silentCapMs: 24 * 3_600_000,
  topologyEveryMs: 300_000,
  topologyAtLeastMs: 30_000,
  lossAfterMs: 30_000,
};
