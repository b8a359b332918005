import { SitewardError } from '#errors.ts';
import type { BackupPort } from '#lan/http/index.ts';
import { auditNotes } from '#site/audit-notes.ts';
import type { Note } from './audit-wiring.ts';
import type { House } from './house.ts';

/** Keeps the databases still for whoever copies them (`siteward backup`), and puts on record that it was done. */
export function backupPort({ house, note }: { house: House; note: Note }): BackupPort {
  return {
    async step(step, by) {
      const { store } = house;
      if (store === undefined) throw new SitewardError('store_unavailable', 'the store does not run yet; try again');
      if (step !== 'done') return store.hold(step === 'hold');
      await note(auditNotes.backup(by));
      return false;
    },
  };
}
