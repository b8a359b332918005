import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { never } from '#lib/wait.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { type Entry, writeArchive } from '../../../src/cli/backup/archive.ts';
import { isRoot, smallDisk } from '../../site/store/small-disk.ts';
import { onTerminal } from '../on-terminal.ts';
import { main, siteward } from '../run-cli.ts';

const words = 'four words of a passphrase';

/** A box on which siteward does not run. */
function box(more: { external_id?: string; stateDir?: (folder: string) => string } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-backup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dir = more.stateDir?.(folder) ?? join(folder, 'state');
  const config = join(folder, 'siteward.yaml');
  const write = (path: string, content: string | Uint8Array, mode = 0o600) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content, { mode });
  };
  write(
    config,
    `# by hand
site: { id: "4711", external_id: ${more.external_id ?? 'hq'}, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
store: { dir: ${dir} }
cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: bridge-1, private_key: { credential: event-key } }
  api_key: { env: SITEWARD_API_KEY }
partitions: [ { id: p1, name: Shop } ]
cameras:
  - { id: yard, url: "http://192.0.2.9/", username: x, password: { file: ${folder}/secrets/yard } }
  - { id: gate, url: "http://192.0.2.8/", username: x, password: { file: ${folder}/elsewhere/gate } }
  - { id: door, url: "http://192.0.2.7/", username: x, password: { file: ${folder}/gone } }
`,
    0o640,
  );
  write(join(folder, 'secrets', 'yard'), 'a password of a yard\n');
  write(join(folder, 'elsewhere', 'gate'), 'a password of a gate\n');
  write(join(folder, 'panels', 'own.json'), '{}', 0o644);
  write(join(folder, 'words'), `${words}\n`);
  write(join(dir, 'epoch.json'), '{"epoch":7,"created":1}\n');
  write(join(dir, 'users.json'), '{"users":[]}');
  write(join(dir, 'user-key'), randomBytes(32));
  write(join(dir, 'spool', '0', 'a.jpg'), randomBytes(3_000_000));
  for (const name of [
    'reserve',
    'siteward.pid',
    'spool/0/b.jpg.part',
    'restore/state/old',
    'before-restore/state/old',
    'replaced-20260101T000000Z/site.db.corrupt-1',
  ])
    write(join(dir, name), 'no state');
  const out = join(folder, 'box.age');
  const run = (args: readonly string[], { input, passphrase = true }: { input?: string; passphrase?: boolean } = {}) =>
    siteward(
      [...args, ...(passphrase ? ['--passphrase-file', join(folder, 'words')] : []), '--config', config],
      { SITEWARD_SOCKET: join(folder, 'control.sock') },
      input,
    );
  return { folder, dir, config, out, write, run };
}

async function sealed(path: string, entries: readonly Entry[]): Promise<void> {
  const pieces: Uint8Array[] = [];
  const all = async function* () {
    yield* entries;
  };
  await writeArchive(async (piece) => pieces.push(piece), words, all(), never());
  writeFileSync(path, Buffer.concat(pieces));
}

