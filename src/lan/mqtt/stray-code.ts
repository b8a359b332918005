import { codePattern } from '#site/model/index.ts';

/** A code that a client wrote where none belongs must be kept and shown nowhere. */

/** Members that come back in replies, in the audit log and in events. Fixed words are no codes. */
const targets = [
  'zone',
  'zones',
  'bypass',
  'schedule',
  'camera',
  'event_id',
  'audio_message_id',
  'playback_id',
] as const;

/** Members that say why, in a person's words. */
const texts: readonly string[] = ['reason', 'note'];

/** The member that names what the command is for by the code itself; undefined when none does. */
export function codeAsTarget(body: Readonly<Record<string, unknown>>, code: string | undefined): string | undefined {
  if (code === undefined) return undefined;
  return targets.find((name) => [body[name]].flat().includes(code));
}

/**
 * Takes out a text in which the code stands, or that is nothing but digits of a code's length. The command itself
 * goes on: who gave it may be calling for help (safety 1).
 */
export function withoutCode<T extends object>(body: T, code: string | undefined): T {
  const isStray = ([name, value]: [string, unknown]) => {
    if (!texts.includes(name) || typeof value !== 'string') return false;
    return (code !== undefined && value.includes(code)) || codePattern.test(value.trim());
  };
  const members = Object.entries(body);
  return members.some(isStray) ? (Object.fromEntries(members.filter((member) => !isStray(member))) as T) : body;
}
