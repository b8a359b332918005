import { SitewardError } from '#errors.ts';
import type { Secret } from '#lib/secret.ts';
import type { Compiled } from './compile.ts';
import type { CommandName } from './profile.ts';

export interface Rendered {
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1;
}

/**
 * Topic and payload of a command, never retained. Throws `profile_invalid` when the profile has no such command, needs a
 * value that is not given, or turns the state round (such commands wait for the toggle guard). No message holds the code.
 */
export function renderCommand(
  compiled: Compiled,
  command: { action: CommandName; partition?: string; zone?: string; code?: Secret | undefined },
): Rendered {
  const { profile } = compiled;
  const refuse = (why: string) =>
    new SitewardError('profile_invalid', `profile ${profile.id}: ${command.action}: ${why}`, {
      facts: { profile: profile.id, action: command.action },
    });
  const out = compiled.out.get(command.action);
  if (out === undefined) throw refuse('this panel has no such command');
  if (profile.guard?.toggle === true)
    throw refuse('its commands turn the state round, which siteward does not send yet');
  const values = new Map([
    ['partition', command.partition],
    ['zone', command.zone],
    ['code', command.code?.reveal()],
  ]);
  const fill = (text: string) =>
    text.replace(/\{(partition|zone|code)\}/g, (_, name: string) => {
      const value = values.get(name);
      if (value === undefined) throw refuse(`needs a ${name}`);
      return value;
    });
  const topic = fill(out.topic);
  if (/[+#\0]/.test(topic)) throw refuse('the key does not fit into a topic');
  if (typeof out.payload === 'string') return { topic, payload: fill(out.payload), qos: out.qos };
  const body = Object.entries(out.payload).map(([name, value]) => [
    name,
    typeof value === 'string' ? fillMember(value, fill) : value,
  ]);
  return { topic, payload: JSON.stringify(Object.fromEntries(body)), qos: out.qos };
}

/** `{partition:number}` as a whole member becomes a JSON number. */
function fillMember(text: string, fill: (text: string) => string): string | number {
  const number = /^\{(partition|zone):number\}$/.exec(text)?.[1];
  return number === undefined ? fill(text) : Number(fill(`{${number}}`));
}
