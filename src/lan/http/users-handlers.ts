import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { answerDeadlineMs, askerOf, json } from './answering.ts';
import type { UsersPort } from './port.ts';
import type { userOperations } from './users-operations.ts';

/** Three slow hashes and two synced files on a slow card. */
const changeMs = 8000;

/** The handlers of the users. */
export function userHandlers(port: UsersPort): Handlers<typeof userOperations, By> {
  return {
    listUsers: async ({ signal }) =>
      json({ items: await withDeadline(answerDeadlineMs, signal, () => port.list(), 'reading the users') }),
    addUser: async ({ body, identity, signal }) =>
      json(await withDeadline(changeMs, signal, () => port.add(body, askerOf(identity)), 'adding a user')),
    async setUserCode({ params: { id }, body, identity, signal }) {
      const change = { id, ...body, by: askerOf(identity) };
      await withDeadline(changeMs, signal, () => port.setCode(change), 'changing a code');
      return json({ changed: id });
    },
    async removeUser({ params: { id }, query, identity, signal }) {
      const change = { id, lastOwner: query.last_owner === 'true', by: askerOf(identity) };
      await withDeadline(changeMs, signal, () => port.remove(change), 'removing a user');
      return json({ removed: id });
    },
  };
}