describe('siteward backup', { timeout: 60_000 }, () => {
  it('takes all that is state and what the configuration names, and tells what it could not take', async () => {
    const { run, out, folder, dir } = box();
    expect(await run(['backup', out])).toMatchObject({ code: 0, out: '' });
    const { out: text } = await run(['backup', '--show', out]);
    for (const part of [
      'hq (4711)',
      'sw-1',
      'epoch',
      'credential event-key',
      'variable SITEWARD_API_KEY',
      `${folder}/gone: it is not there`,
    ])
      expect(text).toContain(part);
    const before = new Map(
      [
        'siteward.yaml',
        'secrets/yard',
        'elsewhere/gate',
        'panels/own.json',
        'state/users.json',
        'state/user-key',
        'state/spool/0/a.jpg',
      ].map((name) => [name, readFileSync(join(folder, name))]),
    );
    for (const name of ['state', 'siteward.yaml', 'secrets', 'elsewhere', 'panels'])
      rmSync(join(folder, name), { recursive: true });
    const done = await run(['restore', out]);
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('Not in the backup: credential event-key') });
    for (const [name, content] of before) expect(readFileSync(join(folder, name)).equals(content), name).toBe(true);
    expect(statSync(join(folder, 'siteward.yaml')).mode & 0o777).toBe(0o640);
    expect(statSync(join(folder, 'secrets', 'yard')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir).sort()).toEqual([
      'before-restore',
      'epoch.json',
      'restore-done.json',
      'spool',
      'user-key',
      'users.json',
    ]);
    expect(readdirSync(join(dir, 'spool', '0'))).toEqual(['a.jpg']);
    expect(readFileSync(join(dir, 'epoch.json'), 'utf8')).toContain('"epoch":8');
  });

  it.skipIf(!isRoot)('gives everything to the user of the state directory, when root restores', async () => {
    const { run, out, folder, dir } = box();
    expect((await run(['backup', out])).code).toBe(0);
    rmSync(dir, { recursive: true });
    rmSync(join(folder, 'secrets'), { recursive: true });
    mkdirSync(dir, { mode: 0o700 });
    chownSync(dir, 64_123, 64_124);
    chownSync(join(folder, 'siteward.yaml'), 0, 64_124);
    chmodSync(join(folder, 'siteward.yaml'), 0o660);
    writeFileSync(
      join(folder, 'siteward.yaml'),
      readFileSync(join(folder, 'siteward.yaml'), 'utf8').replace('by hand', 'by package'),
    );
    expect((await run(['restore', out])).code).toBe(0);
    const names = readdirSync(dir, { recursive: true, encoding: 'utf8' });
    for (const name of [...names.map((one) => join('state', one)), 'secrets', 'secrets/yard'])
      expect([name, statSync(join(folder, name)).uid, statSync(join(folder, name)).gid]).toEqual([
        name,
        64_123,
        64_124,
      ]);
    const { uid, gid, mode } = statSync(join(folder, 'siteward.yaml'));
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 0, gid: 64_124, mode: 0o660 });
    expect(readFileSync(join(folder, 'siteward.yaml'), 'utf8')).toContain('by hand');
  });

  it('goes to standard output where somebody takes it, sealed with a passphrase from standard input', async () => {
    const { run, config, folder } = box();
    const child = spawn(process.execPath, [main, 'backup', '-', '--passphrase-file', '-', '--config', config], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.end(`${words}\n`);
    const pieces: Buffer[] = [];
    for await (const piece of child.stdout) pieces.push(piece);
    const out = join(folder, 'piped.age');
    writeFileSync(out, Buffer.concat(pieces));
    expect((await run(['backup', '--show', out, '--json'])).out).toContain('"external_id":"hq"');
  });

  it.each<[string, string, string]>([
    ['short', 'short words\n', 'at least 12 characters'],
    ['of one letter', 'aaaaaaaaaaaaaaaa\n', 'repeats a few characters'],
    ['of two lines', 'four words of a passphrase\nmore\n', 'the only line'],
    ['missing', '\n', 'is empty'],
  ])('takes no passphrase that is %s, and shows none', async (_, input, said) => {
    const { run, out, folder } = box();
    const { code, err } = await run(['backup', out, '--passphrase-file', '-'], { input, passphrase: false });
    expect({ code, err }).toEqual({ code: 77, err: expect.stringContaining(said) });
    if (input.trim() !== '') expect(err).not.toContain(input.trim().split('\n')[0]);
    expect(readdirSync(folder).filter((name) => name.startsWith('box.age'))).toEqual([]);
  });

  it('asks for the passphrase twice on a terminal, without showing it, and writes no backup there', async () => {
    const { out, config, run } = box();
    const verb = ['backup', out, '--config', config];
    const differs = await onTerminal(verb, [
      ['passphrase:', words],
      ['once more:', 'four words of a passphrasf'],
    ]);
    expect(differs).toMatchObject({ code: 77, shown: expect.stringContaining('the two are not the same') });
    expect(existsSync(out)).toBe(false);
    const made = await onTerminal(verb, [
      ['passphrase:', words],
      ['once more:', words],
    ]);
    expect(made).toMatchObject({ code: 0, shown: expect.stringContaining('NOBODY can open the backup') });
    for (const { shown } of [differs, made]) expect(shown).not.toContain('four words of');
    expect((await run(['backup', '--show', out])).code).toBe(0);
    expect(await onTerminal(['backup', '-', '--config', config], [])).toMatchObject({
      code: 1,
      shown: expect.stringContaining('nothing to look at'),
    });
  });

  it('takes no passphrase from a file that everybody may read, nor from nobody', async () => {
    const { run, out, folder } = box();
    expect(await run(['backup', out], { passphrase: false })).toMatchObject({
      code: 2,
      err: expect.stringContaining('--passphrase-file'),
    });
    chmodSync(join(folder, 'words'), 0o644);
    expect(await run(['backup', out])).toMatchObject({ code: 77, err: expect.stringContaining('everybody may read') });
  });

  it('does not touch a file that is there, unless that is said', async () => {
    const { run, out } = box();
    writeFileSync(out, 'precious');
    expect(await run(['backup', out])).toMatchObject({ code: 1, err: expect.stringContaining('is there already') });
    expect(readFileSync(out, 'utf8')).toBe('precious');
    expect((await run(['backup', out, '--force'])).code).toBe(0);
    expect(readFileSync(out).subarray(0, 4).toString()).toBe('age-');
  });

  it('that is interrupted leaves no file', async () => {
    const { config, out, folder, write, dir } = box();
    for (let n = 0; n < 8; n += 1) write(join(dir, 'spool', `${n}.mp4`), randomBytes(16_000_000));
    const child = spawn(
      process.execPath,
      [main, 'backup', out, '--passphrase-file', join(folder, 'words'), '--config', config],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    let said = '';
    child.stderr.on('data', (text) => {
      said += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    onTestFinished(() => void child.kill('SIGKILL'));
    await eventually(
      'a part of it',
      () => ((statSync(`${out}.part`, { throwIfNoEntry: false })?.size ?? 0) > 500_000 ? true : undefined),
      {
        timeoutMs: 30_000,
      },
    );
    child.kill('SIGINT');
    expect(await ended).toBe(1);
    expect(said).toContain('stopped');
    expect(readdirSync(folder).filter((name) => name.startsWith('box.age'))).toEqual([]);
  });

  it.skipIf(!isRoot)('on a disk that is full says so and leaves nothing', async () => {
    const { run } = box();
    const disk = smallDisk('tmpfs', 4);
    disk.fill(1_000_000);
    const out = join(dirname(disk.dir), 'box.age');
    expect(await run(['backup', out])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/box\.age cannot be used: the disk is full/),
    });
    expect(readdirSync(dirname(disk.dir)).filter((name) => name.startsWith('box.age'))).toEqual([]);
  });
});

