import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createControlSocket, type NewUserBody, type UsersPort } from '#lan/http/index.ts';
import { fakeLanPort, fakeUsers } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { localAsker } from '#site/model/index.ts';
import { main, siteward } from './run-cli.ts';

let dir: string;
let socket: string;
let daemon: Part | undefined;
let given: NewUserBody[];
let changed: Parameters<UsersPort['setCode']>[0][];
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-user-'));
  socket = join(dir, 'control.sock');
  given = [];
  changed = [];
  const fake = fakeUsers();
  const users: UsersPort = {
    ...fake,
    add(user, actor) {
      given.push(user);
      return fake.add(user, actor);
    },
    setCode(change) {
      changed.push(change);
      return fake.setCode(change);
    },
  };
  const port = fakeLanPort(0, { users });
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  rmSync(dir, { recursive: true, force: true });
});

/** One command line, with something on its standard input. */
const user = (args: readonly string[], input = '') => siteward(['user', ...args, '--socket', socket], {}, input);
const ben = ['add', 'ben', '--name', 'Ben Kurz'];

describe('add', () => {
  test('takes the code from standard input, and shows nothing of it', async () => {
    const ran = await user([...ben, '--code-stdin'], '4071\n');
    expect(ran).toEqual({ code: 0, out: 'user ben added as user\n', err: '' });
    expect(given).toEqual([{ id: 'ben', name: 'Ben Kurz', role: 'user', code: '4071' }]);
  });

  test('takes limits, a duress code and the consent of an owner', async () => {
    const hours = ['--hours', 'mon-wed,sun 08:00-17:00', '--hours', 'FRI-sat 22:00-02:00'];
    const limits = ['--from', '2026-12-01', '--until', '2026-12-24T18:30', ...hours];
    const ran = await user([...ben, '--duress', ...limits, '--json', '--code-stdin'], '4071\r\n4079');
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({ id: 'ben', valid_from: '2026-12-01', now: 'valid' });
    expect(ran.out + ran.err).not.toMatch(/407|duress/);
    const windows = [
      { days: ['mon', 'tue', 'wed', 'sun'], from: '08:00', to: '17:00' },
      { days: ['fri', 'sat'], from: '22:00', to: '02:00' },
    ];
    expect(given[0]).toMatchObject({ code: '4071', duress_code: '4079', valid_until: '2026-12-24T18:30', windows });
    const tim = ['add', 'tim', '--name', 'Tim', '--role', 'installer', '--until', '2026-12-01', '--code-stdin'];
    expect((await user(tim, '6042\n2580\n')).code).toBe(0);
    expect(given[1]).toMatchObject({ id: 'tim', role: 'installer', code: '6042', consent: '2580' });
    expect(given[1]).not.toHaveProperty('duress_code');
    expect((await user(['add', 'eva', '--name', 'Eva', '--role', 'owner', '--code-stdin'], '6052\n2580\n')).code).toBe(
      0,
    );
    expect(given[2]).toMatchObject({ role: 'owner', code: '6052', consent: '2580' });
  });

  test.each([
    ['nothing', [], ''],
    ['an empty line', [], '\n'],
    ['more than is wanted', [], '4071\n4072\n'],
    ['no duress code where one is wanted', ['--duress'], '4071\n'],
    ['a whole file', [], '4071\n'.repeat(1000)],
  ])('is refused when standard input holds %s', async (_what, more, input) => {
    const { code, err } = await user([...ben, ...more, '--code-stdin'], input);
    expect(code).toBe(65);
    expect(err).toMatch(/standard input .*\(code_refused\)/);
    expect(err).not.toContain('407');
    expect(given).toEqual([]);
  });

  test.each([
    ['as an argument', [...ben, '4071']],
    ['as an option', [...ben, '--code', '4071']],
    ['as an option with a sign', [...ben, '--code=4071']],
    ['in the place of the id', ['add', '4071', '--name', 'Ben']],
  ])('does not take a code %s, and does not repeat it', async (_how, args) => {
    const { code, out, err } = await user(args);
    expect(code).toBe(2);
    expect(err).toMatch(/a code is no argument|the id must be/);
    expect(out + err).not.toContain('4071');
    expect(given).toEqual([]);
  });

  test.each([
    ['without a name', ['add', 'ben', '--code-stdin'], '--name'],
    ['with a role nobody knows', [...ben, '--role', 'king'], 'owner, user, guard, installer'],
    ['with hours that are none', [...ben, '--hours', 'mon 8-17'], 'mon-fri 08:00-17:00'],
    ['with a day of the week that is none', [...ben, '--hours', 'mon-xyz 08:00-17:00'], 'mon-fri 08:00-17:00'],
    ['without anybody to ask', ben, 'say --code-stdin'],
  ])('is wrong usage %s', async (_how, args, said) => {
    const { code, err } = await user(args, '4071\n');
    expect(code).toBe(2);
    expect(err).toContain(said);
    expect(given).toEqual([]);
  });

  test('says what the daemon has against it', async () => {
    await user([...ben, '--code-stdin'], '4071\n');
    const taken = await user(['add', 'eva', '--name', 'Eva', '--code-stdin'], '4071\n');
    expect(taken.code).toBe(65);
    expect(taken.err).toContain('siteward: the code cannot be had; choose another one (code_refused)');
    const short = await user(['add', 'eva', '--name', 'Eva', '--code-stdin'], '407\n');
    expect(short).toMatchObject({ code: 65, err: 'siteward: the code must be 4 to 12 digits (code_refused)\n' });
    const wrong = await user(['add', 'eva', '--name', 'Eva', '--until', '1.12.2026', '--code-stdin'], '4071\n');
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('must be a day such as 2026-12-01') });
    expect(wrong.err).toContain('--until');
  });
});

