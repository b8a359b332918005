import { join } from 'node:path';
import { crashPoint } from '#lib/crash-point.ts';
import type { BulkFile } from './bulk-file.ts';
import type { FileName } from './lanes.ts';
import { noteFilled, unreadIn } from './missing.ts';
import { markRead } from './quarantine.ts';
import { attempt, type Note } from './quiet.ts';
import { Salvage, type SalvageProgress } from './salvage.ts';
import { addSilentGap } from './silent-gap.ts';
import type { SiteFile } from './site-file.ts';
import { openable, openSource } from './source.ts';
import type { Durably } from './transactions.ts';

const key = 'salvage';

/**
 * The files that were set aside and not yet read to their end. The list and the place in it stand in the new file and are written in
 * the same transaction as what was copied: after a kill it goes on where it stopped, and copies nothing twice.
 */
export class Mending {
  readonly #dir: string;
  readonly #note: Note;
  readonly #wall: () => number;
  readonly #durably: Durably;
  readonly #running = new Map<FileName, Salvage>();
  readonly #plans = new Map<FileName, readonly SalvageProgress[]>();
  #restored = 0;
  #news = false;

  constructor(options: { dir: string; note: Note; wall: () => number; durably: Durably }) {
    this.#dir = options.dir;
    this.#note = options.note;
    this.#wall = options.wall;
    this.#durably = options.durably;
  }

  /** A report is due: something was restored, or a file has been read to its end. */
  get hasNews(): boolean {
    const news = this.#news || this.#restored > 0;
    this.#news = false;
    return news;
  }

  /** Events put back in line since the last call. */
  takeRestored(): number {
    const restored = this.#restored;
    this.#restored = 0;
    return restored;
  }

  isAtWork(name: FileName): boolean {
    return (this.#plans.get(name)?.length ?? 0) > 0;
  }

  /** What is still to be read for the file that is being set aside itself now. */
  unfinished(name: FileName): readonly SalvageProgress[] {
    return this.#plans.get(name) ?? [];
  }

  /** Writes the plan into the new file. */
  begin(file: SiteFile | BulkFile, plan: readonly SalvageProgress[]): void {
    this.#stop(file.name);
    const [first] = plan;
    if (first !== undefined) openable(join(this.#dir, first.kept), file.name);
    this.#news = true;
    this.#plans.set(file.name, plan);
    save(file, plan);
    crashPoint('salvage.begun');
  }

  /** After the file was opened: a plan of a former run goes on. */
  resume(file: SiteFile | BulkFile): void {
    this.#stop(file.name);
    this.#plans.set(file.name, planOf(file));
  }

  /**
   * One slice in one transaction; throws what the new file's write throws. Afterwards the plan of the file is empty
   * or there is more to do.
   */
  step(file: SiteFile | BulkFile, until: number): void {
    const [current, ...others] = this.#plans.get(file.name) ?? [];
    if (current === undefined) return;
    let salvage: Salvage | undefined;
    try {
      salvage = this.#salvage(file, current);
    } catch {
      this.#finish(file, { ...current, unreadable: unreadIn(file, current) }, others);
      return;
    }
    const { events } = salvage.progress;
    let done = false;
    try {
      this.#durably(file, () => {
        done = salvage.step(until);
        if (!done) save(file, [salvage.progress, ...others]);
      });
    } catch (error) {
      // Rolled back: the next try begins where the file says.
      this.#stop(file.name);
      throw error;
    }
    crashPoint('salvage.slice');
    const { pending } = file.outbox.counts;
    for (const [lane, count] of salvage.takeAdded().entries()) pending[lane] = (pending[lane] ?? 0) + count;
    this.#restored += salvage.progress.events - events;
    this.#plans.set(file.name, [structuredClone(salvage.progress), ...others]);
    if (done) this.#finish(file, salvage.progress, others);
  }

  close(): void {
    for (const name of this.#running.keys()) this.#stop(name);
  }

  #salvage(file: SiteFile | BulkFile, progress: SalvageProgress): Salvage {
    const running = this.#running.get(file.name);
    if (running !== undefined) return running;
    const made = new Salvage({ path: join(this.#dir, progress.kept), to: file, progress, wall: this.#wall });
    this.#running.set(file.name, made);
    return made;
  }

  /** The counts become gap records in the transaction that ends the plan. */
  #finish(file: SiteFile | BulkFile, progress: SalvageProgress, others: readonly SalvageProgress[]): void {
    const { kept, last, events, parked, unreadable, silent } = progress;
    this.#durably(file, () => {
      const at = this.#wall();
      for (const { lane, count, from, to } of unreadable) {
        file.outbox.gaps.add({ lane, seqFrom: from, seqTo: to, count, why: 'damage', at });
      }
      for (const one of silent) addSilentGap(file.db, one, at);
      noteFilled(file, last);
      save(file, others);
    });
    this.#stop(file.name);
    file.recount();
    this.#plans.set(file.name, others);
    this.#news = true;
    // Without the mark the worst is that a lost site.db is filled from it again.
    attempt(() => markRead(join(this.#dir, kept)));
    const lost = unreadable.reduce((sum, { count }) => sum + count, 0);
    const facts = { file: `${file.name}.db`, kept, events, parked, unreadable: lost };
    this.#note(lost > 0 ? 'error' : 'info', 'a damaged database file has been read to its end', facts);
  }

  #stop(name: FileName): void {
    this.#running.get(name)?.close();
    this.#running.delete(name);
  }
}

/** Of a file that is open. Empty when what stands there is no plan. */
const planOf = (file: Pick<SiteFile | BulkFile, 'db'>): SalvageProgress[] => attempt(() => readPlan(file)) ?? [];

function readPlan({ db }: Pick<SiteFile | BulkFile, 'db'>): SalvageProgress[] {
  const text = db.prepare('SELECT v FROM meta WHERE k = ?').pluck().get(key);
  const plan = typeof text === 'string' ? (JSON.parse(text) as SalvageProgress[]) : [];
  // An older siteward counted no silent events.
  return plan.map((one) => ({ ...one, silent: one.silent ?? [] }));
}

function save({ db }: SiteFile | BulkFile, plan: readonly SalvageProgress[]): void {
  if (plan.length === 0) db.prepare('DELETE FROM meta WHERE k = ?').run(key);
  else db.prepare('INSERT OR REPLACE INTO meta(k, v) VALUES(?, ?)').run(key, JSON.stringify(plan));
}

/** The unfinished plan in a file that was itself set aside; undefined when it cannot be read. */
export function planIn(kept: string, name: FileName): SalvageProgress[] | undefined {
  if (!openable(kept, name)) return undefined;
  let old: SiteFile['db'] | undefined;
  try {
    old = openSource(kept);
    return readPlan({ db: old });
  } catch {
    return undefined;
  } finally {
    old?.close();
  }
}
