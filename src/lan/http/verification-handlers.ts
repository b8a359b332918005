import { SitewardError } from '#errors.ts';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { sha256 } from '#lib/digest.ts';
import { withDeadline } from '#lib/wait.ts';
import type { AnswerResult, Asker, VerificationRefusal, VerificationsPort } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import type { verificationOperations } from './verification-operations.ts';
import type { AnswerAnswer, AnswerBody } from './verification-schemas.ts';

/** A commit on a slow card, and the slow hash of a code. */
const deadlineMs = 8000;
const unknown = 'there is no verification of this id; "siteward verification list" lists them';

/** The handlers of alarm verifications. */
export function verificationHandlers(port: VerificationsPort): Handlers<typeof verificationOperations, By> {
  return {
    listVerifications: () => json({ items: port.list() }),
    getVerification({ params: { id } }) {
      const found = port.list().find((one) => one.verification_id === id.toLowerCase());
      if (found === undefined) throw new SitewardError('verification_unknown', unknown);
      return json(found);
    },
    async addVerification({ body, identity, signal }) {
      const by = askerOf(identity);
      const asked = await withDeadline(deadlineMs, signal, () => port.ask(body, by), 'keeping the verification');
      if ('code' in asked)
        throw new SitewardError(
          'verification_refused',
          `the request is not taken: ${refusals[asked.code] ?? asked.code}`,
        );
      const { outcome, document: verification, warning } = asked;
      return json({ outcome, verification, ...(warning !== undefined && { warning }) });
    },
    async answerVerificationLocally({ params: { id }, body, identity, signal }) {
      const result = await withDeadline(
        deadlineMs,
        signal,
        () => first(port, id, body, askerOf(identity)),
        'keeping the answer',
      );
      return json(answerOf(result));
    },
  };
}

/** The first reply: what the service says is seen in the verification itself. */
function first(
  port: VerificationsPort,
  verificationId: string,
  body: AnswerBody,
  { source, client }: Asker,
): Promise<AnswerResult> {
  const { id, action, code, issued_at: issuedAt } = body;
  const given = {
    commandId: id,
    verificationId,
    action,
    issuedAt: Date.parse(issuedAt),
    code,
    source,
    client,
    isProven: source === 'lan',
    bodyHash: sha256(`verify ${verificationId} ${action} ${issuedAt}`),
  };
  return new Promise((resolve, reject) => {
    port.answer(given, resolve).catch(reject);
  });
}

function answerOf({ outcome, error, document, warning }: AnswerResult): AnswerAnswer {
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
    ...(warning !== undefined && { warning }),
  };
}

const refusals: Readonly<Partial<Record<VerificationRefusal['code'], string>>> = {
  BUSY: 'too many verifications are open, or the disk takes no writes; answer some, or try again later',
  EXPIRED: 'its deadline has passed',
  FUTURE: 'its deadline is more than a day ahead; check the time that was given',
  ID_CONFLICT:
    'another request is known under this id, with another contact, event or deadline; "siteward verification show" shows it',
  UNKNOWN_TARGET:
    'the service has no contact of this id; "siteward contact list" shows whom it has, and a new one is known at the next read',
  NOT_CONFIGURED: 'answers cannot reach the service: site.dealer_id and cloud.partner must stand in the configuration',
};
