import { Counter } from 'prom-client';
import { sleep } from '#lib/wait.ts';
import {
  type AnswerResult,
  type AuditDraft,
  type Command,
  type CommandResult,
  type GivenAnswer,
  roles,
  type Stamp,
  type VerificationDocument,
} from '#site/model/index.ts';
import * as rules from './rules.ts';
import type { Book } from './types.ts';
import type { VerificationsOptions } from './verifications.ts';

export interface Answers {
  give(ask: GivenAnswer, reply: (result: AnswerResult) => void): Promise<void>;
  /** The book has changed: whoever waits for the service looks again. */
  changed(): void;
}

/** The second reply comes with what the service said, or then at the latest. */
const patienceMs = 5000;
const refusalCap = 60;
/** An answer is told to be given after so long without a disk; it is sent all the same. */
const diskMs = 2000;

type Needs = Pick<VerificationsOptions, 'checkCode' | 'submit' | 'contacts' | 'metrics'> & {
  readonly stamp: () => Stamp;
  readonly current: () => Book;
  readonly take: (step: rules.Step<unknown>, at: Stamp) => Promise<void>;
  readonly stopping: AbortSignal;
};

/** How somebody answers: the code, the core's gate, the rules, the disk, the service. */
export function createAnswers(needs: Needs): Answers {
  const { checkCode, submit, contacts, stamp, current, take, stopping } = needs;
  const untoldTotal = new Counter({
    name: 'siteward_verification_refusals_untold_total',
    help: 'Refused answers to alarm verifications that were only counted: more than 60 within a minute',
    registers: [needs.metrics],
  });
  /** At most one for each answer that waits. */
  const waiters = new Set<() => void>();

  const refused = (error: NonNullable<CommandResult['error']>, outcome: AnswerResult['outcome'] = 'refused') => ({
    outcome,
    error,
    at: stamp().wall,
    final: true,
  });

  /** Who it is. Without a code only the account of a guard is somebody (safety 6). */
  async function identify(ask: GivenAnswer): Promise<Identity | undefined> {
    const check = await checkCode(ask.code);
    if (check.code !== 'none') {
      const contact = check.actor === undefined ? undefined : contacts.ofUser(check.actor);
      return { code: check.code, actor: check.actor, role: check.role, by: check.actor ?? '', contact };
    }
    const contact = ask.isProven ? contacts.ofClient(ask.client) : undefined;
    return contact === undefined ? undefined : { code: 'ok', by: ask.client, contact };
  }

  function documentOf(id: string): VerificationDocument | undefined {
    const found = current().get(id.toLowerCase());
    return found === undefined || rules.isSilent(found) ? undefined : rules.shown(found);
  }

  /** Until the service has spoken about the answer as operators see it. */
  async function spoken(id: string, n: number): Promise<void> {
    const gaveUp = new AbortController();
    const signal = AbortSignal.any([stopping, gaveUp.signal]);
    const isWaiting = () => current().get(id.toLowerCase())?.answers[n]?.fate === 'waiting';
    let look = () => {};
    const over = new Promise<void>((resolve) => {
      look = () => (isWaiting() ? undefined : resolve());
      waiters.add(look);
    });
    look();
    await Promise.race([over, sleep(patienceMs, signal).catch(() => undefined)]);
    waiters.delete(look);
    gaveUp.abort();
  }

  /** Refusals told to the audit log within a minute; more could push the past out of it. */
  let refusals: readonly number[] = [];
  /** Since the last one that was told; the next one carries the number. */
  let untold = 0;
  /** How many were left out before this one; undefined where it is left out itself. */
  function refusalsBefore(): number | undefined {
    const { mono } = stamp();
    refusals = refusals.filter((then) => mono - then < 60_000);
    if (refusals.length >= refusalCap) {
      untold += 1;
      untoldTotal.inc();
      return undefined;
    }
    refusals = [...refusals, mono];
    const before = untold;
    untold = 0;
    return before;
  }

  return {
    changed() {
      for (const look of [...waiters]) look();
    },

    async give(ask, reply) {
      current();
      const who = await identify(ask);
      if (who === undefined) return reply(refused({ code: 'CODE_REQUIRED', field: 'code' }));
      const heard = await new Promise<CommandResult>((resolve) => submit(commandOf(ask, who), resolve));
      const given: rules.Given = {
        verificationId: ask.verificationId,
        action: ask.action,
        commandId: ask.commandId,
        origin: { source: ask.source, client: ask.client },
        by: who.by,
        contact: who.contact,
        ...(ask.contactId === undefined ? {} : { named: ask.contactId }),
        mayAnswer: who.role === undefined || roles[who.role].may.includes('verify'),
        duress: who.code === 'duress',
        pressedAt: ask.respondedAt ?? ask.issuedAt,
        ...(heard.error === undefined ? {} : { refusal: { outcome: 'refused', code: heard.error.code } }),
      };
      const at = stamp();
      const step = rules.answer(current(), given, at);
      const durable = take(step, at);
      const { result } = step;
      if (heard.error !== undefined) return reply({ ...refused(heard.error, heard.outcome) });
      if ('code' in result) {
        const { outcome, code, field } = result;
        const omitted = refusalsBefore();
        if (omitted !== undefined) void take(told(step.book, given, { reason: code, omitted }), at);
        return reply(refused({ code, ...(field === undefined ? {} : { field }) }, outcome));
      }
      // What nobody sees is waited for by nobody: the reply to "already" takes as long as without it.
      if (result.outcome === 'done') await Promise.race([durable, sleep(diskMs, stopping).catch(() => undefined)]);
      reply(answered(result.outcome, documentOf(ask.verificationId), stamp().wall));
      if (!isWaiting(documentOf(ask.verificationId))) return;
      await spoken(ask.verificationId, result.n);
      reply(finished(result.outcome, documentOf(ask.verificationId), stamp().wall));
    },
  };
}

