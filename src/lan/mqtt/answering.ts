import { type AnswerResult, errorShown, type GivenAnswer } from '#site/model/index.ts';
import type { ParsedCommand } from './parse.ts';
import type { Reply } from './schemas.ts';

/** `cmd/verify` as the site takes it. */
export function givenAnswer(
  parsed: Extract<ParsedCommand, { verb: 'verify' }>,
  sender: Pick<GivenAnswer, 'client' | 'isProven'>,
): GivenAnswer {
  const { body, code, issuedAt, expiresAt, bodyHash } = parsed;
  return {
    commandId: body.id,
    verificationId: body.verification_id,
    action: body.action,
    ...(body.contact_id === undefined ? {} : { contactId: body.contact_id }),
    issuedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(body.responded_at === undefined ? {} : { respondedAt: Date.parse(body.responded_at) }),
    ...(code === undefined ? {} : { code }),
    source: 'lan',
    ...sender,
    bodyHash,
  };
}

export function verifyReply(result: AnswerResult): Omit<Reply, 'id' | 'at' | 'correlation'> & { at: number } {
  const { outcome, error, document, warning, at, final } = result;
  return {
    outcome,
    ...(error === undefined ? {} : { error: errorShown(error) }),
    ...(document === undefined
      ? {}
      : { data: { verification: document, ...(warning === undefined ? {} : { warning }) } }),
    at,
    final,
  };
}
