import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { type Dialogue, typedInto } from '../../cli/on-terminal.ts';
import { program } from '../../harness/program.ts';
import { root } from '../markdown.ts';

/** What stands on the pages, and what stands for it here. */
export type Names = Readonly<Record<string, string>>;

/** Where commands are typed. */
export interface Place {
  /** The working folder; `npm` runs in the checkout. */
  readonly folder: string;
  /** What a verb is given that would look in /etc/siteward by itself. */
  readonly config: string;
  readonly env: Readonly<Record<string, string>>;
  readonly names: Names;
}

export interface Ran {
  readonly code: number | null;
  /** All that was shown, both streams in the order they came. */
  readonly shown: string;
}

/** How one command of the pages is run, and what must come of it. */
export interface Row<S> {
  /** As it stands on the page; two where the first one is left running in the background. */
  readonly command: string | readonly [background: string, next: string];
  /** Makes what it needs; resolves with names of its own, which count before those of the place. */
  readonly before?: (stage: S) => Promise<Names | undefined>;
  /** On a terminal, with what a person answers. */
  readonly typed?: (stage: S) => Dialogue;
  /** It runs until it is told to end, once it has said `says`: by SIGTERM to the program, or by a line on its input. */
  readonly serves?: 'SIGTERM' | { readonly input: string };
  /** Default 0; `signal` where the signal ends it before it could end by itself. */
  readonly code?: number | 'signal';
  readonly says: RegExp;
  /** Looks at what came of it. */
  readonly after?: (stage: S, ran: Ran) => unknown;
}

/** A command that only a whole system can do, or that takes long: it is run by another test. */
export interface Elsewhere {
  readonly command: string;
  readonly file: string;
  /** What that file must hold: the name of the test, and the command or what it runs. */
  readonly holds: readonly string[];
}

export const commandsOf = ({ command }: Row<never>): readonly string[] =>
  typeof command === 'string' ? [command] : command;

/** One test for each row, in their order: a later one may find what an earlier one has left. */
export function runRows<S extends { readonly place: Place }>(rows: readonly Row<S>[], stage: () => S): void {
  test.each(rows.map((row) => ({ row, name: commandsOf(row).join('\n') })))(
    '$name',
    { timeout: 120_000 },
    async ({ row }) => {
      const here = stage();
      const names = { ...here.place.names, ...(await row.before?.(here)) };
      const line = (text: string) => asTyped(text, { ...here.place, names });
      const [text = ''] = commandsOf(row).map(line);
      const typed = row.typed?.(here);
      const ran = await (typed === undefined
        ? inShell(row, commandsOf(row).map(line), here.place)
        : typedInto(['bash', '-c', text], typed, surroundings(here.place, text)));
      expect(ran.shown).toMatch(row.says);
      expect(ran.code, ran.shown).toBe(row.code === 'signal' ? null : (row.code ?? 0));
      await row.after?.(here, ran);
    },
  );
}

const verbs = buildProgram(() => undefined);

/** The verb that these words begin with, down to the innermost, and the words behind it; undefined where there is none. */
export function verbOf(
  words: readonly string[],
): { readonly verb: Command; readonly rest: readonly string[] } | undefined {
  let [verb, at] = [verbs, 0];
  for (const word of words) {
    const inner = verb.commands.find((one) => one.name() === word || one.alias() === word);
    if (inner === undefined) break;
    [verb, at] = [inner, at + 1];
  }
  return at === 0 ? undefined : { verb, rest: words.slice(at) };
}

export const hasOption = (verb: Command, name: string): boolean => verb.options.some(({ long }) => long === name);

/** Whether the verb would look for the configuration by itself. An operation of the interface takes what `api` takes. */
function takesConfig(words: readonly string[]): boolean {
  const found = verbOf(words)?.verb;
  return words[0] === 'api' || (found !== undefined && hasOption(found, '--config'));
}

/** The command with the names of this place, and the configuration of this place. */
function asTyped(command: string, { names, config }: Pick<Place, 'names' | 'config'>): string {
  // In one pass: what was put in is no name of a page any more.
  // The longest goes first.
  const known = Object.keys(names)
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const text = command.replace(new RegExp(known.join('|'), 'g'), (name) => names[name] ?? name);
  if (text.includes('--config')) return text;
  return text.replace(
    /\bsiteward (?:-- )?([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/,
    (words, ...verbs: (string | undefined)[]) =>
      takesConfig(verbs.slice(0, 2).filter((one) => one !== undefined)) ? `${words} --config ${config}` : words,
  );
}

/** The program by its name, as the package installs it. */
function binOf(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'siteward'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'siteward'), 0o755);
  return bin;
}

function surroundings({ folder, env }: Place, line: string): { cwd: string; env: Record<string, string> } {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  return {
    cwd: /\bnpm run /.test(line) ? root : folder,
    env: { PATH: `${binOf(folder)}${delimiter}${PATH}`, HOME: folder, NODE_COMPILE_CACHE, ...env },
  };
}

/** What a command of no page shows, typed in the same place. */
export async function ranInShell(command: string, place: Place): Promise<string> {
  return (await inShell({ command, says: /^/ }, [asTyped(command, place)], place)).shown;
}

async function inShell(row: Row<never>, lines: readonly string[], place: Place): Promise<Ran> {
  const [first = '', second] = lines;
  // A person types the second line once the first has shown something.
  const script = second === undefined ? first : `${first}\nread -r _\n${second}\nwait`;
  // A process group of its own, so that nothing that was started outlives the test.
  const child = spawn('bash', ['-c', script], {
    ...surroundings(place, first),
    detached: true,
    stdio: [second !== undefined || row.serves !== undefined ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  const kill = (signal: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid ?? 0), signal);
    } catch {
      // All of it has ended.
    }
  };
  onTestFinished(() => kill('SIGKILL'));
  let shown = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (bytes) => {
      shown += stripVTControlCharacters(String(bytes));
    });
  child.stdin?.on('error', () => undefined);
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  const saw = async (what: RegExp) => {
    await eventually(`${what}`, () => what.test(shown) || isOver || undefined, { everyMs: 20 }).catch(() => undefined);
    expect(shown).toMatch(what);
  };
  if (second !== undefined) {
    await saw(/\S/);
    child.stdin?.write('\n');
  }
  if (row.serves !== undefined) {
    await saw(row.says);
    if (row.serves === 'SIGTERM') process.kill(programBelow(child.pid ?? 0), 'SIGTERM');
    else child.stdin?.write(`${row.serves.input}\n`);
  }
  const code = await ended;
  return { code, shown };
}

/** What a shell or npm has started, and waits for. */
function programBelow(pid: number): number {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return first === undefined || first === '' ? pid : programBelow(Number(first));
}
