import { codePattern } from '#site/model/index.ts';

/** A code that a client wrote where none belongs must be kept and shown nowhere. */

/** Members that come back in replies, in the audit log and in events. Fixed words are no codes. */
const targets = ['zone', 'zones', 'bypass', 'schedule'] as const;

/** The member that names what the command is for by the code itself; undefined when none does. */
export function codeAsTarget(body: Readonly<Record<string, unknown>>, code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  return targets.find((name) => [body[name]].flat().includes(code));
}

/**
 * Takes out a reason in which the code stands, or that is nothing but digits of a code's length. The command itself
 * goes on: who gave it may be calling for help (safety 1).
 */
export function withoutCode<T extends object>(body: T, code: string | undefined): T {
  if (!('reason' in body) || typeof body.reason !== 'string') return body;
  const reason = body.reason.trim();
  const isCode = (code !== undefined && reason.includes(code)) || codePattern.test(reason);
  if (!isCode) return body;
  const { reason: _, ...rest } = body;
  return rest as T;
}
