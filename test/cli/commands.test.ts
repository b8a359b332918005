import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SitewardError } from '#errors.ts';
import { type CommandAnswer, type CommandBody, type CommandsPort, createControlSocket } from '#lan/http/index.ts';
import { fakeCommands, fakeLanPort } from '#lan/http/port.fake.ts';
import type { Part } from '#lib/health.ts';
import { main, siteward as program } from './run-cli.ts';

let dir: string;
let socket: string;
let daemon: Part | undefined;
let given: CommandBody[];
/** What the site answers instead of obeying. */
let says: Partial<CommandAnswer> | SitewardError | undefined;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-commands-'));
  socket = join(dir, 'control.sock');
  given = [];
  says = undefined;
  const fake = fakeCommands();
  const commands: CommandsPort = {
    async give(command, by, signal) {
      given.push(command);
      if (says instanceof SitewardError) throw says;
      return { ...(await fake.give(command, by, signal)), ...says };
    },
  };
  const port = fakeLanPort(0, { commands });
  daemon = createControlSocket({ path: socket, port, log: pino({ level: 'silent' }), metrics: new Registry() });
  await daemon.start(new AbortController().signal);
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  rmSync(dir, { recursive: true, force: true });
});

/** One command line, with something on its standard input. */
const siteward = (args: readonly string[], input = '') => program([...args, '--socket', socket], {}, input);
const asked = () => given.map(({ id: _, issued_at: __, ...rest }) => rest);

