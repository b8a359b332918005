import { z } from 'zod';
import { answerFates, clockQuality, verificationActions } from '#site/model/index.ts';

/**
 * A verification as it is kept. What operators may see of it is `shown` (rules.ts): a duress code sends `dispatch` and
 * lets everybody see what was asked for (safety 6).
 */

const moment = { mono: z.number(), wall: z.number(), boot: z.string() };
const stamp = z.strictObject({ ...moment, clock: clockQuality });
const deadline = z.strictObject(moment);

const keptAnswer = z.strictObject({
  /** What is sent. */
  action: z.enum(verificationActions),
  /** What operators see; null: nothing at all. */
  shown: z.enum(verificationActions).nullable(),
  contact: z.number(),
  by: z.string(),
  /** The command it came with, so that a repeat of it is no second answer. */
  command: z.string(),
  /** The moment of the press, on both clocks. */
  at: stamp,
  fate: z.enum(answerFates),
  /** Wall clock milliseconds. */
  fateAt: z.number().exactOptional(),
  reason: z.string().exactOptional(),
});
export type KeptAnswer = Readonly<z.infer<typeof keptAnswer>>;

const aboutEvent = z.strictObject({
  id: z.string(),
  kind: z.string().exactOptional(),
  incident: z.string().exactOptional(),
  partition: z.string().exactOptional(),
  zone: z.string().exactOptional(),
  /** Nobody but the auditor may see the event, nor the request about it (safety 4). */
  silent: z.literal(true).exactOptional(),
});
/** The event it is about; more than its id where the event is one of ours that anybody may see. */
export type AboutEvent = Readonly<z.infer<typeof aboutEvent>>;

export const keptVerification = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  contact: z.number(),
  event: aboutEvent.exactOptional(),
  asked: stamp,
  due: deadline,
  /** The deadline as it was asked for, wall clock milliseconds. */
  expiresAt: z.number().exactOptional(),
  source: z.enum(['lan', 'cli']),
  client: z.string(),
  answers: z.array(keptAnswer).readonly(),
  /** It has ended without an answer; wall clock milliseconds. */
  expired: z.number().exactOptional(),
});
export type Verification = Readonly<z.infer<typeof keptVerification>>;

/** All that are kept, in the order they came. */
export type Book = ReadonlyMap<string, Verification>;

/** An answer on its way to the service. */
export interface Outgoing {
  readonly verificationId: string;
  /** Its place among the answers of the verification. */
  readonly n: number;
  readonly action: KeptAnswer['action'];
  readonly contactId: number;
  /** The moment of the press, wall clock milliseconds, by the best that is known of the clock. */
  readonly respondedAt: number;
  /** False: it shows in no metric, log line or health (safety 4). */
  readonly isShown: boolean;
  /** Operators see what is sent. Where they do not, what the service says of it must tell them nothing. */
  readonly isPlain: boolean;
}

export type Fate = 'recorded' | 'gone' | 'refused';

/** Contacts of the service by who answers as them. */
export interface Contacts {
  readonly ofUser: (id: string) => number | undefined;
  /** Only for clients whose name is proven and whose role is that of a guard. */
  readonly ofClient: (name: string) => number | undefined;
}
