import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { makeCertificate } from '../devices/onvif/make-certificate.ts';
import { cameraModel, checkToken, fault, type ScriptedCamera, startCamera } from '../devices/onvif/scripted-camera.ts';
import { askedOnly, main, type Ran, siteward } from './run-cli.ts';

const password = 'Gehe1m-für-Hof';
const commented = `# The site of the shop.
site:   { id: "4711", external_id: hq, timezone: Europe/Berlin }   # do not touch
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: Offices } ]
store:  { dir: STATE }

cameras:
  # At the gate, since 2019.
  - id: gate          # never changes
    url: http://192.0.2.10/onvif/device_service
    zone: "21"

# Nothing below this line.
`;

let dir: string;
let file: string;
let opened: ScriptedCamera[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-camera-'));
  file = join(dir, 'siteward.yaml');
  writeFileSync(file, commented.replace('STATE', join(dir, 'state')), { mode: 0o640 });
  opened = [];
});
afterEach(async () => {
  for (const camera of opened) await camera.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A camera that wants a token of its user, except for its clock; `refusals` counts tokens that were wrong. */
async function guarded(options: Parameters<typeof startCamera>[2] = undefined) {
  const counts = { refusals: 0 };
  const model = cameraModel({
    before(request) {
      if (request.operation === 'GetSystemDateAndTime') return undefined;
      const wrong = checkToken(request.body, 'siteward', password, Date.now());
      if (wrong === undefined) return undefined;
      if (wrong !== 'no token') counts.refusals += 1;
      return fault('NotAuthorized');
    },
  });
  const camera = await startCamera(model.script, 0, options);
  opened.push(camera);
  return { camera, counts, model };
}

const given: string[] = [];
async function run(args: readonly string[], input = '', env: Record<string, string> = {}): Promise<Ran> {
  given.push(...args);
  // No daemon listens here.
  return siteward(['camera', ...args], { SITEWARD_SOCKET: join(dir, 'control.sock'), ...env }, input);
}
const adding = (address: string, id: string, ...more: string[]) => [
  'add',
  address,
  '--id',
  id,
  '--config',
  file,
  '--user',
  'siteward',
  '--password-stdin',
  ...more,
];
const text = () => readFileSync(file, 'utf8');
const untouched = () => commented.replace('STATE', join(dir, 'state'));
const secrets = () => (existsSync(join(dir, 'secrets')) ? readdirSync(join(dir, 'secrets')) : []);
/** Every file of the folder that holds the password. */
const withPassword = () =>
  (readdirSync(dir, { recursive: true }) as string[]).filter(
    (name) => statSync(join(dir, name)).isFile() && readFileSync(join(dir, name), 'utf8').includes(password),
  );

describe('add', () => {
  test('says whom it waits for, and goes on saying so', async () => {
    const camera = await startCamera(() => ({ hang: true }));
    opened.push(camera);
    const child = spawn(process.execPath, [main, 'camera', 'add', camera.url, '--id', 'yard', '--config', file]);
    let said = '';
    child.stderr.on('data', (bytes) => {
      said += bytes;
      if (said.includes('has not told')) child.kill();
    });
    await once(child, 'close');
    expect(said).toMatch(
      /^asking 127\.0\.0\.1:\d+ what it is\n127\.0\.0\.1:\d+ has not told all of it yet; siteward waits 45 s/,
    );
    expect(text()).toBe(untouched());
  });

  test('puts the entry behind the others, the password into a file of its own, and nothing else', async () => {
    const { camera, counts } = await guarded();
    const more = ['--name', 'Yard: east', '--zone', '22', '--zone-type', 'video_person_interior', '--partition', 'p1'];
    const ran = await run(adding(camera.url, 'yard', ...more), `${password}\n`);
    expect(ran).toMatchObject({ code: 0, err: expect.stringMatching(askedOnly) });
    expect(ran.out).toMatch(
      /device +Example 007\nfirmware +5\.50\nserial number +00012345678901234567890\nclock +right\npassword +accepted/,
    );
    expect(ran.out).toContain('systemctl reload siteward');
    const secret = join(dir, 'secrets', 'camera-yard');
    const entry = `  - id: yard
    name: "Yard: east"
    url: ${camera.url}
    username: siteward
    password: { file: ${secret} }
    zone: "22"
    zone_type: video_person_interior
    partition: p1
`;
    expect(text()).toBe(untouched().replace('    zone: "21"\n', `    zone: "21"\n${entry}`));
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readFileSync(secret, 'utf8')).toBe(`${password}\n`);
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect((await siteward(['check', file])).code).toBe(0);
    expect(withPassword()).toEqual([join('secrets', 'camera-yard')]);
    expect(ran.out + ran.err + given.join(' ')).not.toContain(password);
    expect(counts.refusals).toBe(0);
  });

  test('a wrong password is refused by the camera twice at most, and nothing is written', async () => {
    const { camera, counts } = await guarded();
    const ran = await run(adding(camera.url, 'yard'), 'wrong\n');
    expect(ran).toMatchObject({ code: 77, out: '' });
    expect(ran.err).toMatch(/does not let siteward in.*\(camera_auth\)/);
    expect(ran.err).not.toContain('wrong');
    expect(ran.err).toContain('lock the account');
    expect(counts.refusals).toBeGreaterThan(0);
    expect(counts.refusals).toBeLessThanOrEqual(2);
    expect(text()).toBe(untouched());
    expect(secrets()).toEqual([]);
  });

  test('one that tells anybody what it is shows by its profiles that the password is wrong', async () => {
    const { camera, counts, model } = await guarded();
    const strict = model.before;
    model.before = (request, one) =>
      request.operation === 'GetDeviceInformation' ? undefined : strict?.(request, one);
    expect(await run(adding(camera.url, 'yard'), 'wrong\n')).toMatchObject({ code: 77 });
    expect(counts.refusals).toBeLessThanOrEqual(2);
    expect(text()).toBe(untouched());
  });

  test.each([
    [['http://192.0.2.77/', '--id', 'gate'], 'has a camera, recorder or channel gate already'],
    [['http://192.0.2.77/', '--id', 'yard', '--zone', '21'], 'the zone 21 is taken by the camera gate'],
    [['192.0.2.10', '--id', 'yard'], 'gate is at 192.0.2.10:80 already'],
  ])('%j is refused before anybody is asked for a password', async (args, words) => {
    const ran = await run(['add', ...args, '--config', file, '--user', 'siteward']);
    expect(ran).toMatchObject({ code: 65, out: '' });
    expect(ran.err).toContain(words);
    expect(text()).toBe(untouched());
  });

  test.each([
    [['--password', 'hunter2'], 'a password is no argument'],
    [['--password-stdin'], 'a password needs a user'],
    [['--user', 'x'], 'no terminal to ask on'],
  ])('wrong usage: %j', async (args, words) => {
    const ran = await run(['add', '127.0.0.1:1', '--id', 'yard', '--config', file, ...args]);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(words);
    expect(ran.err).not.toContain('hunter2');
  });

  test('an address that holds a password is refused without repeating it', async () => {
    const ran = await run(['add', 'http://admin:hunter2@127.0.0.1/', '--id', 'yard', '--config', file]);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain('must not hold a user name or password');
    expect(ran.out + ran.err).not.toContain('hunter2');
  });

  test('what siteward would not take is not written', async () => {
    const { camera } = await guarded();
    const ran = await run(adding(camera.url, 'yard', '--zone', '22', '--partition', 'p7'), `${password}\n`);
    expect(ran.code).toBe(78);
    expect(ran.err).toMatch(/nothing was changed.*cameras\[1\]\.partition: there is no such partition/);
    expect(text()).toBe(untouched());
    expect(secrets()).toEqual([]);
  });

  test('a file that has errors already is left alone', async () => {
    writeFileSync(file, untouched().replace('Europe/Berlin', 'Europe/Atlantis'));
    const ran = await run(['add', '127.0.0.1:1', '--id', 'yard', '--config', file]);
    expect(ran).toMatchObject({ code: 78, err: expect.stringContaining('is not a time zone') });
  });

  test('a camera that nobody answers at is not added', async () => {
    const ran = await run(['add', '127.0.0.1:9', '--id', 'yard', '--config', file]);
    expect(ran).toMatchObject({ code: 69, err: expect.stringContaining('camera_unreachable') });
    expect(ran.err).toContain('siteward camera test ADDRESS');
    const unread = await run([
      'add',
      '127.0.0.1:9',
      '--id',
      'yard',
      '--config',
      file,
      '--user',
      'u',
      '--password-file',
      'pw1',
    ]);
    expect(unread.err).toContain(`${process.cwd()}/pw1 cannot be used`);
    expect(text()).toBe(untouched());
  });

  test('--dry-run shows the entry and writes nothing', async () => {
    const { camera } = await guarded();
    const ran = await run(adding(camera.url, 'yard', '--dry-run'), `${password}\n`);
    expect(ran.code).toBe(0);
    expect(parse(/^cameras:[\s\S]*?\n\n/m.exec(ran.out)?.[0] ?? '').cameras).toMatchObject([
      { id: 'yard', url: camera.url },
    ]);
    expect(ran.out).toContain('nothing was written');
    expect([text(), secrets()]).toEqual([untouched(), []]);
  });

  test('the password comes from a file as well, and --json tells what was found', async () => {
    const { camera } = await guarded();
    const from = join(dir, 'given');
    writeFileSync(from, `${password}\n`);
    const args = [
      'add',
      camera.url,
      '--id',
      'yard',
      '--config',
      file,
      '--user',
      'siteward',
      '--password-file',
      from,
      '--json',
    ];
    const ran = await run(args);
    expect(JSON.parse(ran.out)).toMatchObject({
      ...{ id: 'yard', url: camera.url, manufacturer: 'Example', model: '007', authenticated: true, profiles: 2 },
      ...{ written: true, entry: { id: 'yard', password: { file: join(dir, 'secrets', 'camera-yard') } } },
    });
    expect(ran.out).not.toContain(password);
  });

  test('where other cameras have their secrets, this one has its own', async () => {
    const { camera } = await guarded();
    const shared = join(dir, 'keys', 'gate');
    writeFileSync(file, untouched().replace('    zone: "21"', `    username: u\n    password: { file: ${shared} }`));
    expect((await run(adding(camera.url, 'yard'), password)).code).toBe(0);
    expect(readFileSync(join(dir, 'keys', 'camera-yard'), 'utf8')).toBe(`${password}\n`);
  });

  test('a file that lies there under the name of its secret stays as it is', async () => {
    const { camera } = await guarded();
    const there = join(dir, 'secrets', 'camera-yard');
    mkdirSync(join(dir, 'secrets'));
    writeFileSync(there, 'of somebody else\n');
    expect((await run(adding(camera.url, 'yard'), password)).code).toBe(0);
    expect(readFileSync(there, 'utf8')).toBe('of somebody else\n');
    expect(parse(text()).cameras[1].password).toEqual({ file: `${there}-2` });
  });

  test('a certificate a camera made itself is shown and written down', async () => {
    const certificate = makeCertificate();
    const { camera } = await guarded(certificate);
    const ran = await run(adding(camera.url, 'yard'), password);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain(`${certificate.fingerprint}, made by itself`);
    expect(parse(text()).cameras[1]).toMatchObject({ url: camera.url, tls_fingerprint: certificate.fingerprint });
  });

  test.skipIf(!existsSync('/usr/bin/script'))('on a terminal the password is asked for and not shown', async () => {
    const { camera } = await guarded();
    const line = [
      process.execPath,
      main,
      'camera',
      'add',
      camera.url,
      '--id',
      'yard',
      '--config',
      file,
      '--user',
      'siteward',
    ];
    const child = spawn('/usr/bin/script', ['-qec', line.map((part) => `'${part}'`).join(' '), '/dev/null'], {
      env: { PATH: process.env.PATH, SITEWARD_SOCKET: join(dir, 'none') },
    });
    let shown = '';
    child.stdout.on('data', (bytes) => {
      shown += bytes;
      if (String(bytes).includes('password of user siteward')) child.stdin.write(`${password}ö\u007f\r`);
    });
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(0);
    expect(shown).toContain('password of user siteward');
    expect(shown).not.toContain(password);
    expect(readFileSync(join(dir, 'secrets', 'camera-yard'), 'utf8')).toBe(`${password}\n`);
  });

  // The first file is the secret, the second the configuration.
  test.each([
    ['file.part', 'old'],
    ['file.renamed', 'old'],
    ['file.dirsynced', 'old'],
    ['file.part:2', 'old'],
    ['file.synced:2', 'old'],
    ['file.renamed:2', 'new'],
    ['file.dirsynced:2', 'new'],
  ])('killed at %s the configuration is the %s one, whole', async (point, which) => {
    const { camera } = await guarded();
    const ran = await run(adding(camera.url, 'yard'), password, { SITEWARD_CRASH_AT: point });
    expect(ran.code).not.toBe(0);
    const now = text();
    if (which === 'old') expect(now).toBe(untouched());
    else expect(parse(now).cameras).toHaveLength(2);
    expect((await siteward(['check', file])).code).toBe(0);
    for (const name of withPassword()) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    // Done again, it is as if nothing had happened.
    const again = await run(adding(camera.url, 'yard'), password);
    expect(again.code).toBe(which === 'old' ? 0 : 65);
    expect(parse(text()).cameras).toHaveLength(2);
    expect(withPassword()).toEqual([join('secrets', 'camera-yard')]);
    expect(readdirSync(dir).filter((name) => name.endsWith('.part'))).toEqual([]);
  });
});

describe('replace', () => {
  test('id, name, zone and comments stay; address, user, password and certificate are new', async () => {
    const old = join(dir, 'secrets', 'camera-gate');
    const { camera: first } = await guarded();
    writeFileSync(
      file,
      untouched().replace(
        '    zone: "21"',
        `    username: u\n    password: { file: ${old} } # ours\n    snapshot_url: http://192.0.2.10/x\n    stream_url: rtsp://192.0.2.10/2\n    basic_login: true\n    zone: "21"`,
      ),
    );
    const certificate = makeCertificate();
    const { camera } = await guarded(certificate);
    expect((await run(adding(first.url, 'yard'), password)).code).toBe(0);
    writeFileSync(old, 'old\n', { mode: 0o600 });
    const args = ['replace', 'gate', camera.url, '--config', file, '--user', 'siteward', '--password-stdin'];
    expect(await run(args, 'wrong')).toMatchObject({ code: 77 });
    expect(readFileSync(old, 'utf8')).toBe('old\n');
    const ran = await run(args, password);
    expect(ran).toMatchObject({ code: 0, err: expect.stringMatching(askedOnly) });
    expect(text()).toContain(`  # At the gate, since 2019.
  - id: gate          # never changes
    url: ${camera.url}
    username: siteward
    password: { file: ${join(dir, 'secrets', 'camera-gate-2')} } # ours
    zone: "21"
    tls_fingerprint: ${certificate.fingerprint}
  - id: yard
`);
    expect(secrets().sort()).toEqual(['camera-gate-2', 'camera-yard']);
    expect((await siteward(['check', file])).code).toBe(0);
  });

  test('of what is not there, or at the address of another one, it is refused', async () => {
    expect(await run(['replace', 'gone', '127.0.0.1:9', '--config', file])).toMatchObject({ code: 66 });
    const { camera } = await guarded();
    expect((await run(adding(camera.url, 'yard'), password)).code).toBe(0);
    const ran = await run(['replace', 'gate', camera.url, '--config', file]);
    expect(ran).toMatchObject({ code: 65, err: expect.stringContaining('yard is at') });
  });
});

describe('remove', () => {
  const removing = (id: string, ...more: string[]) => ['remove', id, '--config', file, ...more];

  test('takes the entry and its password away, and leaves every other line', async () => {
    const { camera } = await guarded();
    expect((await run(adding(camera.url, 'yard'), password)).code).toBe(0);
    const ran = await run(removing('yard', '--yes'));
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect([text(), secrets()]).toEqual([untouched(), []]);
  });

  test('a password that another camera shares stays, and one that lies elsewhere', async () => {
    const { camera } = await guarded();
    expect((await run(adding(camera.url, 'yard'), password)).code).toBe(0);
    const secret = join(dir, 'secrets', 'camera-yard');
    writeFileSync(file, text().replace('    zone: "21"', `    username: u\n    password: { file: ${secret} }`));
    expect((await run(removing('yard', '--yes'))).code).toBe(0);
    expect(secrets()).toEqual(['camera-yard']);
    expect(text()).toContain(secret);
  });

  test('while a zone shows it, it is refused with the line', async () => {
    const panel =
      'panels:\n  - id: main\n    profile: pai\n    zones:\n      1:\n        type: perimeter\n        cameras: [gate]\n';
    writeFileSync(file, untouched() + panel);
    const line =
      text()
        .split('\n')
        .findIndex((one) => one.includes('[gate]')) + 1;
    const ran = await run(removing('gate', '--yes'));
    expect(ran).toMatchObject({ code: 65, err: expect.stringContaining(`gate is named elsewhere: ${file}:${line}.`) });
    expect(text()).toBe(untouched() + panel);
  });

  test('while something else needs its zone, it is refused in the words of the check', async () => {
    const { camera } = await guarded();
    expect((await run(adding(camera.url, 'yard', '--zone', '22'), password)).code).toBe(0);
    writeFileSync(file, `${text()}cross_zones: [ { zones: ["21", "22"] } ]\n`);
    const ran = await run(removing('yard', '--yes'));
    expect(ran).toMatchObject({
      code: 78,
      err: expect.stringContaining('cross_zones[0].zones[1]: there is no such zone'),
    });
    expect(secrets()).toEqual(['camera-yard']);
  });

  test('nobody to ask, nothing done; what is not there is not found', async () => {
    expect(await run(removing('gate'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/say --yes \(no_terminal\)/),
    });
    expect(await run(removing('gone', '--yes'))).toMatchObject({ code: 66 });
    expect(text()).toBe(untouched());
  });
});

test('without a daemon the list is what the configuration says', async () => {
  const ran = await run(['list', '--config', file]);
  expect(ran.code).toBe(0);
  expect(ran.out).toMatch(/^gate +not known +http:\/\/192\.0\.2\.10\/onvif\/device_service$/m);
  expect(ran.err).toContain('only the configuration is shown');
  const [entry] = (await run(['list', '--config', file, '--json'])).out.trim().split('\n');
  expect(JSON.parse(entry ?? '')).toMatchObject({ id: 'gate', kind: 'camera', events: null });
});
