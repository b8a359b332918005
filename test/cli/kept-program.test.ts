import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { programBegins, programEnds } from '../../src/cli/kept-program.ts';

const loader = join(import.meta.dirname, '..', '..', 'src', 'cli', 'kept-program.ts');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'siteward-kept-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const program = () => join(folder, 'program.cjs');
const cache = () => join(folder, 'cache');
/** What is kept of the program, in the folder that Node made for its own version. */
function kept(): string[] {
  const ofNode = join(cache(), readdirSync(cache())[0] ?? '');
  return readdirSync(ofNode).flatMap((name) => (name.startsWith('program.cjs-') ? [join(ofNode, name)] : []));
}

const write = (text: string) => writeFileSync(program(), `${programBegins}${text}${programEnds}`);

interface Start {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a Node that runs the program as the bundle does: what it exports, and whether what was kept was of use. */
function start({ flags = [], env = {} }: Start = {}): { exported: unknown; how: string } {
  const load = `import { runKept } from ${JSON.stringify(loader)};
process.stdout.write(JSON.stringify(runKept(${JSON.stringify(program())})));`;
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', load], {
    env: { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: cache(), NODE_DEBUG: 'siteward-start', ...env },
    encoding: 'utf8',
  });
  return { exported: JSON.parse(stdout), how: /program\.cjs: (\w+)/.exec(stderr)?.[1] ?? stderr };
}

test('a second start takes what the first one kept, which nobody else may read', () => {
  write('exports.sum = [1, 2].reduce((a, b) => a + b);');
  expect(start()).toEqual({ exported: { sum: 3 }, how: 'compiled' });
  expect(kept().map((path) => statSync(path).mode & 0o777)).toEqual([0o600]);
  expect(start()).toEqual({ exported: { sum: 3 }, how: 'taken' });
  expect(kept()).toHaveLength(1);
});

test('what is kept holds each function that has run, so that none of them is compiled again', () => {
  write(
    'function atFirst() { return 1; } function later() { return 2; } exports.sum = atFirst() + (process.env.LATER ? later() : 0);',
  );
  const log = join(folder, 'v8.log');
  const flags = ['--log-function-events', '--no-logfile-per-isolate', `--logfile=${log}`];
  const compiled = () =>
    ['atFirst', 'later'].filter((name) =>
      new RegExp(`^function,interpreter,.*,${name}$`, 'm').test(readFileSync(log, 'utf8')),
    );
  start({ flags });
  expect(compiled()).toEqual(['atFirst']);
  expect(start({ flags, env: { LATER: '1' } })).toEqual({ exported: { sum: 3 }, how: 'taken' });
  expect(compiled()).toEqual(['later']);
});

test('another text of the same length, and another with other flags of V8, are not run by what was kept', () => {
  write('exports.is = "one";');
  start();
  write('exports.is = "two";');
  expect(start()).toEqual({ exported: { is: 'two' }, how: 'compiled' });
  expect(start({ flags: ['--no-opt'] })).toEqual({ exported: { is: 'two' }, how: 'compiled' });
});

test('what was kept of an older text goes, so that upgrades do not fill the disk', () => {
  write('exports.is = "older";');
  start();
  const [older = ''] = kept();
  writeFileSync(`${older}.4711`, 'half');
  write('exports.is = "of today";');
  start();
  expect(kept()).toHaveLength(1);
  expect(kept()).not.toContain(older);
});

test('what is damaged is made anew', () => {
  write('exports.is = "whole";');
  start();
  const [path = ''] = kept();
  const bytes = readFileSync(path);
  for (const damaged of [bytes.with(bytes.length >> 1, (bytes[bytes.length >> 1] ?? 0) ^ 1), bytes.subarray(0, 2)]) {
    writeFileSync(path, damaged);
    expect(start()).toEqual({ exported: { is: 'whole' }, how: 'compiled' });
    expect(start().how).toBe('taken');
  }
});

test('where nothing can be kept the program runs all the same, and nothing is left behind', () => {
  write('exports.is = "here";');
  expect(start({ env: { NODE_COMPILE_CACHE: '' } })).toEqual({ exported: { is: 'here' }, how: 'compiled' });
  start();
  const [path = ''] = kept();
  // A folder in the way, as the owner of the folder is on an installed box.
  rmSync(path);
  mkdirSync(path);
  expect(start()).toEqual({ exported: { is: 'here' }, how: 'compiled' });
  expect(kept()).toEqual([path]);
});

test('what runs knows where it lies, and what it throws names its file', () => {
  write(
    'exports.dirname = __dirname; exports.url = __url; exports.sep = require("node:path").sep; exports.stack = new Error("here").stack;',
  );
  expect(start().exported).toMatchObject({
    dirname: folder,
    url: `file://${folder}/program.cjs`,
    sep: '/',
    stack: expect.stringContaining(`${folder}/program.cjs:1:`),
  });
});