function told(
  book: Book,
  given: rules.Given,
  { reason, omitted }: { readonly reason: string; readonly omitted: number },
): rules.Step<undefined> {
  const { origin, by, commandId, verificationId, action } = given;
  const entry: AuditDraft = {
    kind: 'refusal',
    source: origin.source,
    actor_ref: by,
    client_id: origin.client,
    command_id: commandId,
    target: `verification:${verificationId.toLowerCase()}`,
    action: `verification_${action}`,
    outcome: 'refused',
    reason,
    ...(omitted > 0 && { omitted }),
  };
  return { book, changed: [], audit: [entry], result: undefined };
}

interface Identity extends Pick<Command, 'code'> {
  readonly actor?: string | undefined;
  readonly role?: Command['role'] | undefined;
  readonly by: string;
  readonly contact: number | undefined;
}

const isWaiting = (document: VerificationDocument | undefined): boolean => document?.state === 'waiting';

const partOf = (document: VerificationDocument | undefined) => (document === undefined ? {} : { document });

function answered(outcome: 'done' | 'already', document: VerificationDocument | undefined, at: number): AnswerResult {
  if (isWaiting(document)) return { outcome: 'accepted', ...partOf(document), at, final: false };
  return finished(outcome, document, at);
}

/** An answer that still waits is `done`: it is on disk and will be sent; the document says that it waits. */
function finished(outcome: 'done' | 'already', document: VerificationDocument | undefined, at: number): AnswerResult {
  const shared = { ...partOf(document), at, final: true };
  if (document?.state === 'gone') return { outcome: 'failed', error: { code: 'VERIFICATION_GONE' }, ...shared };
  if (document?.state === 'unsent') return { outcome: 'expired', error: { code: 'EXPIRED' }, ...shared };
  if (document?.state === 'refused') return { outcome: 'failed', error: { code: 'NOT_ALLOWED' }, ...shared };
  return { outcome, ...shared };
}

function commandOf(ask: GivenAnswer, who: Identity): Command {
  return {
    id: ask.commandId,
    verb: 'verify',
    partition: 'all',
    issuedAt: ask.issuedAt,
    ...(ask.expiresAt === undefined ? {} : { expiresAt: ask.expiresAt }),
    source: ask.source,
    client: ask.client,
    ...(who.actor === undefined ? {} : { actor: who.actor }),
    ...(who.role === undefined ? {} : { role: who.role }),
    code: who.code,
    bodyHash: ask.bodyHash,
  };
}
