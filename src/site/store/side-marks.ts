import type { BulkFile } from './bulk-file.ts';
import type { FoundEpoch } from './epoch.ts';
import type { FileName } from './lanes.ts';
import { addMissing, type Before, marksOf, missingOf, nothingBefore } from './missing.ts';
import { attempt, type Note, succeeds } from './quiet.ts';
import type { SideFile, WaitingMark } from './side.ts';
import type { SideKeeper } from './side-keeper.ts';
import type { SiteFile } from './site-file.ts';
import type { Durably } from './transactions.ts';

export interface SideMarksOptions {
  readonly keeper: SideKeeper;
  /** Undefined while they are not open. */
  readonly site: () => SiteFile | undefined;
  readonly bulk: () => BulkFile | undefined;
  readonly isMending: (name: FileName) => boolean;
  /** See `Emergency.left`. */
  readonly leftOfBulk: () => WaitingMark | undefined;
  readonly note: Note;
  readonly wall: () => number;
  readonly durably: Durably;
}

/** What the side file says of both databases, and what they lack of it. */
export class SideMarks {
  readonly #options: SideMarksOptions;
  /** What each file held when it was opened for the first time, before anything was added. */
  readonly #before = new Map<FileName, Before>();
  /** Alarms that came back from their second copy. */
  replayed = 0;
  /** What the side file said at the start, by the files that are still to be compared with it. */
  readonly #owed = new Map<FileName, SideFile>();

  constructor(options: SideMarksOptions) {
    this.#options = options;
  }

  /** A file was opened. One that is opened anew, or took the place of another, is no news of what the first one lacked. */
  note(name: FileName, before: Before): void {
    if (!this.#before.has(name)) this.#before.set(name, before);
  }

  /** The file is to be compared with what was said of it. */
  owe(name: FileName, side: SideFile): void {
    this.#owed.set(name, side);
  }

  /** What was set aside counts its own losses. */
  excuse(name: FileName): void {
    this.#owed.delete(name);
  }

  /** Compares each file once with what the side file said of it; where a gap record does not fit, again later. */
  compare(): void {
    for (const [name, side] of this.#owed) {
      const file = this.#opened(name);
      if (file !== undefined && succeeds(() => this.#compare(file, side))) this.#owed.delete(name);
    }
  }

  /** What the next start needs to tell a sound file from one that lost something. */
  write({ epoch, id }: FoundEpoch, change: Partial<SideFile>): void {
    const { keeper, leftOfBulk } = this.#options;
    const [site, bulk] = [this.#options.site(), this.#options.bulk()];
    if (site === undefined) return;
    const left = leftOfBulk();
    const owes = (name: FileName) => this.#owed.has(name) || (name === 'bulk' && left !== undefined);
    keeper.write({ epoch, id, ...marksOf({ site, bulk, owes, left, before: keeper.side }), ...change });
  }

  /** How many events were committed since the side file was written last. */
  get since(): number {
    const { keeper } = this.#options;
    const { last, reserved } = keeper.side ?? {};
    const [site, bulk] = [this.#options.site(), this.#options.bulk()];
    if (site === undefined || last === undefined) return 0;
    if (site.reserved !== reserved || keeper.isBehind) return Number.POSITIVE_INFINITY;
    return site.outbox.maxSeq() - last.site + (bulk === undefined ? 0 : bulk.outbox.maxSeq() - last.bulk);
  }

  #opened(name: FileName): SiteFile | BulkFile | undefined {
    return name === 'site' ? this.#options.site() : this.#options.bulk();
  }

  /** Gap records for what the side file knows of and the file does not. */
  #compare(file: SiteFile | BulkFile, side: SideFile): void {
    const { name } = file;
    const { isMending, wall, durably, note } = this.#options;
    if (isMending(name)) return;
    const of = (one: FileName) => this.#before.get(one) ?? nothingBefore;
    const before = { ...of(name), skipped: of('site').skipped };
    const other = this.#opened(name === 'site' ? 'bulk' : 'site');
    const replayed = name === 'site' ? this.replayed : 0;
    const missing = attempt(() => missingOf({ name, side, before, other, replayed })) ?? [];
    if (missing.length === 0) return;
    addMissing({ file, missing, at: wall(), durably });
    const facts = { file: `${name}.db`, count: missing.reduce((sum, one) => sum + one.count, 0) };
    note('error', 'a database file lacks events it is known to have had', facts);
  }
}
