import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Field, startField } from './panel-rig.ts';
import { main, siteward } from './run-cli.ts';

const can = existsSync('/usr/bin/script') && existsSync('/usr/bin/mosquitto_passwd');

describe.skipIf(!can)('siteward panel new on a terminal', { timeout: 120_000 }, () => {
  let field: Field;
  beforeAll(async () => {
    field = await startField('mosquitto');
    await field.publish('keep/alive', 'online', true);
    await field.publish('keep/area/1', 'rest', true);
    for (const zone of [7, 8]) await field.publish(`keep/door/${zone}`, 'CLOSED', true);
  });
  afterAll(() => field?.close());

  /** Runs it on a terminal of its own. At each question the house does something, then Enter is pressed. */
  async function onTerminal(
    answers: readonly (readonly [question: string, act: () => Promise<void>, keys?: string])[],
    ...args: string[]
  ) {
    const command = [process.execPath, main, 'panel', 'new', ...args, '--config', field.config].join(' ');
    const env = { PATH: process.env.PATH, SHELL: '/bin/sh', TERM: 'dumb' };
    const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: 100_000,
    });
    let out = '';
    let seen = 0;
    const left = [...answers];
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      const [question, act, keys = '\r'] = left[0] ?? [];
      if (question === undefined || act === undefined || !out.slice(seen).includes(question)) return;
      left.shift();
      seen = out.length;
      void act().then(() => child.stdin.write(keys));
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, out: out.replaceAll('\r', ''), left };
  }
  const house = [
    ['Open ONE door', () => field.publish('keep/door/7', 'OPEN', true)],
    ['Close it again', () => field.publish('keep/door/7', 'CLOSED', true)],
    [
      'Arm the panel away',
      async () => {
        await field.publish('keep/area/1', 'leaving', true);
        await field.publish('keep/area/1/set', 'full 48270391');
        await field.publish('keep/area/1', 'full', true);
      },
    ],
    ['Disarm the panel', () => field.publish('keep/area/1', 'rest', true)],
  ] as const;
  const file = () => join(field.folder, 'panels/mybridge.json');

  test('writes a profile of what changed, tries it, and says what is missing and what to paste', async () => {
    const { code, out, left } = await onTerminal(house, 'mybridge', '--seconds', '4');
    expect([code, left], out).toEqual([0, []]);
    expect(out).toContain('found    The door: keep/door/7 says OPEN when open, CLOSED when closed.');
    expect(out).toContain('rest for disarmed, leaving for arming, full for armed_away');
    expect(out).toMatch(/missing {2}What the bridge says in an alarm/);
    expect(out).toMatch(/tried .*: \d+ different messages understood, 0 not \(100%\)/);
    expect(statSync(file()).mode & 0o777).toBe(0o644);
    expect(readFileSync(file(), 'utf8')).not.toContain('48270391');

    const pasted = /^panels:\n(?: .*\n)+/m.exec(out)?.[0] ?? '';
    expect(pasted).toMatch(/"?7"?:\n/);
    field.configure(pasted);
    expect(await siteward(['check', field.config])).toMatchObject({ code: 0 });
    const rows = join(field.folder, 'rows.jsonl');
    writeFileSync(rows, '{"topic":"keep/door/9","payload":"OPEN","means":{"zone":"9","open":true}}\n');
    const tried = await siteward(['panel', 'try', 'mybridge', '--replay', rows, '--config', field.config]);
    expect(tried.code, tried.out + tried.err).toBe(0);
  });

  test('proposes only what is new beside a configuration: its panels, partitions and zones stay', async () => {
    const { code, out } = await onTerminal(house, 'second', '--seconds', '4');
    expect(code, out).toBe(0);
    // The pasted panel of the first profile is there, with zone 7 in the only partition.
    const pasted = parse(/^partitions:\n(?: .*\n)+panels:\n(?: .*\n)+/m.exec(out)?.[0] ?? '');
    expect(pasted).toMatchObject({ partitions: [{ id: 'p2' }], panels: [{ id: 'second', profile: 'second' }] });
    const [first] = parse(readFileSync(field.config, 'utf8')).panels;
    for (const number of Object.keys(pasted.panels[0].zones)) expect(Object.keys(first.zones)).not.toContain(number);
    rmSync(join(field.folder, 'panels/second.json'));
  });

  test('overwrites nothing without --force, and takes no id of a preset', async () => {
    const before = readFileSync(file(), 'utf8');
    const again = await onTerminal([], 'mybridge', '--seconds', '1');
    expect(again).toMatchObject({ code: 2, out: expect.stringContaining('replace it with --force') });
    expect(readFileSync(file(), 'utf8')).toBe(before);
    const preset = await onTerminal([], 'pai', '--seconds', '1');
    expect(preset).toMatchObject({ code: 2, out: expect.stringContaining('pai is the id of a preset') });
  });

  test('writes nothing when nothing went along, or when one gives up', async () => {
    const idle = async () => {};
    const never = [...Array(2).fill(['Open ONE door', idle]), ...Array(2).fill(['Close it again', idle])];
    const rest = [...Array(2).fill(['Arm the panel', idle]), ...Array(2).fill(['Disarm the panel', idle])];
    const nothing = await onTerminal([...never, ...rest], 'other', '--seconds', '1');
    expect(nothing).toMatchObject({ code: 1, out: expect.stringContaining('no profile was written') });
    expect(nothing.out).toContain('Do it once more');
    const given = await onTerminal([['Open ONE door', idle, '\u0003']], 'other', '--seconds', '1');
    expect(given).toMatchObject({ code: 1, out: expect.stringContaining('given up; nothing was changed') });
    expect(existsSync(join(field.folder, 'panels/other.json'))).toBe(false);
  });
});

test('siteward panel new refuses where nobody can be asked, and what is no id', async () => {
  const ran = await siteward(['panel', 'new', 'mybridge', '--config', '/nowhere/siteward.yaml']);
  expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('run it on a terminal') });
  const bad = await siteward(['panel', 'new', 'My Bridge']);
  expect(bad).toMatchObject({ code: 2, err: expect.stringContaining('lower-case letters') });
});
