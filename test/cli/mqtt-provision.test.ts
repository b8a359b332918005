import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPasswordOf, listenersIn, mosquittoConf, passwordHash, passwordsIn } from '../../src/lan/mqtt/index.ts';
import { mosquittoPath } from '../lan/mqtt/harness.ts';
import { type Provisioned, provisioned } from '../lan/mqtt/provisioned.ts';
import { siteward } from './run-cli.ts';

describe('the files of mosquitto', () => {
  it('have hashes that fit their password alone', () => {
    const hash = passwordHash('gate-of-the-yard');
    expect(hash).toMatch(/^\$7\$5000\$[A-Za-z0-9+/]{16}\$[A-Za-z0-9+/]{86}==$/);
    expect(isPasswordOf(hash, 'gate-of-the-yard')).toBe(true);
    expect(isPasswordOf(hash, 'gate-of-the-yarD')).toBe(false);
    expect(passwordHash('gate-of-the-yard')).not.toBe(hash);
    for (const other of ['', 'x', '$6$abc$def', '$7$0$AAAA$AAAA']) expect(isPasswordOf(other, '')).toBe(false);
  });

  it.skipIf(!existsSync('/usr/bin/mosquitto_passwd'))('are read as mosquitto_passwd writes them (needs it)', () => {
    const file = `/tmp/siteward-passwd-${process.pid}`;
    execFileSync('/usr/bin/mosquitto_passwd', ['-c', '-b', file, 'kp1', 'of-the-keypad'], { stdio: 'ignore' });
    const hash = passwordsIn(readFileSync(file, 'utf8')).get('kp1') ?? '';
    execFileSync('rm', [file]);
    expect(isPasswordOf(hash, 'of-the-keypad')).toBe(true);
  });

  it('tell their listeners again', () => {
    const listeners = { lan: '[::]:8883', own: '127.0.0.1:8884', plain: '10.0.9.1:1883' };
    expect(listenersIn(mosquittoConf('/x', listeners))).toEqual(listeners);
    expect(listenersIn('listener 1883')).toBeUndefined();
  });
});

