import type { Handlers, Reply } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { SchedulesPort } from './port.ts';
import type { scheduleOperations } from './schedules-operations.ts';

/** One slow hash, one commit, and others with codes before it. */
const postponeMs = 8000;

/** The handlers of the schedules. */
export function scheduleHandlers(
  port: SchedulesPort,
  { deadlineMs, json }: { deadlineMs: number; json: (body: unknown) => Reply },
): Handlers<typeof scheduleOperations, 'local'> {
  return {
    listSchedules: async ({ query, signal }) =>
      json(await withDeadline(deadlineMs, signal, () => port.list(query.limit), 'reading the schedules')),
    postponeSchedule: async ({ params: { id }, body, signal }) =>
      json(await withDeadline(postponeMs, signal, () => port.postpone({ id, ...body }), 'postponing')),
  };
}
