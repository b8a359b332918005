import type { SiteState } from './types.ts';

/** The text of one member, and of what lies in it. */
interface Written {
  readonly value: object;
  readonly text: string;
  readonly parts: ReadonlyMap<object, string>;
}

/**
 * Writes states as `writeState` does. What is the same object as in the state before keeps its text: one decision changes a few of some
 * thousand objects, and to write all of them again would take the main thread longer than to decide. Holds one state as text, in pieces.
 */
export function stateWriter(): (state: SiteState) => string {
  let before = new Map<string, Written>();
  return (state) => {
    const written = new Map<string, Written>();
    const members: string[] = [];
    for (const [name, value] of Object.entries(state)) {
      if (value === undefined) continue;
      if (typeof value === 'object' && value !== null) written.set(name, textOf(value, before.get(name)));
      members.push(`${JSON.stringify(name)}:${written.get(name)?.text ?? JSON.stringify(value)}`);
    }
    before = written;
    return `{"version":1,"state":{${members.join(',')}}}`;
  };
}

function textOf(value: object, before: Written | undefined): Written {
  if (before?.value === value) return before;
  const parts = new Map<object, string>();
  const write = (part: unknown): string => {
    if (typeof part !== 'object' || part === null) return JSON.stringify(part);
    const text = before?.parts.get(part) ?? JSON.stringify(part);
    parts.set(part, text);
    return text;
  };
  const text = Array.isArray(value)
    ? `[${value.map(write).join(',')}]`
    : `{${Object.entries(value)
        .filter(([, part]) => part !== undefined)
        .map(([key, part]) => `${JSON.stringify(key)}:${write(part)}`)
        .join(',')}}`;
  return { value, text, parts };
}
