import { expect, test } from 'vitest';
import { exitCodes } from '../../src/cli/exit-codes.ts';
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

/** Names of verbs in the list of commands of `--help`. */
const verbsIn = (help: string): string[] =>
  [...(help.split('Commands:')[1] ?? '').matchAll(/^ {2}([\w-]+)/gm)]
    .map((match) => match[1] ?? '')
    .filter((verb) => verb !== 'help');

// One process for each verb: slow where others use the machine too.
test('docs/cli.md has a section for each verb, in the order of --help', { timeout: 240_000 }, async () => {
  const { out, code } = await siteward(['--help']);
  expect(code).toBe(0);
  const verbs: string[] = [];
  for (const verb of verbsIn(out)) {
    const inner = verb === 'api' ? [] : verbsIn((await siteward([verb, '--help'])).out);
    verbs.push(verb, ...inner.map((name) => `${verb} ${name}`));
  }
  expect([...sections.keys()]).toEqual(verbs);
});

test.each([...sections.keys()])('the options of "siteward %s" are those of its --help', async (verb) => {
  const { out, code } = await siteward([...verb.split(' '), '--help']);
  expect(code).toBe(0);
  const known = [...out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)]
    .map((match) => match[1])
    .filter((name) => name !== '--help');
  const shown = [...(sections.get(verb) ?? '').matchAll(/^\| `(--[\w-]+)[^`]*` \|/gm)].map((match) => match[1]);
  expect(shown).toEqual(known);
});

test('the exit codes are those of the program', () => {
  const shown = [...page.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]));
  expect(shown).toEqual(Object.values(exitCodes));
});
