import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CrashPoint } from '#lib/crash-point.ts';
import { startProcess } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { code, type Site, startSite } from '../harness/site.ts';
import { withFile } from '../site/store/helpers.ts';
import { crashProgram } from './durable/crash-site.ts';

/** A restore is done as a whole or not at all, wherever it ends. */

const words = 'four words of a passphrase';
const secret = 'a password of a gate';
const parts = ['state', 'secrets', 'siteward.yaml'];

let site: Site;
let folder = '';
let removeProgram: (() => void) | undefined;
let program = '';
let out = '';
/** Who may log in according to the backup, and on the box it is put in place on. */
const people = { backup: 'olga', box: 'otto' } as const;

beforeAll(async () => {
  ({ program, remove: removeProgram } = await crashProgram());
  site = await startSite({
    program,
    broker: 'embedded',
    yaml: (at) => {
      mkdirSync(join(at.folder, 'secrets'), { mode: 0o700 });
      writeFileSync(join(at.folder, 'secrets', 'camera-gate'), `${secret}\n`, { mode: 0o600 });
      return `partitions: [ { id: p1, name: Shop, exit_delay: 0s } ]
cameras: [ { id: gate, url: "http://127.0.0.1:9/", username: x, password: { file: ${at.folder}/secrets/camera-gate } } ]
supervision: { cloud: { report_after: 1h }, cameras: { report_after: 1h } }
`;
    },
  });
  folder = site.folder;
  out = join(folder, 'box.age');
  writeFileSync(join(folder, 'words'), `${words}\n`, { mode: 0o600 });
  await claim(people.backup);
  await site.daemon.stop();
  expect(await run('backup', out)).toBe(0);
  // The box it goes to: of the same site, with a life of its own.
  rmSync(join(folder, 'state'), { recursive: true });
  mkdirSync(join(folder, 'state'), { mode: 0o700 });
  writeFileSync(join(folder, 'secrets', 'camera-gate'), 'another password\n', { mode: 0o600 });
  writeFileSync(site.config, readFileSync(site.config, 'utf8').replace('name: Shop', 'name: Store'));
  await site.daemon.restart();
  await claim(people.box);
  await site.daemon.stop();
  for (const name of parts) cpSync(join(folder, name), join(folder, 'box', name), { recursive: true });
}, 120_000);
afterAll(async () => {
  await site?.close();
  removeProgram?.();
});

async function claim(id: string): Promise<void> {
  const { claim_code: found } = (await site.api('/api/v1/access/claim-code')) as { claim_code: string };
  const body = { id, password: 'a long walk along the river', name: id, role: 'owner', code: found };
  expect(await askSocket(site.socket, 'POST', '/api/v1/access/claim', body)).toMatchObject({ status: 200 });
}

/** A verb of the bundle with crash points; its exit code, null where it was killed. */
async function run(verb: string, ...more: string[]): Promise<number | null | undefined> {
  return (await ran(verb, more)).code;
}

async function ran(verb: string, more: readonly string[], env: Record<string, string> = {}) {
  const args = [program, verb, ...more, '--passphrase-file', join(folder, 'words'), '--config', site.config];
  const running = startProcess({
    name: verb,
    args: [...args, '--socket', site.socket],
    env: { HARNESS_CODE: code, ...env },
  });
  await running.until(() => undefined, verb, 60_000).catch(() => undefined);
  return { code: running.exitCode(), said: running.lines().join('\n') };
}

/** The box as it was before, and siteward does not run. */
async function lay(): Promise<void> {
  await site.daemon.stop();
  for (const name of parts) {
    rmSync(join(folder, name), { recursive: true, force: true });
    cpSync(join(folder, 'box', name), join(folder, name), { recursive: true });
  }
}

const replace = ['--replace', 'proof'];
const epochIn = (dir: string) => Number(/"epoch":(\d+)/.exec(readFileSync(join(dir, 'epoch.json'), 'utf8'))?.[1]);
/** Of those who may log in. */
const owners = () => {
  const text = readFileSync(join(folder, 'state', 'access.json'), 'utf8');
  return Object.values(people).filter((id) => text.includes(`"${id}"`));
};

