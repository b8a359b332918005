/**
 * What the schemas of the model are made of, by itself: the store's thread needs no more of the model, and so need not load what makes
 * schemas.
 */

export const eventClasses = [
  'alarm',
  'trouble',
  'arming',
  'bypass',
  'test',
  'camera',
  'audio',
  'verification',
  'command',
  'system',
] as const;

/** Order of importance for delivery; `activity` lives in `bulk.db`, what is worth more in `site.db`. */
export const lanes = ['alarm', 'arming', 'trouble', 'activity'] as const;
export type Lane = (typeof lanes)[number];

/** How far the wall clock can be trusted. Rules depend on it. */
export const clockQualities = ['synced', 'holdover', 'doubtful'] as const;

/** A partition of the site: `p1`, `p2`, ... */
export const partitionPattern = /^p[1-9][0-9]{0,2}$/;

export const isoTime = (wallMs: number): string => new Date(wallMs).toISOString();

/** An ISO 8601 time with its zone. Nobody knows when one without it was. */
export const zonedTimePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})$/;