describe('each verb says what it means', () => {
  test.each<[readonly string[], object, string]>([
    [['arm'], { verb: 'arm', partition: 'all', mode: 'away' }, 'the site is arming\n'],
    [
      ['arm', 'p1', '--mode', 'night', '--force', '--bypass', '2,5', '--bypass', '7', '--no-exit-delay'],
      {
        ...{ verb: 'arm', partition: 'p1', mode: 'night', force: true, bypass: ['2', '5', '7'], skip_exit_delay: true },
      },
      'p1 is arming\n',
    ],
    [['disarm', 'p1'], { verb: 'disarm', partition: 'p1' }, 'p1 is disarmed\n'],
    [
      ['bypass', '5', '--minutes', '30', '--until', 'disarm', '--reason', 'delivery'],
      { verb: 'bypass', zone: '5', minutes: 30, until: 'disarm', reason: 'delivery' },
      'zone 5 is left out\n',
    ],
    [['unbypass', '5'], { verb: 'unbypass', zone: '5' }, 'zone 5 is watched again\n'],
    [['clear-memory', 'p1'], { verb: 'clear_memory', partition: 'p1' }, 'the alarm memory of p1 is empty\n'],
    [
      ['test', 'p1', '--minutes', '20', '--zones', '2,5'],
      { verb: 'test', partition: 'p1', minutes: 20, zones: ['2', '5'] },
      'the walk test of p1 runs\n',
    ],
    [['test', '--end'], { verb: 'end_test', partition: 'all' }, 'the walk test of the site has ended\n'],
  ])('%j', async (args, command, said) => {
    expect(await siteward(args)).toEqual({ code: 0, out: said, err: '' });
    expect(asked()).toEqual([command]);
    expect(given[0]?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a code comes from standard input and is shown nowhere; --json prints the answer', async () => {
    const ran = await siteward(['disarm', 'p1', '--code-stdin', '--json'], '25804713\n');
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({ outcome: 'done', partition: 'p1', state: 'disarmed', seq: 8 });
    expect(asked()).toEqual([{ verb: 'disarm', partition: 'p1', code: '25804713' }]);
    expect(ran.out + ran.err).not.toContain('25804713');
  });
});

describe('what whoever gave the command must know is told with its answer', () => {
  const fire = { partition: 'p1', kind: 'fire', zone: '4' };
  const zone_names = { '1': 'Door', '2': 'Window', '4': 'Kitchen' };

  test.each([
    ['done', 'p1 is disarmed\n'],
    ['already', 'p1 is already disarmed\n'],
  ] as const)('a fire goes on over a disarm that is %s', async (outcome, said) => {
    says = { outcome, state: 'triggered', alarms: [fire], zone_names };
    expect(await siteward(['disarm', 'p1'])).toMatchObject({
      code: 0,
      out: `${said}p1 IS STILL IN ALARM: fire, zone 4 Kitchen; it ends with its cause\n`,
    });
    const { out } = await siteward(['disarm', 'p1', '--json']);
    expect(JSON.parse(out)).toMatchObject({ outcome, state: 'triggered', alarms: [fire] });
  });

  test('the end of a walk test tells what was walked and what was missed', async () => {
    says = {
      tests: [{ partition: 'p1', walked: 1, walked_zones: ['1'], missed: 70, missed_zones: ['2', '4'] }],
      zone_names,
    };
    expect((await siteward(['test', 'p1', '--end'])).out).toBe(
      'the walk test of p1 has ended\np1 walked: 1 Door\np1 missed: 2 Window, 4 Kitchen, and 68 more\n',
    );
  });
});

test.each(['25804713 for the painter', '1379'])(
  'a reason in which a code stands is left out, and that is said: %s',
  async (why) => {
    const ran = await siteward(['bypass', '5', '--reason', why, '--code-stdin'], '25804713\n');
    expect(ran).toMatchObject({ code: 0, err: 'siteward: the reason is left out: a code stands in it\n' });
    expect((await siteward(['bypass', '5', '--reason', 'painter', '--code-stdin'], '25804713\n')).err).toBe('');
  },
);

test('one line of standard input is enough for a code, while somebody holds it open', async () => {
  const child = spawn(process.execPath, [main, 'disarm', 'p1', '--code-stdin', '--socket', socket]);
  child.stdin.write('25804713\n');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(asked()).toEqual([{ verb: 'disarm', partition: 'p1', code: '25804713' }]);
});

describe('a refusal is told with what to do, and with exit code 65', () => {
  test.each<[string, readonly string[], CommandAnswer['error'], string]>([
    [
      'open zones',
      ['arm'],
      { code: 'NOT_READY', zones: ['2', '5'] },
      'siteward: arm: refused: not ready: 2, 5. Close them, leave them out with --bypass 2,5, or say --force (NOT_READY)\n',
    ],
    [
      'a fire zone among the open ones',
      ['arm'],
      { code: 'NOT_READY', field: 'bypass', zones: ['1', '4'] },
      'not ready: 1, 4. Close or mend them; not all of them can be left out, and --force names those that cannot',
    ],
    [
      'what is never left out',
      ['arm', '--force'],
      { code: 'NOT_READY', zones: ['2'] },
      'not ready: 2, which --force does not leave out',
    ],
    ['a fire that lasts', ['clear-memory'], { code: 'NOT_ALLOWED', field: 'state' }, 'end with their cause alone'],
    ['a wrong code', ['disarm'], { code: 'BAD_CODE', field: 'code' }, 'siteward user list'],
    ['a lock', ['disarm'], { code: 'LOCKED', retry_after_s: 88 }, 'try again in 88 s, or use a keypad'],
    ['a locked panel', ['disarm'], { code: 'LOCKED' }, 'the panel takes no codes now'],
    ['a panel that is away', ['arm'], { code: 'PANEL_OFFLINE' }, 'use its own keypad'],
    ['a role', ['bypass', '5'], { code: 'NOT_ALLOWED', field: 'code' }, 'docs/users.md what each may do'],
    ['a fire zone', ['bypass', '5'], { code: 'NOT_ALLOWED', field: 'zone', zones: ['5'] }, 'zone 5 always watches'],
    [
      'a panel without such a command',
      ['disarm', 'p2'],
      { code: 'NOT_ALLOWED', field: 'profile' },
      `disarm: refused: the profile of its panel has no command for this ("siteward panel list" shows which each has; sia-dc09 has none); disarm at the panel's own keypad (NOT_ALLOWED)`,
    ],
    ['a panel armed in another mode', ['arm'], { code: 'NOT_ALLOWED', field: 'mode' }, 'takes no other mode while'],
    ['a panel that did not take it', ['arm', 'p2'], { code: 'NOT_ALLOWED', field: 'panel' }, 'Use its own keypad'],
    [
      'a fire zone in a walk test',
      ['test', 'p1', '--zones', '1,5'],
      { code: 'NOT_ALLOWED', field: 'zones', zones: ['5'] },
      'siteward: test: refused: a walk test is never about zone 5: life safety, hold-up and key switches act as always; name others, or say no --zones (NOT_ALLOWED)',
    ],
    ['an armed site', ['test'], { code: 'NOT_ALLOWED', field: 'state' }, 'disarm first'],
    [
      'too many commands',
      ['arm'],
      { code: 'RATE_LIMITED', retry_after_s: 88 },
      'commands without a code to one partition within a minute, all programs of this box together: try again in 88 s, or give a code (--ask-code or --code-stdin)',
    ],
    [
      'too many, of a verb that asks for none',
      ['unbypass', '5'],
      { code: 'RATE_LIMITED' },
      'give a code (--code-stdin) (',
    ],
    ['too many, of a verb that asked', ['disarm'], { code: 'RATE_LIMITED' }, 'or give a code ('],
    ['an open zone', ['unbypass', '5'], { code: 'NOT_READY', zones: ['5'] }, 'close it first'],
  ])('%s', async (_why, args, error, said) => {
    says = { outcome: 'refused', error };
    const ran = await siteward(args);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 65, out: '' });
    expect(ran.err).toContain(said);
  });

  test('what somebody else overtook is 65, what there is not is 66, what a panel did not show is 1', async () => {
    says = { outcome: 'superseded', error: { code: 'NEWER_LOCAL_CHANGE' } };
    expect(await siteward(['disarm'])).toMatchObject({ code: 65, err: expect.stringContaining('came first') });
    says = { outcome: 'refused', error: { code: 'UNKNOWN_TARGET', field: 'partition' } };
    expect(await siteward(['arm', 'p9'])).toMatchObject({
      code: 66,
      err: expect.stringContaining('no such partition'),
    });
    says = { outcome: 'refused', error: { code: 'UNKNOWN_TARGET', field: 'zone' } };
    expect(await siteward(['bypass', '99'])).toMatchObject({
      code: 66,
      err: expect.stringContaining('no such zone; the configuration lists them'),
    });
    says = { outcome: 'unconfirmed', error: { code: 'UNCONFIRMED' } };
    expect(await siteward(['arm'])).toMatchObject({ code: 1, err: expect.stringContaining('did not show it') });
    says = { outcome: 'failed', error: { code: 'PANEL_OFFLINE' } };
    expect(await siteward(['arm'])).toMatchObject({ code: 65, err: expect.stringContaining('only in part') });
  });

  test('--json prints a refusal too', async () => {
    says = { outcome: 'refused', error: { code: 'NOT_READY', zones: ['2'] } };
    const { code, out } = await siteward(['arm', '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([65, { outcome: 'refused', error: { zones: ['2'] } }]);
  });

  test('without a final answer it says so', async () => {
    says = new SitewardError('deadline', 'the final answer to the command took longer than 15000 ms');
    const { code, err } = await siteward(['arm']);
    expect(code).toBe(1);
    expect(err).toContain('took longer than');
  });
});

test('a code that is wanted where nobody can be asked is wrong usage, as with every verb', async () => {
  says = { outcome: 'refused', error: { code: 'CODE_REQUIRED', field: 'code' } };
  for (const args of [['disarm'], ['arm', '--mode', 'home'], ['bypass', '5']])
    expect(await siteward(args)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--code-stdin \(CODE_REQUIRED\)/),
    });
});

