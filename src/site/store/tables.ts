import { type FileName, fileNames } from './lanes.ts';

/** A table of `schema.ts`, for whoever goes through a file row by row. */
export interface Table {
  readonly name: string;
  readonly files: readonly FileName[];
  /** Columns of its key in order, each with a value below all of its own. */
  readonly key: Readonly<Record<string, string | number>>;
  /** An expression over its long texts, which lie on pages of their own. */
  readonly text?: string;
  /**
   * How it is brought back from a damaged file: with the events; row by row under its number, or under a new one; as a
   * list, which a small table without numbers is; or not at all.
   */
  readonly salvage: 'event' | 'numbered' | 'renumbered' | 'list' | 'none';
}

const site = ['site'] as const;
const bulk = ['bulk'] as const;

/**
 * Every table, in the order in which a salvage brings them back. A place in it is kept on disk while one is under way: a
 * new table goes to the end.
 */
export const tables: readonly Table[] = [
  { name: 'pend', files: fileNames, key: { lane: -1, seq: -1 }, salvage: 'event' },
  { name: 'ev', files: fileNames, key: { seq: -1 }, text: 'body || event', salvage: 'event' },
  { name: 'media', files: fileNames, key: { seq: -1, idx: -1 }, salvage: 'event' },
  { name: 'parked', files: fileNames, key: { seq: -1 }, text: 'reason', salvage: 'event' },
  // Its events are history.
  { name: 'done', files: fileNames, key: { seq: -1 }, salvage: 'none' },
  { name: 'arming', files: site, key: { id: -1 }, text: 'record', salvage: 'renumbered' },
  { name: 'gap', files: fileNames, key: { id: -1 }, text: 'why', salvage: 'renumbered' },
  { name: 'audit', files: site, key: { n: -1 }, text: 'record', salvage: 'numbered' },
  { name: 'anchor', files: site, key: { boot: '', mono: -1 }, salvage: 'list' },
  { name: 'memory', files: bulk, key: { room: '', k: '' }, text: 'v', salvage: 'list' },
  { name: 'inputs', files: bulk, key: { id: -1 }, text: 'line', salvage: 'none' },
  // An unknown state is safer than one from a damaged file.
  { name: 'core', files: site, key: { id: -1 }, text: 'state', salvage: 'none' },
  // What of it goes on is known to whoever opens the file.
  { name: 'meta', files: fileNames, key: { k: '' }, text: 'v', salvage: 'none' },
  { name: 'verification', files: site, key: { id: '' }, text: 'record', salvage: 'list' },
  { name: 'playback', files: site, key: { id: '' }, text: 'record', salvage: 'list' },
  // Goes with `core`.
  { name: 'piece', files: site, key: { n: -1 }, text: 'text', salvage: 'none' },
];
