import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReplayItem } from '#site/replay.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { siteward } from './run-cli.ts';

/** Eight digits, so that it stands in no number by chance. */
const wrong = '93820571';

let site: Site;
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ ${['p1', 'p2'].map((id) => `{ id: ${id}, name: Part ${id}, exit_delay: 0s, entry_delay: 0s }`).join(', ')} ]
`,
  });
});
afterAll(() => site?.close());

const command = (verb: 'arm' | 'disarm', partition: string, given?: string) =>
  site.lan.ask(verb, {
    partition,
    ...(given !== undefined && { code: given }),
    ...(verb === 'arm' && { mode: 'away' }),
  });
const replay = (...args: string[]) => siteward(['replay', ...args], { SITEWARD_SOCKET: site.socket });
const file = () => join(site.folder, 'inputs.jsonl');

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('what the running daemon recorded is replayed, with the rule of each refusal in words', async () => {
  await command('arm', 'p1');
  expect(await command('disarm', 'p1', wrong)).toMatchObject({ error: { code: 'BAD_CODE' } });
  expect(await command('disarm', 'p1', code)).toMatchObject({ outcome: 'done' });
  await command('arm', 'p2');
  const { code: ended, out, err } = await replay('--recorded');
  expect({ ended, err }).toEqual({ ended: 0, err: '' });
  expect(out).toMatch(/siteward starts, siteward \S+: p1 disarmed - 0; p2 disarmed - 0/);
  expect(out).toMatch(/arm p1 away \(lan \S+, no code\)\n {4}p1: disarmed - 0 -> armed_away away 1/);
  expect(out).toMatch(/disarm p1 \(lan \S+, code bad\)\n {4}refused BAD_CODE: too many commands or wrong codes \(C8\)/);
  expect(out).toMatch(/disarm p1 by anna \(lan \S+, code ok\)\n {4}p1: armed_away away 1 -> disarmed - 2/);
  expect(out).toMatch(/\d+ decisions, 0 otherwise than recorded\n$/);
  const one = await replay('--recorded', '--partition', 'p2');
  expect(one.out).toContain('arm p2');
  expect(one.out).not.toContain('arm p1');
});

test("an exported log is its owner's alone, holds no code, and outlives kill -9 of the daemon", async () => {
  await site.daemon.kill();
  await site.daemon.restart();
  await command('disarm', 'p2', code);
  const ran = await siteward(['inputs', 'export', file(), '--socket', site.socket]);
  expect(ran).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+ lines in /) });
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  const text = readFileSync(file(), 'utf8');
  for (const secret of [code, wrong]) expect(text).not.toContain(secret);
  const { code: ended, out } = await replay(file(), '--json');
  expect(ended).toBe(0);
  const items = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ReplayItem);
  expect(items.filter(({ kind }) => kind === 'state')).toMatchObject([{ why: 'start' }, { why: 'start' }]);
  expect(items.findLast((item) => item.kind === 'decision' && item.input.kind === 'command')).toMatchObject({
    before: { p2: 'armed_away away 1' },
    mark: { partitions: { p2: 'disarmed - 2' }, replies: ['done'] },
  });
});

test('what was decided otherwise is told, with exit code 1; a log without a state is not guessed at', async () => {
  const lines = readFileSync(file(), 'utf8').split('\n');
  const other = join(site.folder, 'other.jsonl');
  writeFileSync(other, lines.join('\n').replace('refused BAD_CODE', 'done'));
  const told = await replay(other, '--differences');
  expect(told).toMatchObject({ code: 1, err: '' });
  expect(told.out).toContain('OTHERWISE THAN RECORDED: it was done, and is now refused BAD_CODE');
  expect(told.out).toContain(', 1 otherwise than recorded');
  writeFileSync(other, lines.filter((line) => line.includes('"kind":"input"')).join('\n'));
  const lost = await replay(other);
  expect(lost.code).toBe(1);
  expect(lost.out).toMatch(/^\(lines 1 to \d+ not replayed: the log was cut at its beginning/);
});

test('a log or --recorded is needed, and not both', async () => {
  expect(await replay()).toMatchObject({ code: 2, err: expect.stringContaining('name a log') });
  expect(await replay(file(), '--recorded')).toMatchObject({ code: 2 });
  expect(await replay(join(site.folder, 'none'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/none cannot be used: there is no such file or folder \(file_unusable\)/),
  });
  const readme = join(site.folder, 'README.md');
  writeFileSync(readme, '# siteward\n\nNo log.\n');
  expect(await replay(readme)).toMatchObject({
    code: 1,
    err: expect.stringContaining('README.md is no input log; "siteward inputs export" writes one (file_unusable)'),
  });
});

test('a damaged log is replayed as far as it goes, ends with 1, and what is damaged is told', async () => {
  const lines = readFileSync(file(), 'utf8').trimEnd().split('\n');
  const middle = lines.findIndex((line) => line.includes('"verb":"arm"'));
  const damaged = join(site.folder, 'damaged.jsonl');
  const told = async (all: readonly string[], ...more: string[]) => {
    writeFileSync(damaged, `${all.join('\n')}\n`);
    return await replay(damaged, ...more);
  };
  const garbled = await told(lines.map((line, index) => (index === middle ? line.slice(0, -9) : line)));
  expect(garbled).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      new RegExp(`^siteward: the log is damaged: 1 line in lines? ${middle + 1}( to \\d+)? not of this format\\n$`),
    ),
  });
  expect(garbled.out).toContain('siteward starts');
  expect(garbled.out).toMatch(/\d+ decisions, 0 otherwise than recorded, \d+ lines could not be replayed\n$/);
  const holed = await told(
    lines.filter((_, index) => index !== middle),
    '--json',
  );
  expect(holed).toMatchObject({ code: 1, err: expect.stringContaining(`1 line missing before line ${middle + 1}`) });
  expect(holed.out).toContain('"kind":"decision"');
});

test('a partition that the log does not have is 66, and no commands of others are shown for it', async () => {
  const { code: ended, out, err } = await replay(file(), '--partition', 'p7');
  expect([ended, err]).toEqual([66, 'siteward: there is no such partition in the log; it has p1, p2\n']);
  expect(out).not.toContain('disarm p');
});