test('an arming of all that is done in part says which partitions are not armed, each with why', async () => {
  says = {
    ...{ outcome: 'failed', partition: 'all', error: { code: 'NOT_READY', zones: ['2'] } },
    undone: [
      { partition: 'p2', code: 'NOT_READY', zones: ['2'] },
      { partition: 'p3', code: 'UNCONFIRMED' },
    ],
  };
  const { code, err } = await siteward(['arm']);
  expect(code).toBe(65);
  expect(err).toMatch(
    /^siteward: arm: done only in part; not done in:\n {2}p2: not ready: 2.*\(NOT_READY\)\n {2}p3: the panel was told.*\(UNCONFIRMED\)\n$/,
  );
  expect(JSON.parse((await siteward(['arm', '--json'])).out)).toMatchObject({ undone: says.undone });
});

test('an arming names the zones it leaves out', async () => {
  says = { outcome: 'done', left_out: ['2', '5'], zone_names: { '2': 'Window' } };
  expect((await siteward(['arm', '--force'])).out).toMatch(/\nleft out: 2 Window, 5\n$/);
});

describe('wrong usage is told before anything is asked', () => {
  test.each<[string, readonly string[]]>([
    ['a code as an argument', ['disarm', 'p1', '40718362']],
    ['a code in the place of the partition', ['disarm', '40718362']],
    ['a code as an option', ['disarm', '--code', '40718362']],
    ['a mode nobody knows', ['arm', '--mode', 'asleep']],
    ['no zone', ['bypass']],
    ['minutes that are none', ['test', '--minutes', '0']],
    ['a reason that is too long', ['bypass', '5', '--reason', 'x'.repeat(121)]],
  ])('%s', async (_what, args) => {
    const { code, out, err } = await siteward(args);
    expect(code).toBe(2);
    expect(out + err).not.toContain('40718362');
    expect(given).toEqual([]);
  });

  test.each(['', '\n', '25804713\n2580\n', 'not a code'])('standard input that holds %j is no code', async (input) => {
    const { code, err } = await siteward(['disarm', '--code-stdin'], input);
    expect(code).toBe(65);
    expect(err).toMatch(/standard input must hold the code and nothing else \(code_refused\)/);
    expect(given).toEqual([]);
  });
});

