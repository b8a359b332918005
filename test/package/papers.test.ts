import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { configJsonSchema } from '#config/index.ts';
import { bundledPackages } from '../../tools/package/bundled.ts';
import { bashCompletion, fishCompletion, zshCompletion } from '../../tools/package/completions.ts';
import { copyrightFile } from '../../tools/package/copyright.ts';
import { commandPage, configPage } from '../../tools/package/man.ts';
import { sbom } from '../../tools/package/sbom.ts';
import { allVerbs, verbTree } from '../../tools/package/verbs.ts';

const program = verbTree();
const of = { version: '1.2.3', date: 1_700_000_000 };
const packages = bundledPackages(
  ['node_modules/zod/v4/index.js', 'node_modules/@hono/node-server/dist/index.mjs', 'src/daemon.ts'],
  ['better-sqlite3'],
);

describe('the manual', () => {
  test('names every verb with every option of it', () => {
    const page = commandPage(program, of).replaceAll('\\-', '-');
    for (const verb of allVerbs(program).filter(({ below }) => below.length === 0)) {
      expect(page).toContain(`.SS "${verb.name}"`);
      for (const option of verb.options) if (option.long !== '--help') expect(page).toContain(option.long);
    }
    expect(allVerbs(program).length).toBeGreaterThan(50);
  });

  test('names every section of the configuration', () => {
    const page = configPage(of);
    const { properties } = configJsonSchema() as { properties: Readonly<Record<string, unknown>> };
    for (const name of Object.keys(properties)) expect(page).toContain(`.SH "${name.toUpperCase()}"`);
    expect(page).toContain('.B site.timezone\n');
  });

  test('has no line that roff would take for a request of its own', () => {
    for (const page of [commandPage(program, of), configPage(of)])
      for (const line of page.split('\n')) expect(line).not.toMatch(/^(\.(?!TH |SH |SS |TP$|PP$|B |BR |nh$|ad )|')/);
  });
});

describe('bash', () => {
  const complete = (...words: readonly string[]): string[] => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-bash-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, 'siteward'), bashCompletion(program));
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _siteward; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const said = execFileSync('bash', ['-c', script, 'bash', join(dir, 'siteward'), ...words], { encoding: 'utf8' });
    return said.split('\n').filter((word) => word !== '');
  };

  test('completes verbs, verbs below them, options and their choices', () => {
    expect(complete('siteward', 'statu')).toEqual(['status']);
    expect(complete('siteward', 'camera', 'rep')).toEqual(['replace']);
    expect(complete('siteward', 'check', '--no')).toEqual(['--no-secrets']);
    expect(complete('siteward', 'arm', '--mode', 'aw')).toEqual(['away']);
    expect(complete('siteward', 'check', '/et')).toEqual([]);
  });
});

describe('zsh', () => {
  /** What would be offered: one line a word, and its meaning behind a colon. */
  const complete = (...words: readonly string[]): string[] => {
    const dir = mkdtempSync(join(tmpdir(), 'siteward-zsh-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, '_siteward'), zshCompletion(program));
    // What the shell has when somebody types, and no more of its own files.
    const script = `dir=$1; shift
      _describe() { while [[ $1 == -* ]]; do shift; done; shift; print -rl -- "\${(@P)1}" }
      compadd() { shift; print -rl -- "$@" }
      _files() { print -r -- FILES }
      run() { local -a words=("$@"); local CURRENT=$#words; source "$dir/_siteward" }
      run "$@"`;
    const said = execFileSync('zsh', ['-f', '-c', script, 'zsh', dir, ...words], { encoding: 'utf8' });
    return said.split('\n').filter((line) => line !== '');
  };

  test('completes verbs, verbs below them, options and their choices, each with its meaning', () => {
    expect(complete('siteward', 'statu')).toContain('status:show the state of the site and of the daemon');
    expect(complete('siteward', 'camera', 'rep').map((line) => line.split(':')[0])).toContain('replace');
    expect(complete('siteward', 'camera', 'rep').map((line) => line.split(':')[0])).not.toContain('status');
    expect(complete('siteward', 'check', '--no')).toContain('--no-secrets:only warn about secrets that cannot be read');
    expect(complete('siteward', 'arm', '--mode', 'aw')).toContain('away');
    expect(complete('siteward', 'check', '/et')).toEqual(['FILES']);
  });

  test('takes every verb and option as one word', () => {
    for (const verb of allVerbs(program).filter(({ below }) => below.length > 0)) {
      const words = complete(...verb.name.split(' '), '').map((line) => line.split(':')[0]);
      expect(words).toEqual(verb.below.map(({ name }) => name.split(' ').at(-1)));
    }
  });
});

test('fish gets a line for each verb', () => {
  const text = fishCompletion(program);
  for (const { name } of program.below) expect(text).toContain(` -a ${name.split(' ').at(-1)} -d `);
});

describe('what is bundled', () => {
  test('stands in the copyright file, each package with its licence and who holds the rights', () => {
    const file = copyrightFile(packages, { node: 'Node.js is licensed so:\n\n  freely\n' });
    expect(file).toMatch(/^Format: https:\/\/www\.debian\.org\/doc\/packaging-manuals\/copyright-format\/1\.0\/$/m);
    expect(file).toMatch(/^Files: node_modules\/zod\/\*\nCopyright: .*Colin McDonnell.*\nLicense: MIT-\w+$/m);
    const used = [...file.matchAll(/^Files: .*\n(?:.*\n)*?License: (\S+)$/gm)].map(([, name]) => name);
    const told = [...file.matchAll(/^License: (\S+)\n /gm)].map(([, name]) => name);
    expect(used.filter((name) => !told.includes(name))).toEqual([]);
    // A line without a space before it would begin a field.
    expect(file.split('\n').filter((line) => line !== '' && !/^( |[A-Z][A-Za-z-]+: )/.test(line))).toEqual([]);
  });

  test('stands in the list of parts, with the digests of package-lock.json; the same inputs give the same bytes', () => {
    const input = { ...of, arch: 'amd64', packages, node: { version: '24.0.0', sha256: 'ab' } };
    const text = sbom(input);
    expect(sbom(input)).toBe(text);
    expect(sbom({ ...input, version: '1.2.4' })).not.toContain(
      (JSON.parse(text) as { serialNumber: string }).serialNumber,
    );
    const { components, serialNumber } = JSON.parse(text) as {
      components: { name: string; hashes: { content: string }[] }[];
      serialNumber: string;
    };
    expect(components.map(({ name }) => name)).toEqual(['node', '@hono/node-server', 'better-sqlite3', 'zod']);
    expect(components.slice(1).every(({ hashes }) => /^[0-9a-f]{128}$/.test(hashes[0]?.content ?? ''))).toBe(true);
    expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
