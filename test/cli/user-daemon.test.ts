import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import type { Reply } from '../harness/lan.ts';
import { code, main, type Site, startSite } from '../harness/site.ts';

/** Eight digits each, so that none stands in a number by chance. */
const codes = {
  ben: '29041738',
  benDuress: '65092814',
  tim: '80317496',
  eva: '71940826',
  eva2: '83015924',
  evaDuress: '52960371',
  kim: '90417253',
  wrong: '93820571',
};

let site: Site;
const said: string[] = [];
/** Of the life of the daemon that was ended. */
let earlier: readonly string[] = [];
beforeAll(async () => {
  site = await startSite({
    broker: 'embedded',
    yaml: () => `
partitions: [ ${[1, 2, 3, 4].map((n) => `{ id: p${n}, name: Part ${n}, exit_delay: 0s, entry_delay: 0s }`).join(', ')} ]
panels: [ { id: sensors, profile: zigbee2mqtt, zones: { "1": { type: panic_audible, name: Button, key: button, partition: p1 } } } ]
log: { level: trace }
`,
  });
});
afterAll(() => site?.close());

async function user(args: readonly string[], input = ''): Promise<number> {
  const child = spawn(process.execPath, [main, 'user', ...args, '--socket', site.socket], {
    env: { PATH: process.env.PATH },
    timeout: 30_000,
  });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => said.push(String(bytes)));
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return ((await once(child, 'close')) as [number])[0];
}
const add = (id: string, more: readonly string[], ...lines: string[]) =>
  user(['add', id, '--name', `Somebody Else`, ...more, '--code-stdin'], lines.join('\n'));

/** Each test has partitions of its own: one takes five commands a minute (C8). */
const command = (verb: 'arm' | 'disarm', partition: string, code?: string) =>
  site.lan.ask(verb, { partition, ...(code !== undefined && { code }), ...(verb === 'arm' && { mode: 'away' }) });
/** What a LAN client sees of a reply, but for ids, times and numbers. */
const seen = ({ id: _, seq: __, ...reply }: Reply & { at?: string }) => {
  const { at: ___, ...rest } = reply;
  return rest;
};

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('a user who was added disarms at once; so does the one of the configuration', async () => {
  expect(await add('ben', ['--duress'], codes.ben, codes.benDuress)).toBe(0);
  for (const [partition, typed] of [
    ['p1', codes.ben],
    ['p2', code],
  ] as const) {
    expect(await command('arm', partition)).toMatchObject({ outcome: 'done' });
    expect(await command('disarm', partition, codes.wrong)).toMatchObject({
      outcome: 'refused',
      error: { code: 'BAD_CODE' },
    });
    expect(await command('disarm', partition, typed)).toMatchObject({ outcome: 'done', state: 'disarmed' });
  }
  const actors = site.lan.events.flatMap(({ event }) => (event.kind === 'disarmed' ? [event.actor] : []));
  expect(actors.slice(-2)).toEqual(['ben', 'anna']);
});

test('a duress code gets the same answers as the code', async () => {
  const answers: unknown[] = [];
  for (const code of [codes.ben, codes.benDuress]) {
    // With a code: without one nobody undoes at once what a person has done (safety 5).
    // With the code: an arming without one within two seconds of a disarm with one would be overruled (safety 5).
    await command('arm', 'p3', codes.ben);
    answers.push(seen(await command('disarm', 'p3', code)));
  }
  expect(answers[1]).toEqual(answers[0]);
});

test('an installer arms and does not disarm, and comes in only with the code of an owner', async () => {
  expect(await add('eva', ['--role', 'owner'], codes.eva)).toBe(0);
  const comes = ['--role', 'installer', '--until', '2099-12-31'];
  expect(await add('tim', comes, codes.tim)).toBe(65);
  expect(await add('tim', comes, codes.tim, codes.ben)).toBe(65);
  expect(await add('tim', comes, codes.tim, codes.eva)).toBe(0);
  expect(await command('arm', 'p4', codes.tim)).toMatchObject({ outcome: 'done' });
  expect(await command('disarm', 'p4', codes.tim)).toMatchObject({
    outcome: 'refused',
    error: { code: 'NOT_ALLOWED' },
  });
});

test('an owner who is forced to agree agrees, and the station alone learns of it', async () => {
  expect(
    await user(['code', 'eva', '--duress', '--code-stdin'], [codes.eva2, codes.evaDuress, codes.eva].join('\n')),
  ).toBe(0);
  const shown = site.lan.events.length;
  expect(await add('kim', ['--role', 'installer', '--until', '2099-12-31'], codes.kim, codes.evaDuress)).toBe(0);
  const help = await eventually(
    'the call for help',
    async () =>
      (await site.cloud.events()).find(({ body: { payload } }) => payload.kind === 'duress' && payload.actor === 'eva'),
    { timeoutMs: 30_000, everyMs: 100 },
  );
  expect(help.body).toMatchObject({
    should_signal_to_monitoring_center: true,
    payload: { contact_id: '121' },
  });
  expect(site.lan.events.slice(shown).map(({ event }) => event.kind)).not.toContain('duress');
});

test('users outlive a power cut; who was removed does not come back', async () => {
  expect(await user(['remove', 'tim'])).toBe(0);
  expect(await user(['remove', 'eva'])).toBe(65);
  expect(await user(['remove', 'kim'])).toBe(0);
  earlier = site.daemon.lines();
  await site.daemon.kill();
  await site.daemon.restart();
  expect(await command('disarm', 'p4', codes.ben)).toMatchObject({ outcome: 'done', state: 'disarmed' });
  expect(await command('disarm', 'p4', codes.tim)).toMatchObject({ outcome: 'refused', error: { code: 'BAD_CODE' } });
});

test('I10: no code and no name stands in logs, answers, events or files; safety 4: no duress in the log', async () => {
  const files = filesBelow(join(site.folder, 'state'));
  expect(files.some((path) => path.endsWith('users.json'))).toBe(true);
  const logs = [...earlier, ...site.daemon.lines()];
  expect(logs.join('\n')).toContain('a user was added');
  const text = [
    ...logs,
    ...said,
    ...files.map((path) => readFileSync(path, 'latin1')),
    JSON.stringify(site.lan.events),
    JSON.stringify(site.lan.replies),
    JSON.stringify(await site.api('/api/v1/status')),
    JSON.stringify(await site.history()),
  ].join('\n');
  for (const [whose, code] of Object.entries(codes))
    expect({ whose, found: text.includes(code) }).toEqual({ whose, found: false });
  const named = files.filter((path) => readFileSync(path, 'latin1').includes('Somebody Else'));
  expect(named.map((path) => path.slice(path.lastIndexOf('/') + 1))).toEqual(['users.json']);
  expect(logs.join('\n')).not.toMatch(/Somebody Else|duress/);
});

function filesBelow(folder: string): string[] {
  // What is being written gets its name within a moment.
  const names = readdirSync(folder).filter((name) => !name.endsWith('.part'));
  return names.flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}
