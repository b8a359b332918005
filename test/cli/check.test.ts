import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { isThere, nameOf } from '../lan/mqtt/bugcases.ts';
import { siteward } from './run-cli.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-check-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const base = `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
`;
function put(name: string, text: string): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
}

test('a good file is 0', async () => {
  const file = put('good.yaml', base);
  expect(await siteward(['check', file])).toEqual({ code: 0, out: `${file}: no errors\n`, err: '' });
});

test.each([
  ['check', (file: string) => ['check', file]],
  ['run', (file: string) => ['run', '--config', file]],
  ['a verb of the site in the cloud', (file: string) => ['site', 'show', '--config', file]],
])(
  '%s of a file that is not there names it and says how to begin one, without words of the system',
  async (_, args) => {
    for (const file of [join(dir, 'none.yaml'), join(put('file', ''), 'none.yaml')]) {
      const { code, out, err } = await siteward(args(file));
      expect([code, out]).toEqual([78, '']);
      expect(err).toContain(`the configuration ${file} cannot be read: there is no such file.`);
      expect(err).toContain(`"siteward setup --config ${file}"`);
      expect(err).not.toMatch(/ENO|stat|open '/);
    }
  },
);

test('answers that are not there are no configuration that is not there', async () => {
  const answers = join(dir, 'answers.yaml');
  const { code, err } = await siteward(['setup', '--config', join(dir, 'new.yaml'), '--answers', answers]);
  expect(code).not.toBe(0);
  expect(err).toContain(`there is no file of answers ${answers} (`);
});

test('a bad file is 78, with every error at its line', async () => {
  const file = put('bad.yaml', `${base}log: { levle: info }\ncamras: []\n`);
  const { code, out } = await siteward(['check', file]);
  expect(code).toBe(78);
  expect(out.split('\n')).toEqual([
    expect.stringMatching(/bad\.yaml:4:8 log\.levle: unknown key, expected one of level; did you mean "level"\?$/),
    expect.stringMatching(/bad\.yaml:5:1 camras: unknown key.*did you mean "cameras"\?$/),
    `${file}: 2 errors`,
    '',
  ]);
});

test('--json lists the same as data', async () => {
  const file = put('bad.json.yaml', `${base}log: { levle: info }\n`);
  const { code, out } = await siteward(['check', file, '--json']);
  expect(code).toBe(78);
  expect(JSON.parse(out)).toEqual({
    file,
    ok: false,
    warnings: [],
    problems: [
      {
        file,
        line: 4,
        col: 8,
        path: 'log.levle',
        message: 'unknown key',
        expected: 'one of level',
        nearest: 'level',
      },
    ],
  });
});

test('a secret that cannot be read is an error, and a warning with --no-secrets', async () => {
  const file = put('secret.yaml', `${base}users: [ { id: a, name: A, code: { env: NO_SUCH_CODE } } ]\n`);
  expect((await siteward(['check', file])).code).toBe(78);
  const { code, out } = await siteward(['check', file, '--no-secrets']);
  expect(code).toBe(0);
  expect(out).toContain('warning: ');
  expect(out).toContain('users[0].code: the secret of env NO_SUCH_CODE cannot be read: the variable is not set');
});

test('a secret that can be read is shown by nothing', async () => {
  const secret = put('secret', 'hunter2hunter2');
  chmodSync(secret, 0o600);
  const file = put('code.yaml', `${base}users: [ { id: a, name: A, code: { file: ${secret} } } ]\n`);
  const { code, out, err } = await siteward(['check', file, '--json']);
  expect(code).toBe(78);
  expect(out + err).toContain('is no code');
  expect(out + err).not.toContain('hunter2');
});

test('a panel profile that is not there is an error at its line, with those that are there', async () => {
  const file = put('profile.yaml', `${base}panels:\n  - id: main\n    profile: zigbee\n`);
  const { code, out } = await siteward(['check', file]);
  expect(code).toBe(78);
  expect(out).toMatch(/profile\.yaml:6:14 panels\[0\]\.profile: .*zigbee.*zigbee2mqtt/);
});

test('a panel code that no command of the profile holds is an error at its line', async () => {
  const panel = (profile: string) =>
    `${base}panels:\n  - id: main\n    profile: ${profile}\n    code: { env: PANEL_CODE }\n`;
  const environment = { PANEL_CODE: '7421' };
  const idle = await siteward(['check', put('idle-code.yaml', panel('pai'))], environment);
  expect(idle.code).toBe(78);
  expect(idle.out).toMatch(/idle-code\.yaml:7:11 panels\[0\]\.code: has no effect: the profile pai sends no code/);
  expect((await siteward(['check', put('used-code.yaml', panel('alarmo'))], environment)).code).toBe(0);
});

test('what is no regular file is 78 at once, however much it would give', async () => {
  for (const path of ['/dev/zero', dir]) {
    const { code, err } = await siteward(['check', path]);
    expect(code).toBe(78);
    expect(err).toContain('it is not a regular file');
  }
});

test('a file that is not there is 78 and says so', async () => {
  const { code, err } = await siteward(['check', join(dir, 'absent.yaml')]);
  expect(code).toBe(78);
  expect(err).toMatch(/^siteward: the configuration .*absent\.yaml cannot be read.*\(config_unreadable\)\n$/);
  expect(JSON.parse((await siteward(['check', join(dir, 'absent.yaml'), '--json'])).out)).toMatchObject({ ok: false });
});

test('run refuses a file that was never good with 78, and names the mistake', async () => {
  const file = put('never-good.yaml', `${base}store: { dir: ${join(dir, 'state')} }\nlog: { levle: info }\n`);
  const { code, err } = await siteward(['run', '--config', file]);
  expect(code).toBe(78);
  expect(err).toContain('never-good.yaml:5:8 log.levle: unknown key');
});

test.each([
  ['an unknown verb', ['chekc'], 'siteward --help'],
  ['an unknown option', ['check', '--jsno'], 'siteward check --help'],
  ['too many arguments', ['check', 'a', 'b'], 'siteward check --help'],
  ['a limit out of range', ['events', '--limit', '0'], 'siteward events --help'],
  ['an unknown class', ['events', '--class', 'nonsense'], 'siteward events --help'],
  ['a missing option below a verb', ['camera', 'snapshot', 'yard'], 'siteward camera snapshot --help'],
])('%s is wrong usage, 2', async (_name, args, help) => {
  const { code, err } = await siteward(args);
  expect(code).toBe(2);
  expect(err).toContain(`"${help}"`);
});

test('help and version are 0', async () => {
  const help = await siteward(['--help']);
  expect(help.code).toBe(0);
  expect(help.out).toContain('Exit codes');
  expect((await siteward(['--version'])).code).toBe(0);
});

test('a profile that is not there is told with what is wrong elsewhere, in one go', async () => {
  const file = put(
    'rounds.yaml',
    `${base}panels: [ { id: main, profile: nosuch, zones: { "1": { type: perimeter } } } ]
users: [ { id: a, name: A, code: { env: NOT_THERE } } ]
schedules: [ { id: n, days: [mon], at: "22:00", arm: { partitions: [p7] } } ]
`,
  );
  const { out } = await siteward(['check', file, '--json']);
  const { problems } = JSON.parse(out) as { problems: { path: string }[] };
  expect(problems.map(({ path }) => path)).toEqual([
    'panels[0].profile',
    'users[0].code',
    'schedules[0].arm.partitions[0]',
  ]);
});

describe.skipIf(!isThere)('a report of other systems (needs ../shared)', () => {
  it(nameOf(45), async () => {
    const panels = (vars: string) => `${base}panels:
  - { id: one, profile: pai, vars: { b: paradox }, partitions: { p1: Area_1 } }
  - { id: two, profile: pai, vars: { b: ${vars} }, partitions: { p1: Area_2 } }
`;
    const same = await siteward(['check', put('one-base.yaml', panels('paradox'))]);
    expect(same.code).toBe(78);
    expect(same.out).toMatch(
      /one-base\.yaml:6:\d+ panels\[1\]\.profile: panel two: reads the same topics as panel one \(paradox\//,
    );
    expect(same.out).toContain('give each its own base topic with vars');
    const apart = await siteward(['check', put('two-bases.yaml', panels('annex'))]);
    expect(apart.out).not.toContain('same topics');
  });
});
