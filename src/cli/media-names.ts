import type { MediaFile } from '#lan/http/index.ts';

/** "-5.0s", "+0.0s": from the event. */
export const offset = (ms: number): string => `${ms < 0 ? '-' : '+'}${(Math.abs(ms) / 1000).toFixed(1)}s`;

/** What a file is called outside: it says what it is of. */
export const fileName = (event: number, { index, kind, camera, offset_ms }: MediaFile): string =>
  `event-${event}-${index}_${camera}_${kind}_${offset(offset_ms)}.${kind === 'snapshot' ? 'jpg' : 'mp4'}`;
