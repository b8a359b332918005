import type { DeviceId, Lane, MediaItem, MediaOutcome } from '#site/model/index.ts';

/**
 * What the media room needs of others; `daemon.ts` fills it in. Nobody counts or logs what is asked of them: it may be for a
 * silent event (safety 4).
 */

export interface Picture {
  readonly bytes: Uint8Array;
  readonly mime: 'image/jpeg';
}

/** How a picture or stream is asked for. */
export interface Ask {
  /** The device is asked now; a recorder is asked for one after the other. */
  readonly onTurn?: (() => void) | undefined;
  /** For a silent event: nothing may show that it was asked for (safety 4). */
  readonly silent?: boolean | undefined;
}

export interface PictureSource {
  /** One picture, now. Rejects with `camera_unreachable`, `camera_auth`, `picture_invalid` or `deadline`. */
  snapshot(camera: string, signal: AbortSignal, ask?: Ask): Promise<Picture>;
}

export interface StreamSource {
  /**
   * Runs `work` with an rtsp address of this machine at which the camera's stream can be read, once and without a
   * password, until `work` settles. Where the camera is to blame rejects with `camera_unreachable`, `camera_auth`,
   * `camera_certificate`, `camera_fault`, `camera_bad_answer` or `deadline`, otherwise as `work` does.
   */
  read<T>(camera: DeviceId, signal: AbortSignal, work: (url: string) => Promise<T>, ask?: Ask): Promise<T>;
}

export interface ClipOrder {
  readonly camera: DeviceId;
  /** Monotonic, from when to when; what lies before now comes from the camera's ring, if it keeps one. */
  readonly startMono: number;
  readonly endMono: number;
  /** Path of the file to write; whatever lies there is replaced. */
  readonly to: string;
  readonly maxBytes: number;
}

export interface ClipSource {
  /**
   * Writes an MP4 that begins with a key frame and resolves with the moment of that frame, which may be before or after
   * the one asked for. Rejects as `StreamSource.read` does; what it has written then may be left behind.
   */
  clip(order: ClipOrder, signal: AbortSignal): Promise<{ readonly startedMono: number }>;
}

export interface FrameSource {
  /** The picture of a moment that is past, monotonic, from the camera's ring. Rejects where none holds it. */
  frame(camera: DeviceId, atMono: number, signal: AbortSignal): Promise<Picture>;
}

export interface PlannedMedia extends MediaItem {
  readonly seq: number;
  readonly lane: Lane;
  /** Wall clock of the event, milliseconds. */
  readonly eventWall: number;
  readonly state: 'planned' | 'ready' | 'uploaded' | 'failed';
  readonly file?: string;
  readonly bytes?: number;
  /** Its loss shows in no metric (safety 4). */
  readonly silent?: true;
}

/** The rows of the media table, where the store keeps them. Idempotent; may reject while the store is away. */
export interface MediaTable {
  update(outcomes: readonly MediaOutcome[]): Promise<void>;
  list(states: readonly ('planned' | 'ready')[], limit: number): Promise<readonly PlannedMedia[]>;
  /** False while rows may come that are in no list yet: of a damaged file, of one that is not open, of events in memory. */
  isWhole(): boolean;
  /** Since when about the cloud has it, wall clock; undefined where it has not, or its event is silent (safety 4). */
  uploadedAt(seq: number, index: number): Promise<number | undefined>;
}