describe.skipIf(mosquittoPath === undefined)('siteward mqtt (needs mosquitto)', () => {
  let site: Provisioned;
  const read = (name: string) => readFileSync(join(site.folder, name), 'utf8');
  const every = () =>
    readdirSync(site.folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(site.folder, name)).isFile())
      .map((name) => ({ name, text: read(name) }));
  const at = () => ['--config', site.config, '--dir', site.dir];
  const login = (id: string, password: string) =>
    new Promise<boolean>((resolve) => {
      const client = mqtt.connect(site.lanUrl, { ...site.login(id, 4), password });
      client.once('connect', () => client.end(true, () => resolve(true)));
      client.once('error', () => client.end(true, () => resolve(false)));
    });
  beforeAll(async () => {
    site = await provisioned([
      '{ id: kp1, role: keypad }   # at the door',
      '{ id: tablet, role: viewer }',
      '{ id: z2m, role: bridge }',
    ]);
  }, 60_000);
  afterAll(() => site?.stop());

  it('keeps comments, writes hashes only, and lets no one else read a key', () => {
    const text = read('siteward.yaml');
    for (const comment of ['# The site of the shop.', '# do not touch', '# ours', '# who may what', '# at the door'])
      expect(text).toContain(comment);
    for (const id of ['kp1', 'tablet', 'z2m']) {
      const password = site.passwords.get(id) ?? '';
      expect(password).toMatch(/^[\w-]{24}$/);
      expect(every().filter((file) => file.text.includes(password))).toEqual([]);
    }
    const own = site.passwords.get('siteward') ?? '';
    expect(every().flatMap((file) => (file.text.includes(own) ? [file.name] : []))).toEqual(['secrets/mqtt-siteward']);
    const mode = (name: string) => (statSync(join(site.folder, name)).mode & 0o777).toString(8);
    for (const name of ['state/tls/ca.key', 'mosquitto/siteward/server.key', 'secrets/mqtt-siteward'])
      expect(mode(name)).toBe('600');
    for (const name of ['mosquitto/siteward/passwd', 'mosquitto/siteward/acl']) expect(mode(name)).toBe('640');
  });

  it('makes a certificate for this machine, signed by the authority of the site', () => {
    const server = new X509Certificate(read('mosquitto/siteward/server.crt'));
    const ca = new X509Certificate(read('mosquitto/siteward/ca.crt'));
    expect(server.verify(ca.publicKey)).toBe(true);
    expect(ca.ca && !server.ca).toBe(true);
    expect(server.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(server.checkHost('localhost')).toBe('localhost');
    expect(server.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  it('changes nothing when nothing has changed, and writes nothing when it is only asked', async () => {
    // The probe of these tests is nobody's client: the first run takes it out.
    await siteward([...site.args, '--json']);
    const before = every();
    const again = await siteward([...site.args, '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ written: [], restart: false });
    expect((await siteward(site.args)).out).toContain('everything was as it should be');
    const dry = await siteward([...site.args, '--dry-run', '--plain', '127.0.0.1:1883']);
    expect(dry).toMatchObject({ code: 0 });
    expect(dry.out).toContain('nothing was written');
    expect(every()).toEqual(before);
  });

  it('says what is open, and shows no password', async () => {
    expect((await siteward([...site.args])).out).toContain('The bridge z2m may use every topic');
    const shown = await siteward(['mqtt', 'show', ...at()]);
    expect(shown.out).toMatch(/^kp1 +keypad +has a password$/m);
    for (const password of site.passwords.values()) expect(shown.out).not.toContain(password);
    expect(JSON.parse((await siteward(['mqtt', 'show', ...at(), '--json'])).out)).toMatchObject({
      broker: `mqtts://127.0.0.1:${site.ports.own}`,
      clients: [
        { id: 'siteward' },
        { id: 'kp1', role: 'keypad' },
        { id: 'tablet' },
        { id: 'z2m', panels: null, password: true },
      ],
    });
  });

  it('gives a client a new password, which alone counts once mosquitto has read it', async () => {
    const old = site.passwords.get('kp1') ?? '';
    const { id, password } = JSON.parse((await siteward(['mqtt', 'rotate', 'kp1', ...at(), '--json'])).out);
    expect(id).toBe('kp1');
    expect(await login('kp1', old)).toBe(true);
    await site.reload();
    expect([await login('kp1', old), await login('kp1', password)]).toEqual([false, true]);
    expect(await login('tablet', site.passwords.get('tablet') ?? '')).toBe(true);
    expect((await siteward(['mqtt', 'rotate', 'nobody', ...at()])).code).toBe(66);
  });

  it('gives siteward a new password in its own file and shows it to nobody', async () => {
    const { code, out } = await siteward(['mqtt', 'rotate', 'siteward', ...at()]);
    expect(out).toMatch(/systemctl reload mosquitto && systemctl reload siteward\n.*as one, in this order/);
    expect(code).toBe(0);
    const own = read('secrets/mqtt-siteward').trim();
    expect(own).not.toBe(site.passwords.get('siteward'));
    expect(out).not.toContain(own);
    expect(isPasswordOf(passwordsIn(read('mosquitto/siteward/passwd')).get('siteward') ?? '', own)).toBe(true);
  });

  it('leaves the password as it was where mosquitto cannot be given the new one', async () => {
    const [own, hashes] = [read('secrets/mqtt-siteward'), read('mosquitto/siteward/passwd')];
    // Nothing can be written beside it.
    mkdirSync(join(site.folder, 'mosquitto/siteward/passwd.part'));
    const failed = await siteward(['mqtt', 'rotate', 'siteward', ...at()]);
    rmdirSync(join(site.folder, 'mosquitto/siteward/passwd.part'));
    expect(failed.code).not.toBe(0);
    expect(read('mosquitto/siteward/passwd')).toBe(hashes);
    expect(read('secrets/mqtt-siteward')).toBe(own);
  });

  it('shows the new passwords also where what comes after them cannot be written', async () => {
    const before = read('siteward.yaml');
    const added = before.replace(
      '{ id: tablet, role: viewer }',
      '{ id: tablet, role: viewer }\n    - { id: late, role: viewer }',
    );
    expect(added).not.toBe(before);
    writeFileSync(site.config, added);
    const { code, out } = await siteward([...site.args, '--conf', join(site.folder, 'none/siteward.conf')]);
    expect(code).not.toBe(0);
    const password = /^ {2}late {2}(\S+)$/m.exec(out)?.[1] ?? '';
    expect(isPasswordOf(passwordsIn(read('mosquitto/siteward/passwd')).get('late') ?? '', password)).toBe(true);
    writeFileSync(site.config, before);
    expect((await siteward(site.args)).code).toBe(0);
  });

  it('takes a client out that is in the configuration no more, and adds a new one', async () => {
    writeFileSync(
      site.config,
      read('siteward.yaml').replace('{ id: tablet, role: viewer }', '{ id: guard1, role: guard }'),
    );
    const lost = await siteward([...site.args, '--json']);
    expect(lost.code).toBe(65);
    expect(lost.err).toContain('guard1 would get a new password that nobody sees');
    const { code, out } = await siteward(site.args);
    expect(code).toBe(0);
    const password = /^ {2}guard1 {2}(\S+)$/m.exec(out)?.[1] ?? '';
    expect(out).toContain('systemctl reload mosquitto && systemctl reload siteward');
    await site.reload();
    expect(await login('guard1', password)).toBe(true);
    expect(await login('tablet', site.passwords.get('tablet') ?? '')).toBe(false);
    expect(read('mosquitto/siteward/acl')).not.toContain('tablet');
  });

  it('takes the password that the configuration names', async () => {
    const file = join(site.folder, 'secrets/of-kp1');
    writeFileSync(file, 'chosen-by-a-person\n', { mode: 0o600 });
    writeFileSync(
      site.config,
      read('siteward.yaml').replace('role: keypad', `role: keypad, password: { file: ${file} }`),
    );
    const { code, out } = await siteward(site.args);
    expect(code).toBe(0);
    expect(out).not.toContain('chosen-by-a-person');
    await site.reload();
    expect(await login('kp1', 'chosen-by-a-person')).toBe(true);
  });

  it('refuses what it cannot set up, and says what to do', async () => {
    const text = read('siteward.yaml');
    writeFileSync(site.config, text.replace(/broker: \S+/, 'broker: mqtts://192.0.2.7:8883'));
    const far = await siteward(site.args);
    expect(far.code).toBe(65);
    expect(far.err).toContain('a broker on another machine');
    writeFileSync(site.config, text.replace('role: bridge', 'role: bridge, panels: [mian]'));
    expect((await siteward(site.args)).code).toBe(78);
    writeFileSync(site.config, text);
    expect((await siteward([...site.args, '--own', '0.0.0.0:8884'])).code).toBe(65);
  });
});
