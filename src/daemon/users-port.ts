import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import type { UserEntry, UsersPort } from '#lan/http/index.ts';
import { auditNotes, type UserChange } from '#site/audit-notes.ts';
import type { Asker } from '#site/model/index.ts';
import type { ListedUser, UserRecord } from '#site/users/index.ts';
import type { Note } from './audit-wiring.ts';
import { type House, running } from './house.ts';

/** The users as the control socket sees them. Changes are logged by id; names and codes stay out of the log (safety 11). */
export function usersPort({ house, log, note }: { house: House; log: Logger; note: Note }): UsersPort {
  const users = () => running(house, 'codes');

  async function told<T>(by: Asker, id: string, action: UserChange, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SitewardError) await note(auditNotes.userRefused(by, id, action, error.code));
      throw error;
    }
  }

  return {
    list: async () => (await users().list()).map(entryOf),
    async add({ duress_code: duressCode, valid_from: validFrom, valid_until: validUntil, ...user }, by) {
      const limits = { ...(validFrom !== undefined && { validFrom }), ...(validUntil !== undefined && { validUntil }) };
      const added = await told(by, user.id, 'user_added', () =>
        users().add({ ...user, ...limits, duressCode }, by.client),
      );
      log.warn({ actor: by.client, user: added.id, role: added.role }, 'a user was added');
      await note(auditNotes.userAdded(by, added));
      return fileEntry(added);
    },
    async setCode({ id, code, duress_code: duressCode, consent, by }) {
      await told(by, id, 'user_code_changed', () => users().setCode(id, { code, duressCode, consent }));
      log.warn({ actor: by.client, user: id }, 'a user was given another code');
      await note(auditNotes.userCode(by, id));
    },
    async remove({ id, lastOwner, by }) {
      await told(by, id, 'user_removed', () => users().remove(id, { lastOwner }));
      log.warn({ actor: by.client, user: id }, 'a user was removed');
      await note(auditNotes.userRemoved(by, id));
    },
  };
}

function entryOf(user: ListedUser): UserEntry {
  return user.source === 'file' ? { ...fileEntry(user), now: user.now } : user;
}

const fileEntry = ({
  id,
  name,
  role,
  validFrom,
  validUntil,
  windows,
  createdAt,
  createdBy,
}: UserRecord): UserEntry => ({
  id,
  name,
  role,
  source: 'file',
  ...(validFrom !== undefined && { valid_from: validFrom }),
  ...(validUntil !== undefined && { valid_until: validUntil }),
  ...(windows !== undefined && { windows }),
  created_at: createdAt,
  created_by: createdBy,
});
