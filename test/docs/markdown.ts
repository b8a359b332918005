import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');
export const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** README and every page of docs/, relative to the repository. */
export function pages(): string[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  return ['README.md', ...docs.filter((name) => name.endsWith('.md')).map((name) => join('docs', name))];
}

export interface Block {
  /** What stands behind the three backticks; empty for an indented block. */
  readonly info: string;
  readonly text: string;
}

/** Fenced blocks and blocks indented by four spaces, in order. */
export function blocks(markdown: string): Block[] {
  const found: Block[] = [];
  for (const match of markdown.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$|((?:^ {4}\S.*\n(?:^ {6,}\S.*\n)*)+)/gm)) {
    const [, info, fenced, indented] = match;
    if (fenced !== undefined) found.push({ info: (info ?? '').trim(), text: fenced });
    else found.push({ info: '', text: (indented ?? '').replaceAll(/^ {4}/gm, '') });
  }
  return found;
}

/** Indented blocks of commands, and blocks for a shell; drawings and other languages are none. */
const areCommands = ({ info, text }: Block): boolean =>
  info === 'console' || info === 'sh' || (info === '' && !/[─│┐└┬]/.test(text));

/** Every command of README and docs as one types it, whole where it goes over several lines, with the pages that have it. */
export function commands(): { readonly command: string; readonly pages: readonly string[] }[] {
  const found = new Map<string, Set<string>>();
  for (const page of pages())
    for (const { text } of blocks(read(page)).filter(areCommands))
      for (const line of text.trim().split(/(?<!\\)\n/)) {
        const command = line.replace(/ +# .*$/, '');
        found.set(command, (found.get(command) ?? new Set()).add(page));
      }
  return [...found].map(([command, on]) => ({ command, pages: [...on] }));
}

/** A JSON value with what differs from run to run made equal: times, UUIDs, short hashes, tokens, milliseconds. */
export function timeless(value: unknown): unknown {
  const text = JSON.stringify(value, (key, member) => (key === 'ms' ? 'MS' : member))
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID')
    .replaceAll(/\b[0-9a-f]{16}\b/g, 'HASH')
    .replaceAll(/"token":"[\w-]{43}"/g, '"token":"TOKEN"');
  return JSON.parse(text);
}