describe('siteward restore', { timeout: 60_000 }, () => {
  it.skipIf(!isRoot)('on a disk that fills up meanwhile says so, and what was there is as it was', async () => {
    const disk = smallDisk('tmpfs', 160);
    const { run, out, dir } = box({ stateDir: () => disk.dir });
    expect((await run(['backup', out])).code).toBe(0);
    const before = readdirSync(dir, { recursive: true }).filter(
      (name) => !`${name}`.startsWith('restore') && name !== 'siteward.pid',
    );
    disk.fill(20_000_000);
    expect(await run(['restore', out, '--replace', 'hq'])).toMatchObject({
      code: 65,
      err: expect.stringContaining('make room first'),
    });
    disk.free();
    // It holds more than its manifest tells.
    const manifest = { ...JSON.parse((await run(['backup', '--show', out, '--json'])).out), bytes: 0 };
    const [body, large] = [Buffer.from(JSON.stringify(manifest)), Buffer.alloc(90_000_000)];
    await sealed(out, [
      { name: 'manifest.json', size: body.length, mode: 0o600, body },
      { name: 'state/large', size: large.length, mode: 0o600, body: large },
    ]);
    disk.fill(75_000_000);
    expect(await run(['restore', out, '--replace', 'hq'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be used: the disk is full'),
    });
    expect(readdirSync(dir, { recursive: true }).filter((name) => name !== 'siteward.pid')).toEqual(before);
  });

  it('refuses what a newer siteward has made, and what belongs elsewhere', async () => {
    const { run, out, folder } = box();
    expect((await run(['backup', out])).code).toBe(0);
    const manifest = JSON.parse((await run(['backup', '--show', out, '--json'])).out) as object;
    const changed = async (change: object) => {
      const body = Buffer.from(JSON.stringify({ ...manifest, ...change }));
      await sealed(out, [{ name: 'manifest.json', size: body.length, mode: 0o600, body }]);
      return run(['restore', out, '--replace', 'hq']);
    };
    expect(await changed({ schema: { site: 99, bulk: 1 }, version: '9.0.0' })).toMatchObject({
      code: 65,
      err: expect.stringContaining('made by siteward 9.0.0, which is newer'),
    });
    expect(await changed({ format: 2 })).toMatchObject({ code: 1, err: expect.stringContaining('newer siteward') });
    expect(await changed({ state_dir: `${folder}/other` })).toMatchObject({
      code: 65,
      err: expect.stringContaining('its state lies in'),
    });
    expect(existsSync(`${folder}/other`)).toBe(false);
    const body = Buffer.from(JSON.stringify(manifest));
    await sealed(out, [
      { name: 'manifest.json', size: body.length, mode: 0o600, body },
      { name: 'etc/passwd', size: 1, mode: 0o600, body: Buffer.from('x') },
    ]);
    expect(await run(['restore', out, '--replace', 'hq'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('belongs nowhere'),
    });
  });

  it('with another passphrase changes nothing', async () => {
    const { run, out, folder, dir } = box();
    expect((await run(['backup', out])).code).toBe(0);
    rmSync(dir, { recursive: true });
    writeFileSync(join(folder, 'words'), 'other words of a passphrase\n');
    expect(await run(['restore', out])).toMatchObject({
      code: 77,
      err: expect.stringContaining('the passphrase is wrong'),
    });
    expect(existsSync(dir)).toBe(false);
  });

  it('a second time keeps what was on the box before the first', async () => {
    const { run, out, dir, folder } = box();
    expect((await run(['backup', out])).code).toBe(0);
    writeFileSync(join(dir, 'since'), 'only here');
    const again = () => run(['restore', out, '--replace', 'hq']);
    expect((await again()).code).toBe(0);
    const kept = join(dir, 'before-restore');
    expect(await again()).toMatchObject({ code: 65, err: expect.stringContaining(`lies in ${kept}`) });
    expect(readFileSync(join(kept, 'state/since'), 'utf8')).toBe('only here');
    renameSync(kept, join(folder, 'kept'));
    expect((await again()).code).toBe(0);
  });

  it('without a file has one to go on with, or says that there is none', async () => {
    expect(await box().run(['restore'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('no restore is left unfinished'),
    });
  });
});
