import { sleep } from '#lib/wait.ts';
import type { MediaOutcome } from '#site/model/index.ts';
import type { MediaTable, PlannedMedia } from './ports.ts';
import { nameOf, type Spool } from './spool.ts';

export interface SweepOptions {
  readonly spool: Spool;
  readonly table: MediaTable;
  /** What lay in the folder before the first picture of this run; nothing else is touched. */
  readonly names: readonly string[];
  readonly wall: () => number;
  readonly record: (outcome: MediaOutcome) => Promise<void>;
  /** One that was planned, has no file, and is still worth making. False when it is too late for it. */
  readonly retake: (row: PlannedMedia) => boolean;
  readonly onReady: () => void;
  readonly signal: AbortSignal;
}

/** Rows looked at; a spool of the default budget holds a third of it. */
const rowCap = 10_000;
const lookAgainMs = 1000;

/**
 * After a restart files and rows are made to agree, in the background, one after the other. A half-written file goes. A
 * row whose file is gone or has another size is lost, and its trail says so. A whole file whose row still waits for it
 * is adopted. A file without a row is kept as long as its row may come back with a salvage. Resolves with these.
 */
export async function sweep(options: SweepOptions): Promise<readonly string[]> {
  const { spool, table, names, signal } = options;
  const rows = await table.list(['planned', 'ready'], rowCap);
  const there = new Set(names);
  // At once, since until then the others have less room for them (safety 4).
  for (const row of rows.filter(({ silent }) => silent === true)) {
    const bytes = await spool.size(nameOf(row));
    if (bytes !== undefined) show(row, bytes, options);
  }
  for (const row of rows) {
    signal.throwIfAborted();
    if (row.state === 'ready') await check(row, options);
    else if (there.has(nameOf(row))) await adopt(row, options);
    else if (!options.retake(row))
      await fail(
        row,
        `siteward was not running when the ${row.kind === 'snapshot' ? 'picture' : 'clip'} was due`,
        options,
      );
  }
  // With more rows than were looked at, nobody knows which file has none.
  if (rows.length >= rowCap) return [];
  const wanted = new Set(rows.map(nameOf));
  const orphans = names.filter((name) => spool.isOne(name) && !wanted.has(name));
  for (const file of orphans) await shelve(file, spool);
  return orphans;
}

async function shelve(file: string, spool: Spool): Promise<void> {
  const [seq, index] = file.split(/[-.]/).map(Number);
  const bytes = await spool.size(file);
  if (seq !== undefined && index !== undefined && bytes !== undefined) spool.shelve({ file, bytes, seq, index });
}

/**
 * Once no row can come any more a file that none waits for goes: its event was given up just before a run ended. What the
 * cloud had got just then is kept like the others. One whose row has come meanwhile is treated like all others.
 */
export async function settleOrphans(orphans: readonly string[], options: SweepOptions): Promise<void> {
  const { table, signal } = options;
  while (orphans.length > 0) {
    await sleep(lookAgainMs, signal);
    const rows = table.isWhole() ? await table.list(['planned', 'ready'], rowCap).catch(() => undefined) : undefined;
    // Damage that was found with this list is told of by then.
    await sleep(lookAgainMs, signal);
    if (rows === undefined || !table.isWhole()) continue;
    if (rows.length >= rowCap) return;
    const wanted = new Map(rows.map((row) => [nameOf(row), row]));
    for (const name of orphans) {
      const row = wanted.get(name);
      if (row === undefined) await keepOrRemove(name, options);
      else if (row.state === 'ready') await check(row, options);
      else await adopt(row, options);
    }
    return;
  }
}

async function keepOrRemove(name: string, { spool, table }: SweepOptions): Promise<void> {
  const [seq = 0, index = 0] = name.split(/[-.]/).map(Number);
  const at = await table.uploadedAt(seq, index);
  if (at === undefined) await spool.remove(name);
  else await spool.keep(name, at);
}

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
  await options.record({ ...place(row), at: options.wall(), state: 'ready', ...found });
  options.onReady();
}

const show = (row: PlannedMedia, bytes: number, { spool }: SweepOptions): void =>
  spool.shelve({ ...place(row), file: nameOf(row), bytes });

const fail = (row: PlannedMedia, reason: string, { record, wall }: SweepOptions): Promise<void> =>
  record({ ...place(row), at: wall(), state: 'failed', reason });

const place = ({ seq, lane, index, silent }: PlannedMedia) => ({
  seq,
  lane,
  index,
  ...(silent === true && { silent }),
});
