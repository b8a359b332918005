import { z } from 'zod';
import { zonedTimePattern } from './basics.ts';
import type { CommandResult, Outcome, ReplyCode } from './command.ts';
import { partitionId, zoneNumber } from './ids.ts';

/** What a contact says of an alarm: send somebody, or not (S-150). */
export const verificationActions = ['dispatch', 'disregard'] as const;
export type VerificationAction = (typeof verificationActions)[number];

/**
 * `open` waits for an answer; `waiting` has one that is on its way to the service. The others are ends: `recorded` by
 * the service; `gone`, it knew the request no more (404); `refused` by it; `unsent`, no line before the deadline;
 * `expired` without an answer.
 */
export const verificationStates = ['open', 'waiting', 'recorded', 'gone', 'refused', 'unsent', 'expired'] as const;
export type VerificationState = (typeof verificationStates)[number];

export const answerFates = ['waiting', 'recorded', 'gone', 'refused', 'unsent'] as const;

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/;
export const verificationId = z.string({ error: 'must be text' }).regex(uuid, 'must be a UUID');

/** The service's number of a contact. */
export const contactNumber = z
  .number({ error: 'must be a number' })
  .refine((value) => Number.isSafeInteger(value) && value >= 1, 'must be a whole number above 0')
  .meta({ type: 'integer', minimum: 1 });

const time = z
  .string({ error: 'must be text' })
  .regex(zonedTimePattern, 'must be an ISO 8601 time with a zone')
  .refine((text) => !Number.isNaN(Date.parse(text)), 'there is no such time');

/** A request to verify an alarm, as the partner platform hands it on. */
export const verificationRequest = z.strictObject(
  {
    verification_id: verificationId.describe('As the service named it.'),
    contact_id: contactNumber.describe('The contact the service asks.'),
    event_id: z
      .string()
      .regex(/^[\w.:-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ : or -')
      .exactOptional()
      .describe('Our event that it is about.'),
    expires_at: time.exactOptional().describe('The deadline of the service; without one, ten minutes from receipt.'),
  },
  { error: 'must have verification_id and contact_id, may have event_id and expires_at, and nothing else' },
);
export type VerificationRequest = z.output<typeof verificationRequest>;

/** A request by hand may say how long it lives from its receipt, in place of a deadline: of a repeat that says nothing. */
export interface HandedRequest extends VerificationRequest {
  readonly expires_in_s?: number;
}

/** One answer, and what became of it. */
const verificationAnswer = z.strictObject({
  action: z.enum(verificationActions),
  contact_id: contactNumber,
  /** The user of the code, or the account of the guard. */
  by: z.string(),
  responded_at: time,
  fate: z.enum(answerFates),
  fate_at: time.optional(),
  /** What the service said, where it did not record it. */
  reason: z.string().optional(),
});

/** A verification as operators see it: on MQTT, on the control socket and on the command line. No names, no numbers to call. */
export const verificationDocument = z.strictObject({
  verification_id: z.string(),
  state: z.enum(verificationStates),
  contact_id: contactNumber,
  event_id: z.string().optional(),
  /** Of the event, where it is one of ours. */
  kind: z.string().optional(),
  incident_id: z.string().optional(),
  partition: partitionId.optional(),
  zone: zoneNumber.optional(),
  asked_at: time,
  expires_at: time,
  answers: z.array(verificationAnswer),
});
export type VerificationDocument = z.output<typeof verificationDocument>;

/** Whether operators still have something to do, or to wait for. */
export const isPending = ({ state }: Pick<VerificationDocument, 'state'>): boolean =>
  state === 'open' || state === 'waiting';

/** Why a request or an answer was not taken. */
export interface VerificationRefusal {
  readonly outcome: 'refused' | 'expired';
  readonly code: ReplyCode;
  readonly field?: string;
}

/**
 * What speaks against the contact of a request or an answer that was taken all the same: the service's list, as it is kept here, has no
 * such contact (`CONTACT_UNKNOWN`), or it does not show it and is old or has gaps (`CONTACT_UNSURE`).
 */
export const contactDoubts = ['CONTACT_UNKNOWN', 'CONTACT_UNSURE'] as const;
export type ContactDoubt = (typeof contactDoubts)[number];

/** What came of a request: taken, known already, or refused. */
export type AskResult =
  | {
      readonly outcome: 'done' | 'already';
      readonly document: VerificationDocument;
      readonly warning?: ContactDoubt;
    }
  | VerificationRefusal;

/** An answer as somebody gives it, its code not checked yet. */
export interface GivenAnswer {
  readonly commandId: string;
  readonly verificationId: string;
  readonly action: VerificationAction;
  /** The contact the command names, if any: it must be that of who answers. */
  readonly contactId?: number;
  /** Wall clock milliseconds of the client. */
  readonly issuedAt: number;
  readonly expiresAt?: number;
  readonly respondedAt?: number;
  readonly code?: string | undefined;
  readonly source: 'lan' | 'cli';
  readonly client: string;
  /** The name of the client is proven by a password. */
  readonly isProven: boolean;
  /** SHA-256 of the command without its code (rule C2). */
  readonly bodyHash: string;
}

/** With `final: false` the answer is on disk and on its way; then a second one follows. */
export interface AnswerResult {
  readonly outcome: Outcome;
  readonly error?: CommandResult['error'];
  readonly document?: VerificationDocument;
  readonly warning?: ContactDoubt;
  /** Wall clock milliseconds. */
  readonly at: number;
  readonly final: boolean;
}

/** Alarm verifications as the rooms of the LAN see them. */
export interface VerificationsPort {
  /** Newest first. */
  list(): readonly VerificationDocument[];
  /** On disk when it resolves; throws where that cannot be had. */
  ask(request: HandedRequest, from: { readonly source: 'lan' | 'cli'; readonly client: string }): Promise<AskResult>;
  /** `reply` is called once, or twice with `final: true` at the end. */
  answer(given: GivenAnswer, reply: (result: AnswerResult) => void): Promise<void>;
}
