import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { read, root } from './markdown.ts';

const run = (script: string, ...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, script), ...args], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, stdout, stderr };
};

test('bench says what it takes, for --help and for what it does not know, and measures nothing', () => {
  const help = run('bench/main.ts', '--help');
  expect(help).toMatchObject({ status: 0, stderr: '' });
  expect(help.stdout).toMatch(/^usage: npm run bench .*--only NAME .*neighbours/s);
  const wrong = run('bench/main.ts', '--nonsense');
  expect(wrong).toMatchObject({ status: 2, stdout: '' });
  expect(wrong.stderr).toContain('usage: npm run bench');
  expect(wrong.stderr).not.toMatch(/^ +at /m);
});

test('audio-library without a folder says what it takes', () => {
  const { status, stderr } = run('tools/audio-library.ts');
  expect(status).toBe(2);
  expect(stderr).toMatch(/^usage: npm run audio-library -- FOLDER/);
  expect(stderr).not.toMatch(/^ +at /m);
});

test('what docs/development.md names is there: scripts of package.json, and files', () => {
  const page = read('docs/development.md');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const named = [...page.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  const files = [...page.matchAll(/vitest run (test\/[\w./-]+)/g)].map(([, name = '']) => name);
  expect(files.filter((name) => !existsSync(join(root, name)))).toEqual([]);
  expect(files.length).toBeGreaterThan(0);
});
