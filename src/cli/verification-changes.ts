import { randomUUID } from 'node:crypto';
import { type AnswerAnswer, answerAnswer, verificationAsked } from '#lan/http/index.ts';
import { sleep } from '#lib/wait.ts';
import {
  type ContactDoubt,
  type ReplyCode,
  type VerificationAction,
  type VerificationDocument,
  verificationDocument,
} from '#site/model/index.ts';
import { askCode } from './ask-code.ts';
import { answered, type Control, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes, exitOfReply } from './exit-codes.ts';
import { pipedCode } from './piped-code.ts';

export interface AddOptions {
  readonly id: string;
  readonly contact: number;
  readonly event?: string;
  readonly expires?: string;
  /** Milliseconds from now. */
  readonly in?: number;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward verification add`. */
export async function add(options: AddOptions): Promise<ExitCode> {
  const { id, contact, event, expires, in: inMs } = options;
  await using control = openControl(options.socket);
  const body = {
    verification_id: id,
    contact_id: contact,
    ...(event !== undefined && { event_id: event }),
    ...(expires !== undefined && { expires_at: expires }),
    ...(inMs !== undefined && { expires_in_s: Math.round(inMs / 1000) }),
  };
  const { json, text } = answered(await control.client.addVerification({ body, signal: patience() }));
  const { outcome, verification, warning } = verificationAsked.parse(json);
  tellDoubt(warning);
  const known = outcome === 'already' ? 'known already; ' : '';
  console.log(options.json ? text : `${known}to be answered until ${verification.expires_at}`);
  return exitCodes.ok;
}

export interface AnswerOptions {
  readonly id: string;
  readonly action: VerificationAction;
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward verification answer`. */
export async function answer(options: AnswerOptions): Promise<ExitCode> {
  const code = options.codeStdin ? await pipedCode() : await askCode('your code');
  await using control = openControl(options.socket);
  const body = { id: randomUUID(), action: options.action, code, issued_at: new Date().toISOString() };
  const sent = await control.client.answerVerificationLocally({ params: { id: options.id }, body, signal: patience() });
  const first = answerAnswer.parse(answered(sent).json);
  const { verification: found } = first;
  const seen = found?.state === 'waiting' ? await whenSpoken(control, found) : found;
  const result: AnswerAnswer = { ...first, ...(seen !== undefined && { verification: seen }) };
  tellDoubt(first.warning);
  if (options.json) console.log(JSON.stringify(result));
  else if (first.error === undefined) console.log(sentenceOf(options.action, seen));
  if (first.error !== undefined) {
    const { code: why } = first.error;
    console.error(`siteward: ${refusals[why] ?? 'the answer was refused'} (${why})`);
    return exitOfReply(why);
  }
  return seen === undefined ? exitCodes.ok : (endings[seen.state] ?? exitCodes.ok);
}

/** It was taken all the same. */
function tellDoubt(doubt: ContactDoubt | undefined): void {
  if (doubt !== undefined) console.error(`siteward: warning: ${doubts[doubt]} (${doubt})`);
}

const doubts: Readonly<Record<ContactDoubt, string>> = {
  CONTACT_UNKNOWN:
    'the service lists no such contact and may refuse the answer; "siteward contact list" shows whom it has, verification.contacts names whom users answer for',
  CONTACT_UNSURE:
    'nobody knows whether the service has this contact: its contacts were not read within a day, or not all of them',
};

const lookEveryMs = 200;
const looks = 30;

/** The verification when the service has spoken, or as it stands after six seconds. */
async function whenSpoken(control: Control, found: VerificationDocument): Promise<VerificationDocument> {
  let seen = found;
  for (let look = 0; look < looks && seen.state === 'waiting'; look += 1) {
    const signal = patience();
    await sleep(lookEveryMs, signal);
    const params = { id: found.verification_id };
    seen = verificationDocument.parse(answered(await control.client.getVerification({ params, signal })).json);
  }
  return seen;
}

function sentenceOf(action: VerificationAction, seen: VerificationDocument | undefined): string {
  const reason = seen?.answers.at(-1)?.reason;
  switch (seen?.state) {
    case 'recorded':
      return `${action} was recorded by the service`;
    case 'gone':
      return `too late: the service knows the request no more (VERIFICATION_GONE)`;
    case 'refused':
      return `the service refused ${action}${reason === undefined ? '' : `: ${reason}`}`;
    case 'unsent':
      return `${action} could not be sent before the deadline`;
    default:
      return `${action} is kept, and is sent as soon as the service can be reached, until ${seen?.expires_at ?? 'the deadline'}`;
  }
}

const endings: Readonly<Partial<Record<VerificationDocument['state'], ExitCode>>> = {
  gone: exitCodes.notFound,
  refused: exitCodes.refused,
  unsent: exitCodes.failure,
};

const refusals: Readonly<Partial<Record<ReplyCode, string>>> = {
  ALREADY_ANSWERED: 'somebody has answered dispatch already; that stands',
  BAD_CODE: 'nobody has this code',
  EXPIRED: 'its deadline has passed',
  FORBIDDEN:
    'no contact of the service is bound to this user; name one under verification.contacts in the configuration',
  LOCKED: 'too many wrong codes; wait a minute and a half',
  NOT_ALLOWED: 'the role of this user does not allow it',
  UNKNOWN_TARGET: 'there is no verification of this id; "siteward verification list" lists them',
  VERIFICATION_GONE: 'too late: the service knows the request no more',
};
