import { expect, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { siteward } from '../cli/run-cli.ts';
import { read } from './markdown.ts';

const page = read('docs/cli.md');
/** Verbs, and verbs of verbs, in the order of the page. */
const sections = new Map(
  [...page.matchAll(/^(##|###) siteward ([\w -]+)\n([\s\S]*?)(?=^###? )/gm)].map((match) => [
    match[2] ?? '',
    match[3] ?? '',
  ]),
);

const program = buildProgram(() => undefined);
/** A verb as the program has it. */
function commandOf(verb: string) {
  const [name, inner] = verb.split(' ');
  const outer = program.commands.find((one) => one.name() === name);
  const found = inner === undefined ? outer : outer?.commands.find((one) => one.name() === inner);
  if (found === undefined) throw new Error(`there is no verb ${verb}`);
  return found;
}

test('docs/cli.md has a section for each verb, in the order of --help', () => {
  const verbs = program.commands.flatMap((verb) => {
    const inner = verb.name() === 'api' ? [] : verb.commands;
    return [verb.name(), ...inner.map((one) => `${verb.name()} ${one.name()}`)];
  });
  expect([...sections.keys()]).toEqual(verbs);
});

test.each([...sections.keys()])('the options of "siteward %s" are those of its --help', async (verb) => {
  // Of an operation of the cloud the options are known only when it is called.
  const help = verb === 'api' ? (await siteward([verb, '--help'])).out : commandOf(verb).helpInformation();
  const known = [...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)]
    .map((match) => match[1])
    .filter((name) => name !== '--help');
  const shown = [...(sections.get(verb) ?? '').matchAll(/^\| `(--[\w-]+)[^`]*` \|/gm)].map((match) => match[1]);
  expect(shown).toEqual(known);
});

test('the installed program shows the same', async () => {
  const { out, code } = await siteward(['doctor', '--help']);
  expect(code).toBe(0);
  expect(out.startsWith(commandOf('doctor').helpInformation())).toBe(true);
});

test('the exit codes are those of the program', () => {
  const shown = [...page.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]));
  expect(shown).toEqual(Object.values(exitCodes));
});
