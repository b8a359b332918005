import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sha256 } from '#lib/digest.ts';
import { main, type Site, startSite } from '../harness/site.ts';
import type { Ran } from './run-cli.ts';

/** Eight digits each, so that none stands in a number by chance. */
const codes = {
  ben: '29041738',
  benDuress: '65092814',
  eva: '71940826',
  otto: '80317496',
  lea: '47290163',
  wrong: '93820571',
};

let site: Site;
const said: string[] = [];
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ ${[1, 2, 3].map((n) => `{ id: p${n}, name: Part ${n}, exit_delay: 0s, entry_delay: 0s }`).join(', ')} ]
`,
  });
});
afterAll(() => site?.close());

async function siteward(args: readonly string[], input = ''): Promise<Ran> {
  const child = spawn(process.execPath, [main, ...args, '--socket', site.socket], {
    env: { PATH: process.env.PATH },
    timeout: 30_000,
  });
  const ran = { code: -1, out: '', err: '' };
  child.stdout.on('data', (bytes) => {
    ran.out += bytes;
  });
  child.stderr.on('data', (bytes) => {
    ran.err += bytes;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  ran.code = ((await once(child, 'close')) as [number])[0];
  said.push(ran.out, ran.err);
  return ran;
}
const audit = (args: readonly string[], input = '') => siteward(['audit', ...args], input);
const add = (id: string, more: readonly string[], ...lines: string[]) =>
  siteward(['user', 'add', id, '--name', 'Somebody Else', ...more, '--code-stdin'], lines.join('\n'));
const command = (verb: 'arm' | 'disarm', partition: string, code?: string) =>
  site.lan.ask(verb, { partition, ...(code !== undefined && { code }), ...(verb === 'arm' && { mode: 'away' }) });

type Shown = Record<string, unknown> & { kind: string; action: string };
async function entries(args: readonly string[] = [], input = ''): Promise<Shown[]> {
  const { code, out, err } = await audit(['show', '--json', '--limit', '1000', ...args], input);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Shown);
}
const asAuditor = ['--code-stdin'] as const;

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('who was added, who commanded and what was refused is shown without names and codes', async () => {
  expect((await add('eva', ['--role', 'owner'], codes.eva)).code).toBe(0);
  expect((await add('ben', ['--duress'], codes.ben, codes.benDuress)).code).toBe(0);
  expect((await add('otto', ['--role', 'auditor'], codes.otto)).code).toBe(65);
  expect((await add('otto', ['--role', 'auditor'], codes.otto, codes.eva)).code).toBe(0);
  expect((await add('lea', ['--from', '2099-01-01'], codes.lea)).code).toBe(0);
  await command('arm', 'p1');
  expect(await command('disarm', 'p1', codes.wrong)).toMatchObject({ error: { code: 'BAD_CODE' } });
  expect(await command('disarm', 'p1', codes.lea)).toMatchObject({ error: { code: 'BAD_CODE' } });
  expect(await command('disarm', 'p1', codes.otto)).toMatchObject({ error: { code: 'NOT_ALLOWED' } });
  expect(await command('disarm', 'p1', codes.ben)).toMatchObject({ outcome: 'done' });
  const told = (await entries()).map(({ kind, action, target, actor_ref: who, reason }) =>
    [kind, action, target, who, reason].filter((part) => part !== undefined).join(' '),
  );
  expect(told.reverse()).toEqual([
    'config user_added user eva',
    'config user_added user ben',
    'refusal user_added user otto user_refused',
    'config user_added user otto',
    'config user_added user lea',
    'transition armed_away p1',
    'command arm p1',
    'refusal disarm p1 BAD_CODE',
    'refusal code codes lea not yet valid',
    'refusal disarm p1 BAD_CODE',
    'refusal disarm p1 otto NOT_ALLOWED',
    'transition disarmed p1 ben',
    'command disarm p1 ben',
  ]);
});

test('a duress code leaves the same entries as the code; only the auditor sees that it was one', async () => {
  const seen: unknown[] = [];
  for (const [partition, code] of [
    ['p2', codes.ben],
    ['p3', codes.benDuress],
  ] as const) {
    await command('arm', partition);
    expect(await command('disarm', partition, code)).toMatchObject({ outcome: 'done' });
    const last = (await entries()).slice(0, 4);
    seen.push(last.map(({ at: _, command_id: __, ...rest }) => ({ ...rest, target: 'p' })));
  }
  expect(seen[1]).toEqual(seen[0]);
  const whole = await entries(asAuditor, `${codes.otto}\n`);
  expect(whole.filter(({ action }) => action === 'duress')).toEqual([
    expect.objectContaining({ actor_ref: 'ben', target: 'p3', auditor_only: true }),
  ]);
  const numbers = whole.map(({ n }) => Number(n));
  expect(numbers).toEqual(numbers.map((_, index) => Number(numbers[0]) - index));
  expect((await entries())[0]).toMatchObject({ kind: 'login', actor_ref: 'otto' });
  expect(JSON.stringify(await entries())).not.toMatch(/duress|auditor_only|"n":|hash/);
});

test('who is no auditor gets nothing more and is told what to do', async () => {
  const { code, err } = await audit(['show', ...asAuditor], `${codes.ben}\n`);
  expect({ code, err }).toMatchObject({
    code: 65,
    err: expect.stringContaining('not that of an auditor (auditor_needed)'),
  });
  expect(await audit(['export', join(site.folder, 'none.jsonl'), ...asAuditor], `${codes.wrong}\n`)).toMatchObject({
    code: 65,
  });
  expect(() => statSync(join(site.folder, 'none.jsonl'))).toThrow('ENOENT');
});

test('a reload that was taken and one that was not are both in the log', async () => {
  const config = readFileSync(site.config, 'utf8');
  const reloads = async () => (await entries()).filter(({ action }) => action === 'reload');
  site.daemon.reload();
  await expect.poll(reloads, { timeout: 20_000 }).toMatchObject([{ kind: 'config', outcome: 'done' }]);
  appendFileSync(site.config, 'nonsense: true\n');
  site.daemon.reload();
  await expect.poll(reloads, { timeout: 20_000 }).toMatchObject([{ outcome: 'refused', reason: 'config_invalid' }, {}]);
  writeFileSync(site.config, config);
  site.daemon.reload();
  await expect.poll(reloads, { timeout: 20_000 }).toHaveLength(3);
});

test('an export is readable by its owner alone, is whole by itself, and is continued by the next', async () => {
  const file = join(site.folder, 'audit.jsonl');
  const out = async (...more: string[]) => {
    const ran = await audit(['export', file, '--json', ...asAuditor, ...more], `${codes.otto}\n`);
    expect(ran).toMatchObject({ code: 0, err: '' });
    return JSON.parse(ran.out) as { entries: number; last: { n: number; hash: string } };
  };
  const first = await out();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await command('arm', 'p1');
  // As after a power cut in the middle of a line.
  appendFileSync(file, '{"n":12,"prev_ha');
  const second = await out();
  expect(second.entries).toBeGreaterThan(1);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const records = lines.filter((line) => line.includes('"prev_hash"'));
  expect(records).toHaveLength(first.entries + second.entries);
  const hashes = records.map(sha256);
  expect(records.slice(1).map((line) => (JSON.parse(line) as { prev_hash: string }).prev_hash)).toEqual(
    hashes.slice(0, -1),
  );
  expect(hashes.at(-1)).toBe(second.last.hash);
  const next = join(site.folder, 'next.jsonl');
  expect(await audit(['export', next, '--after', file, ...asAuditor], `${codes.otto}\n`)).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(next, 'utf8').split('\n')[0] ?? '')).toEqual({
    audit_export: 1,
    follows: second.last,
  });
  expect(await audit(['verify', '--against', next, ...asAuditor], `${codes.otto}\n`)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`it continues ${next}`),
  });
});

test('an export that was changed is not continued', async () => {
  const file = join(site.folder, 'changed.jsonl');
  writeFileSync(file, readFileSync(join(site.folder, 'audit.jsonl'), 'utf8').replace('"ben"', '"tim"'));
  const ran = await audit(['export', file, ...asAuditor], `${codes.otto}\n`);
  expect(ran).toMatchObject({ code: 1, err: expect.stringMatching(/was changed at line \d+.*\(file_unusable\)/) });
  const none = await audit(
    ['verify', '--against', join(site.folder, 'nowhere.jsonl'), ...asAuditor],
    `${codes.otto}\n`,
  );
  expect(none).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no such file or folder (file_unusable)'),
  });
  const folder = await audit(['export', join(site.folder, 'nowhere', 'a.jsonl'), ...asAuditor], `${codes.otto}\n`);
  expect(folder).toMatchObject({ code: 1, err: expect.stringContaining('there is no such file or folder') });
});

test('the log is verified by everybody; newest entries that were cut off are missed, with exit code 1, also later', async () => {
  expect(await audit(['verify'])).toMatchObject({ code: 0, out: expect.stringContaining('the log is whole') });
  await site.daemon.stop();
  const put = new Sqlite(join(site.folder, 'state', 'site.db'));
  put.exec("INSERT INTO audit(n, prev, hash, at, record) VALUES(9223372036854775807, 'x', 'y', 1, '{}')");
  put.close();
  await site.daemon.restart();
  expect(await audit(['verify', ...asAuditor], `${codes.otto}\n`)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/BROKEN: .*not as it was written\nit is entry 9007199254740991\n/),
  });
  await site.daemon.stop();
  const db = new Sqlite(join(site.folder, 'state', 'site.db'));
  db.exec('DELETE FROM audit WHERE n > 9000000000000000');
  db.prepare('DELETE FROM audit WHERE n > (SELECT max(n) - 2 FROM audit)').run();
  db.prepare("DELETE FROM meta WHERE k = 'audit_head'").run();
  db.close();
  await site.daemon.restart();
  expect(await audit(['verify'])).toMatchObject({
    code: 1,
    out: expect.stringMatching(/BROKEN: .*the newest entries are missing/),
  });
  await command('disarm', 'p1', codes.ben);
  expect(await audit(['verify', '--json'])).toMatchObject({ code: 1, out: expect.stringContaining('"missing"') });
  const against = ['verify', '--against', join(site.folder, 'audit.jsonl'), ...asAuditor];
  expect(await audit(against, `${codes.otto}\n`)).toMatchObject({ code: 1 });
});

test('I10: no code and no name stands in anything that was said', () => {
  const text = [...said, ...site.daemon.lines()].join('\n');
  for (const [whose, code] of Object.entries(codes))
    expect({ whose, found: text.includes(code) }).toEqual({ whose, found: false });
  expect(said.join('\n')).not.toContain('Somebody Else');
});