describe.skipIf(!existsSync('/usr/bin/script'))('on a terminal', () => {
  async function onTerminal(args: readonly string[], keys: string) {
    const command = [process.execPath, main, ...args, '--socket', socket].join(' ');
    const env = { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'dumb' };
    const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: 60_000,
    });
    let out = '';
    let isAsked = false;
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (isAsked || !out.includes('code: ')) return;
      isAsked = true;
      child.stdin.write(keys);
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, out };
  }

  test('a disarm asks for the code and does not show it', async () => {
    const { code, out } = await onTerminal(['disarm', 'p1'], '40718362\r');
    expect([code, asked()]).toEqual([0, [{ verb: 'disarm', partition: 'p1', code: '40718362' }]]);
    expect(out).not.toContain('40718362');
  });

  test('an arm asks only when the site wants a code, and gives the command again with it', async () => {
    says = { outcome: 'refused', error: { code: 'CODE_REQUIRED', field: 'code' } };
    const { code } = await onTerminal(['arm', 'p1', '--mode', 'home'], '40718362\r');
    expect(code).toBe(65);
    expect(asked().map(({ code: typed }) => typed)).toEqual([undefined, '40718362']);
    expect(new Set(given.map(({ id }) => id)).size).toBe(2);
  });

  test('nothing typed is no code; who gives up has asked for nothing', async () => {
    expect((await onTerminal(['disarm', 'p1'], '\r')).code).toBe(0);
    expect(asked()).toEqual([{ verb: 'disarm', partition: 'p1' }]);
    expect((await onTerminal(['disarm', 'p1'], '40\u0003')).code).toBe(1);
    expect(given).toHaveLength(1);
  });
});