async function isRestored(): Promise<void> {
  const state = join(folder, 'state');
  expect(owners()).toEqual([people.backup]);
  expect(readFileSync(site.config, 'utf8')).toContain('name: Shop');
  expect(readFileSync(join(folder, 'secrets', 'camera-gate'), 'utf8')).toBe(`${secret}\n`);
  expect(statSync(join(folder, 'secrets', 'camera-gate')).mode & 0o777).toBe(0o600);
  expect(readdirSync(state).filter((name) => name.startsWith('restore'))).toEqual([]);
  expect(epochIn(state)).toBe(2);
  // All that was there is kept, once.
  const kept = join(state, 'before-restore');
  expect(readFileSync(join(kept, 'state', 'access.json'), 'utf8')).toContain(people.box);
  expect(readdirSync(join(kept, 'state'))).toEqual(
    expect.arrayContaining(readdirSync(join(folder, 'box', 'state')).filter((name) => name !== 'siteward.pid')),
  );
  expect(readFileSync(join(kept, 'files', folder, 'secrets', 'camera-gate'), 'utf8')).toBe('another password\n');
  await site.daemon.stop();
  const told = withFile(join(state, 'site.db'), (db) =>
    db
      .prepare<[], string>('SELECT record FROM audit')
      .pluck()
      .all()
      .filter((one) => one.includes('"action":"restore"')),
  );
  expect(told).toHaveLength(1);
}

async function isUntouched(): Promise<void> {
  expect(owners()).toEqual([people.box]);
  expect(readFileSync(site.config, 'utf8')).toContain('name: Store');
  expect(readFileSync(join(folder, 'secrets', 'camera-gate'), 'utf8')).toBe('another password\n');
  expect(epochIn(join(folder, 'state'))).toBe(1);
}

describe('a restore', { timeout: 120_000 }, () => {
  it('wants the name of what is let go, and that siteward does not run', async () => {
    await lay();
    const plain = await ran('restore', [out]);
    expect(plain).toMatchObject({ code: 65, said: expect.stringContaining('say --replace proof') });
    expect(await ran('restore', [out, '--replace', 'other'])).toMatchObject({
      code: 65,
      said: expect.stringContaining('"other" is not its name'),
    });
    await site.daemon.restart();
    expect(await ran('restore', [out, ...replace])).toMatchObject({
      code: 65,
      said: expect.stringContaining('siteward runs'),
    });
    await site.daemon.stop();
    await isUntouched();
    expect(existsSync(join(folder, 'state', 'before-restore'))).toBe(false);
  });

  it.each<[CrashPoint, number, 'start' | 'restore']>([
    ['restore.marked', 1, 'start'],
    ['restore.file', 1, 'start'],
    ['restore.file', 2, 'restore'],
    ['file.renamed', 3, 'start'],
    ['restore.aside', 1, 'start'],
    ['restore.aside', 3, 'restore'],
    ['restore.placing', 1, 'start'],
    ['restore.placed', 1, 'restore'],
    ['restore.placed', 3, 'start'],
    ['restore.noted', 1, 'start'],
    ['restore.cleared', 1, 'start'],
    ['restore.finished', 1, 'start'],
  ])('that ends at %s, time %i, is whole after the next %s', async (point, nth, by) => {
    await lay();
    const first = await ran('restore', [out, ...replace], { SITEWARD_CRASH_AT: `${point}:${nth}` });
    expect(first.code).toBeNull();
    if (by === 'restore') {
      expect(await ran('restore', [])).toMatchObject({ code: 0, said: expect.stringContaining('is complete') });
    }
    await site.daemon.restart();
    await isRestored();
  });

  it('that is ended twice is whole after the next start', async () => {
    await lay();
    await ran('restore', [out, ...replace], { SITEWARD_CRASH_AT: 'restore.aside:2' });
    await site.daemon.restart({ SITEWARD_CRASH_AT: 'restore.placed:2' }).catch(() => undefined);
    await site.daemon.ended(20_000);
    await site.daemon.restart();
    await isRestored();
  });

  it('that ends before it is marked has changed nothing, and leaves nothing', async () => {
    await lay();
    expect((await ran('restore', [out, ...replace], { SITEWARD_CRASH_AT: 'restore.staged' })).code).toBeNull();
    await isUntouched();
    await site.daemon.restart();
    await isUntouched();
    await expect.poll(() => existsSync(join(folder, 'state', 'restore'))).toBe(false);
    expect(await ran('restore', [])).toMatchObject({ code: 2 });
  });

  it.each<[string, (bytes: Buffer) => Buffer, number]>([
    ['is cut off', (bytes) => bytes.subarray(0, bytes.length - 20), 1],
    [
      'has a flipped bit',
      (bytes) => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 100 ? byte ^ 4 : byte))),
      1,
    ],
    ['is empty', () => Buffer.alloc(0), 1],
  ])('of a file that %s changes nothing', async (_, spoil, exit) => {
    await lay();
    const spoilt = join(folder, 'spoilt.age');
    writeFileSync(spoilt, spoil(readFileSync(out)));
    const names = () => readdirSync(join(folder, 'state')).filter((name) => name !== 'siteward.pid');
    const before = names();
    expect(await ran('restore', [spoilt, ...replace])).toMatchObject({
      code: exit,
      said: expect.stringContaining('the backup cannot be used'),
    });
    expect(names()).toEqual(before);
    await isUntouched();
  });
});