describe('code', () => {
  test('gives somebody another code; of an owner it takes the code of an owner', async () => {
    await user([...ben, '--code-stdin'], '4071\n');
    expect(await user(['code', 'ben', '--code-stdin'], '5170\n')).toEqual({
      code: 0,
      out: 'user ben has another code\n',
      err: '',
    });
    expect(changed).toEqual([{ id: 'ben', code: '5170', by: localAsker }]);
    const owner = await user(['code', 'anna', '--duress', '--json', '--code-stdin'], '6042\n6049\n2580\n');
    expect(owner).toMatchObject({ code: 0, out: '{"changed":"anna"}\n' });
    expect(changed[1]).toMatchObject({ id: 'anna', code: '6042', duress_code: '6049', consent: '2580' });
  });

  test('is told what is wrong: nobody of that id, a code of somebody, a code as an argument', async () => {
    expect(await user(['code', 'eva', '--code-stdin'], '5170\n')).toMatchObject({
      code: 66,
      err: expect.stringContaining('there is no user eva'),
    });
    await user([...ben, '--code-stdin'], '4071\n');
    const taken = await user(['code', 'ben', '--code-stdin'], '4071\n');
    expect(taken).toMatchObject({ code: 65, err: expect.stringContaining('the code cannot be had') });
    const argument = await user(['code', 'ben', '5170']);
    expect(argument.code).toBe(2);
    expect(argument.err).not.toContain('5170');
  });
});

describe('list and remove', () => {
  test('the list is a table, or one object a line', async () => {
    await user([...ben, '--hours', 'sat 08:00-12:00', '--code-stdin'], '4071\n');
    expect((await user(['list'])).out).toBe(
      'anna  owner  file  Anna Meier\nben   user   file  Ben Kurz      sat 08:00-12:00\n',
    );
    const lines = (await user(['list', '--json'])).out.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['anna', 'ben']);
  });

  test('the last owner goes only with --yes; who is not there is 66', async () => {
    const refused = await user(['remove', 'anna']);
    expect(refused).toMatchObject({ code: 65, err: expect.stringContaining('this is the last owner') });
    expect(await user(['remove', 'anna', '--yes', '--json'])).toEqual({
      code: 0,
      out: '{"removed":"anna"}\n',
      err: '',
    });
    expect(await user(['remove', 'anna'])).toMatchObject({ code: 66, err: expect.stringContaining('(user_unknown)') });
    expect((await user(['list'])).out).toMatch(/^no users/);
  });
});

describe.skipIf(!existsSync('/usr/bin/script'))('add on a terminal', () => {
  /** Runs it as a person would, on a terminal of its own that echoes; each answer waits for its question. */
  async function onTerminal(answers: readonly (readonly [question: string, keys: string])[], ...args: string[]) {
    const command = [process.execPath, main, 'user', 'add', 'ben', '--name', 'Ben', ...args, '--socket', socket].join(
      ' ',
    );
    const env = { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'dumb' };
    const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: 30_000,
    });
    let out = '';
    let seen = 0;
    const left = [...answers];
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      const [question, keys] = left[0] ?? [];
      if (question === undefined || !out.slice(seen).includes(`${question}: `)) return;
      left.shift();
      seen = out.length;
      child.stdin.write(keys ?? '');
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, out, left };
  }
  const first = 'code of ben, 4 to 12 digits';

  test('asks for each code twice, takes corrections, and shows no digit', async () => {
    const { code, out, left } = await onTerminal(
      [
        [first, '409\u007f\u007f071\r'],
        ['once more', '4071\r'],
        ['duress code of ben', '4072\r'],
        ['once more', '4072\r'],
      ],
      '--duress',
    );
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(out.replaceAll('4 to 12 digits', '')).not.toMatch(/\d{2}/);
    expect(given).toEqual([{ id: 'ben', name: 'Ben', role: 'user', code: '4071', duress_code: '4072' }]);
  });

  test('takes answers that were typed ahead', async () => {
    const { code } = await onTerminal([[first, '4071\r4071\r']]);
    expect([code, given.length]).toEqual([0, 1]);
  });

  test('asks for the code of an owner before an installer comes in', async () => {
    const answers = [
      [first, '4071\r'],
      ['once more', '4071\r'],
      ['code of an owner, who agrees; empty if there is none', '2580\r'],
    ] as const;
    expect((await onTerminal(answers, '--role', 'installer', '--until', '2026-12-24')).code).toBe(0);
    expect(given[0]).toMatchObject({ role: 'installer', consent: '2580' });
  });

  test.each([
    [
      'the two differ',
      [
        [first, '4071\r'],
        ['once more', '4072\r'],
      ],
      'the two are not the same; nothing was changed',
      65,
    ],
    ['one gives up', [[first, '40\u0003']], 'given up; nothing was changed', 1],
  ] as const)('adds nobody when %s', async (_why, answers, said, ends) => {
    const { code, out } = await onTerminal(answers);
    expect(code).toBe(ends);
    expect(out).toContain(said);
    expect(given).toEqual([]);
  });
});
