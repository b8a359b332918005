import { SitewardError } from '#errors.ts';
import type { Secret } from '#lib/secret.ts';
import type { Compiled } from './compile.ts';
import type { CommandName } from './profile.ts';

export interface Rendered {
  readonly topic: string;
  readonly payload: string;
}

export interface CommandToRender {
  readonly action: CommandName;
  readonly partition?: string;
  readonly zone?: string;
  /** siteward's own code at the panel, as the site has given it. */
  readonly code?: Secret | undefined;
  /** What the bridge wants back in each command. */
  readonly tokens?: ReadonlyMap<string, Secret>;
}

/**
 * Topic and payload of a command, never retained. Throws `profile_invalid` when the profile has no such command, needs a
 * value that is not given, or the code is none this panel can have. No message holds the code or a token.
 */
export function renderCommand(compiled: Compiled, command: CommandToRender): Rendered {
  const { profile } = compiled;
  const refuse = (why: string) =>
    new SitewardError('profile_invalid', `profile ${profile.id}: ${command.action}: ${why}`, {
      facts: { profile: profile.id, action: command.action },
    });
  const out = compiled.out.get(command.action);
  if (out === undefined) throw refuse('this panel has no such command');
  const values = new Map([
    ...[...(command.tokens ?? [])].map(([name, token]) => [name, token.reveal()] as const),
    ['partition', command.partition],
    ['zone', command.zone],
    ['code', command.code?.reveal()],
  ]);
  const wrong = command.code === undefined ? undefined : wrongCode(compiled, command.code);
  const fill = (text: string) =>
    text.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
      const value = values.get(name);
      if (value === undefined) throw refuse(`needs a ${name}`);
      if (name === 'code' && wrong !== undefined) throw refuse(wrong);
      return value;
    });
  const topic = fill(out.topic);
  if (/[+#\0]/.test(topic)) throw refuse('the key does not fit into a topic');
  const wanted = command.code === undefined ? out.payload : (out.withCode ?? out.payload);
  if (typeof wanted === 'string') return { topic, payload: fill(wanted) };
  const body = Object.entries(wanted)
    .map(([name, value]) => [name, typeof value === 'string' ? fillMember(value, fill, refuse) : value] as const)
    .filter(([name, value]) => out.leaveOut.get(name)?.has(String(value)) !== true);
  return { topic, payload: JSON.stringify(Object.fromEntries(body)) };
}

/** Whether commands of the profile need siteward's own panel code, take it where there is one, or never hold one. */
export function codeUse({ out }: Compiled): 'needed' | 'taken' | 'none' {
  const all = [...out.values()];
  const holds = (payload: unknown) => JSON.stringify(payload)?.includes('{code}') === true;
  if (all.some((one) => holds(one.payload))) return 'needed';
  return all.some((one) => holds(one.withCode)) ? 'taken' : 'none';
}

/** Why the code cannot be one of this panel; says nothing about the code itself. */
function wrongCode({ profile }: Compiled, code: Secret): string | undefined {
  const { length, digits_only: digitsOnly } = profile.code;
  if (length !== undefined && code.reveal().length !== length) return `the code must have ${length} characters`;
  if (digitsOnly === true && !/^\d+$/.test(code.reveal())) return 'the code must be digits';
  return undefined;
}

/** `{partition:number}` as a whole member becomes a JSON number. */
function fillMember(
  text: string,
  fill: (text: string) => string,
  refuse: (problem: string) => SitewardError,
): string | number {
  const name = /^\{(partition|zone):number\}$/.exec(text)?.[1];
  if (name === undefined) return fill(text);
  const key = fill(`{${name}}`);
  if (!/^\d{1,9}$/.test(key)) throw refuse(`wants a number for the ${name}, and its key is none`);
  return Number(key);
}
