import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { topOf } from './missing.ts';
import { readState } from './state-rows.ts';

/** A larger file is not copied; what it says is unknown then, and unknown never counts as disarmed. */
const mostBytes = 128 * 1024 ** 2;

/** What `site.db` says of the site, read from a state directory that cannot be written. */
export interface Peek {
  readonly epoch: number;
  readonly lastBoot: string | undefined;
  readonly order: number;
  readonly pieces: readonly string[];
  /** Above every seq that was handed out. */
  readonly top: number;
  /** See `topOf`. */
  readonly last: number;
}

/**
 * SQLite cannot read a database with a write-ahead log where it may not write, so both are copied into a private
 * temporary folder and read there. Undefined when that does not work, whatever the reason: the caller starts without.
 */
export function peek(path: string): Peek | undefined {
  let dir: string | undefined;
  try {
    const parts = ['', '-wal'].filter((suffix) => existsSync(path + suffix));
    const bytes = parts.reduce((sum, suffix) => sum + statSync(path + suffix).size, 0);
    if (bytes === 0 || bytes > mostBytes) return undefined;
    dir = mkdtempSync(join(tmpdir(), 'siteward-peek-'));
    for (const suffix of parts) copyFileSync(path + suffix, join(dir, `copy${suffix}`));
    return read(join(dir, 'copy'));
  } catch {
    return undefined;
  } finally {
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  }
}

function read(path: string): Peek | undefined {
  const db = new Sqlite(path, { timeout: 0 });
  try {
    const meta = db.prepare<[string], string>('SELECT v FROM meta WHERE k = ?').pluck();
    const { order, pieces } = readState(db);
    if (pieces === undefined) return undefined;
    const last = topOf({ db });
    return {
      epoch: Number(meta.get('epoch')),
      lastBoot: meta.get('boot'),
      order,
      pieces,
      top: Math.max(last, Number(meta.get('reserved') ?? 0)),
      last,
    };
  } finally {
    db.close();
  }
}
