import { SitewardError } from '#errors.ts';
import type { Handlers, Reply } from '#lib/contract/server.ts';
import { sha256 } from '#lib/digest.ts';
import { withDeadline } from '#lib/wait.ts';
import { type AnswerResult, localClient, type VerificationRefusal, type VerificationsPort } from '#site/model/index.ts';
import type { verificationOperations } from './verification-operations.ts';
import type { AnswerAnswer, AnswerBody } from './verification-schemas.ts';

const origin = { source: 'cli', client: localClient } as const;
/** A commit on a slow card, and the slow hash of a code. */
const deadlineMs = 8000;
const unknown = 'there is no verification of this id; "siteward verification list" lists them';

/** The handlers of alarm verifications. */
export function verificationHandlers(
  port: VerificationsPort,
  { json }: { json: (body: unknown) => Reply },
): Handlers<typeof verificationOperations, 'local'> {
  return {
    listVerifications: () => json({ items: port.list() }),
    getVerification({ params: { id } }) {
      const found = port.list().find((one) => one.verification_id === id.toLowerCase());
      if (found === undefined) throw new SitewardError('verification_unknown', unknown);
      return json(found);
    },
    async addVerification({ body, signal }) {
      const asked = await withDeadline(deadlineMs, signal, () => port.ask(body, origin), 'keeping the verification');
      if ('code' in asked)
        throw new SitewardError(
          'verification_refused',
          `the request is not taken: ${refusals[asked.code] ?? asked.code}`,
        );
      return json({ outcome: asked.outcome, verification: asked.document });
    },
    async answerVerificationLocally({ params: { id }, body, signal }) {
      const result = await withDeadline(deadlineMs, signal, () => first(port, id, body), 'keeping the answer');
      return json(answerOf(result));
    },
  };
}

/** The first reply: what the service says is seen in the verification itself. */
function first(port: VerificationsPort, verificationId: string, body: AnswerBody): Promise<AnswerResult> {
  const { id, action, code, issued_at: issuedAt } = body;
  const given = {
    commandId: id,
    verificationId,
    action,
    issuedAt: Date.parse(issuedAt),
    code,
    ...origin,
    isProven: false,
    bodyHash: sha256(`verify ${verificationId} ${action} ${issuedAt}`),
  };
  return new Promise((resolve, reject) => {
    port.answer(given, resolve).catch(reject);
  });
}

function answerOf({ outcome, error, document }: AnswerResult): AnswerAnswer {
  return {
    outcome,
    ...(error !== undefined && {
      error: {
        code: error.code,
        ...(error.field !== undefined && { field: error.field }),
        ...(error.retryAfterS !== undefined && { retry_after_s: Math.ceil(error.retryAfterS) }),
      },
    }),
    ...(document !== undefined && { verification: document }),
  };
}

const refusals: Readonly<Partial<Record<VerificationRefusal['code'], string>>> = {
  BUSY: 'too many verifications are open, or the disk takes no writes; answer some, or try again later',
  EXPIRED: 'its deadline has passed',
  FUTURE: 'its deadline is more than a day ahead; check the time that was given',
  ID_CONFLICT:
    'another request is known under this id, with another contact, event or deadline; "siteward verification show" shows it',
  NOT_CONFIGURED: 'answers cannot reach the service: site.dealer_id and cloud.partner must stand in the configuration',
};
