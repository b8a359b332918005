import type { Statement } from 'better-sqlite3';
import type { BulkFile } from './bulk-file.ts';
import type { SiteFile } from './site-file.ts';

/** One durable transaction; throws when it did not succeed, with everything undone where possible. */
export type Durably = (file: SiteFile | BulkFile, apply: () => void) => void;

interface Control {
  readonly begin: Statement;
  readonly commit: Statement;
  readonly rollback: Statement;
  /** Rows this connection ever changed. */
  readonly changes: Statement<[], number>;
}

/** Every transaction of the store: what it counts in memory fits to the file again after one that was undone. */
export class Transactions {
  readonly #control = new WeakMap<SiteFile | BulkFile, Control>();
  /** Told of each that ended well. One that changed nothing did not touch the disk. */
  ended: (file: SiteFile | BulkFile, hasWritten: boolean) => void = () => {};

  readonly durably: Durably = (file, apply) => {
    const control = this.#controlOf(file);
    let before: number | undefined;
    try {
      control.begin.run();
      before = control.changes.get();
      apply();
      control.commit.run();
    } catch (error) {
      rollback(file, control);
      throw error;
    }
    file.outbox.gaps.committed();
    this.ended(file, control.changes.get() !== before);
  };

  #controlOf(file: SiteFile | BulkFile): Control {
    let control = this.#control.get(file);
    if (control === undefined) {
      const prepare = (sql: string) => file.db.prepare(sql);
      control = {
        ...{ begin: prepare('BEGIN IMMEDIATE'), commit: prepare('COMMIT'), rollback: prepare('ROLLBACK') },
        changes: file.db.prepare<[], number>('SELECT total_changes()').pluck(),
      };
      this.#control.set(file, control);
    }
    return control;
  }
}

function rollback(file: SiteFile | BulkFile, control: Control): void {
  try {
    if (file.db.inTransaction) control.rollback.run();
    file.recount();
  } catch {
    // The connection is gone; whoever reported the first error opens the file again.
  }
}
