import { sleep } from '#lib/wait.ts';
import type { MediaOutcome, MediaTable, PlannedMedia } from './ports.ts';
import type { Spool } from './spool.ts';

export interface SweepOptions {
  readonly spool: Spool;
  readonly table: MediaTable;
  /** What lay in the folder before the first picture of this run; nothing else is touched. */
  readonly names: readonly string[];
  readonly wall: () => number;
  readonly record: (outcome: MediaOutcome) => Promise<void>;
  /** A picture that was planned, has no file, and is still worth taking. False when it is too late for it. */
  readonly retake: (row: PlannedMedia) => boolean;
  readonly onReady: () => void;
  readonly signal: AbortSignal;
}

/** Rows looked at; a spool of the default budget holds a third of it. */
const rowCap = 10_000;
const orphanKeptMs = 24 * 3_600_000;

/**
 * After a restart files and rows are made to agree, in the background, one after the other. A half-written file goes. A
 * row whose file is gone or has another size is lost, and its trail says so. A whole file whose row still waits for it
 * is adopted. A file without a row is kept for a day of running, since its row may come back with a salvage.
 */
export async function sweep(options: SweepOptions): Promise<readonly string[]> {
  const { spool, table, names, signal } = options;
  const rows = await table.list(['planned', 'ready'], rowCap);
  const there = new Set(names);
  for (const row of rows) {
    signal.throwIfAborted();
    if (row.state === 'ready') await check(row, options);
    else if (there.has(nameOf(row))) await adopt(row, options);
    else if (!options.retake(row)) await fail(row, 'siteward was not running when the picture was due', options);
  }
  // With more rows than were looked at, nobody knows which file has none.
  if (rows.length >= rowCap) return [];
  const wanted = new Set(rows.map(nameOf));
  return names.filter((name) => spool.isOne(name) && !wanted.has(name));
}

/** Removes files that still have no row after a day of running, however the wall clock was set meanwhile. */
export async function removeOrphans(
  orphans: readonly string[],
  options: Pick<SweepOptions, 'spool' | 'table' | 'signal'> & { readonly keptMs?: number },
): Promise<void> {
  if (orphans.length === 0) return;
  await sleep(options.keptMs ?? orphanKeptMs, options.signal);
  const rows = await options.table.list(['planned', 'ready'], rowCap);
  if (rows.length >= rowCap) return;
  const wanted = new Set(rows.map(nameOf));
  for (const name of orphans) if (!wanted.has(name)) await options.spool.remove(name);
}

const nameOf = (row: PlannedMedia): string => row.file ?? `${row.seq}-${row.index}.jpg`;

async function check(row: PlannedMedia, options: SweepOptions): Promise<void> {
  const bytes = await options.spool.size(nameOf(row));
  if (bytes === undefined) await fail(row, 'lost: the file is gone', options);
  else if (row.bytes !== undefined && bytes !== row.bytes) {
    await fail(row, `lost: the file has ${bytes} bytes, not the ${row.bytes} that were recorded`, options);
    await options.spool.remove(nameOf(row));
  } else show(row, bytes, options);
}

/** The process ended between the file and its row. */
async function adopt(row: PlannedMedia, options: SweepOptions): Promise<void> {
  const found = await options.spool.inspect(nameOf(row));
  if (found === undefined) return fail(row, 'lost: the file is empty or gone', options);
  show(row, found.bytes, options);
  await options.record({ ...place(row), at: options.wall(), state: 'ready', ...found, mime: 'image/jpeg' });
  options.onReady();
}

const show = (row: PlannedMedia, bytes: number, { spool }: SweepOptions): void => {
  if (row.silent !== true) spool.show(nameOf(row), bytes);
};

const fail = (row: PlannedMedia, reason: string, { record, wall }: SweepOptions): Promise<void> =>
  record({ ...place(row), at: wall(), state: 'failed', reason });

const place = ({ seq, lane, index, silent }: PlannedMedia) => ({
  seq,
  lane,
  index,
  ...(silent === true && { silent }),
});
