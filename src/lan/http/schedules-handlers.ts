import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import { answerDeadlineMs, askerOf, json } from './answering.ts';
import type { SchedulesPort } from './port.ts';
import type { scheduleOperations } from './schedules-operations.ts';

/** One slow hash, one commit, and others with codes before it. */
const postponeMs = 8000;

/** The handlers of the schedules. */
export function scheduleHandlers(port: SchedulesPort): Handlers<typeof scheduleOperations, By> {
  return {
    listSchedules: async ({ query, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => port.list(query.limit), 'reading the schedules')),
    async postponeSchedule({ params: { id }, body, identity, signal }) {
      const wish = { id, ...body, by: askerOf(identity) };
      return json(await withDeadline(postponeMs, signal, () => port.postpone(wish), 'postponing'));
    },
  };
}
