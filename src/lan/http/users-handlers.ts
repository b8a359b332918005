import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { localClient } from '#site/model/index.ts';
import type { UsersPort } from './port.ts';
import type { userOperations } from './users-operations.ts';

/** Three slow hashes and two synced files on a slow card. */
const changeMs = 8000;

/** The handlers of the users. */
export function userHandlers(
  port: UsersPort,
  { deadlineMs, json }: { deadlineMs: number; json: (body: unknown) => Reply },
): Handlers<typeof userOperations, 'local'> {
  return {
    listUsers: async ({ signal }) =>
      json({ items: await withDeadline(deadlineMs, signal, () => port.list(), 'reading the users') }),
    addUser: async ({ body, signal }) =>
      json(await withDeadline(changeMs, signal, () => port.add(body, localClient), 'adding a user')),
    async setUserCode({ params: { id }, body, signal }) {
      await withDeadline(changeMs, signal, () => port.setCode({ id, ...body, actor: localClient }), 'changing a code');
      return json({ changed: id });
    },
    async removeUser({ params: { id }, query, signal }) {
      const change = { id, lastOwner: query.last_owner === 'true', actor: localClient };
      await withDeadline(changeMs, signal, () => port.remove(change), 'removing a user');
      return json({ removed: id });
    },
  };
}
