import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { withDeadline } from '#lib/wait.ts';
import type { ActivityPort, activityOperations } from './activity-operations.ts';
import { answerDeadlineMs, json } from './answering.ts';
import type { auditOperations } from './audit-operations.ts';
import type { AuditPort, InputsPort } from './audit-port.ts';

/** A slow hash, and an entry on a slow card. */
const loginMs = 8000;

/** The handlers of the audit log, the cloud's activity log and the input log. */
export function auditHandlers({
  audit,
  inputs,
  activity,
}: {
  audit: AuditPort;
  inputs: InputsPort;
  activity: ActivityPort;
}): Handlers<typeof auditOperations & typeof activityOperations, By> {
  return {
    openAudit: async ({ body, signal }) =>
      json(await withDeadline(loginMs, signal, () => audit.open(body.code), 'checking the code')),
    listAudit: async ({ body, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => audit.entries(body), 'reading the audit log')),
    verifyAudit: async ({ body, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => audit.verify(body), 'verifying the audit log')),
    exportAudit: async ({ body, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => audit.export(body), 'reading the audit log')),
    async exportedAudit({ body, signal }) {
      await withDeadline(loginMs, signal, () => audit.exported(body), 'noting the export');
      return json({ exported: true });
    },
    // It has its own deadline: a cloud that is away is an answer too.
    getCloudActivity: async ({ body, signal }) => json(await activity.cloud(body, signal)),
    listInputs: async ({ query, signal }) =>
      json(await withDeadline(answerDeadlineMs, signal, () => inputs.lines(query.cursor), 'reading the input log')),
  };
}
