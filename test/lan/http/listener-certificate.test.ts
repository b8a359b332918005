import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { certifier } from '#box/certificates.ts';
import { certificateProblems } from '#box/given-certificate.ts';
import type { Settings } from '#config/index.ts';
import { fakeLanPort } from '#lan/http/port.fake.ts';
import { authorityFiles, namesOf, serverFiles } from '#lib/certificates.ts';
import type { Part } from '#lib/health.ts';
import { Secret } from '#lib/secret.ts';
import { httpWants, shownAuthority, siteHttp } from '../../../src/daemon/http.ts';
import { selfSigned, startListener } from './listener-rig.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-cert-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

const settings = (http: object): Settings =>
  ({ site: { external_id: 'hq' }, store: { dir }, http: { listen: '127.0.0.1:0', names: [], ...http } }) as never;

async function start(of: Settings): Promise<Part> {
  const certify = certifier();
  const log = () => pino({ level: 'silent' });
  const part = siteHttp(of, new Registry(), { log, lan: fakeLanPort(), certify });
  if (part === undefined) throw new Error('no listener');
  onTestFinished(() => part.stop());
  await part.start(new AbortController().signal);
  return part;
}

const portOf = (part: Part): number => Number(String(part.health().facts?.listen).split(':').at(-1));

function shownAt(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerX509Certificate()?.raw ?? ''));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

describe('a certificate by the authority of the site', () => {
  test('stands for the names and addresses of the machine, its name in the network, and those of the configuration', async () => {
    const part = await start(settings({ names: ['Gate.example.net', '192.0.2.99'] }));
    await vi.waitUntil(() => part.health().state === 'ok', { timeout: 20_000 });
    const shown = await shownAt(portOf(part));
    const local = `${hostname().toLowerCase().split('.')[0]}.local`;
    expect(namesOf(shown)).toEqual(
      expect.arrayContaining(['localhost', '127.0.0.1', '::1', 'gate.example.net', '192.0.2.99', local]),
    );
    expect(part.health().facts?.fingerprint).toBe(shown.fingerprint256);
    const authority = new X509Certificate(await shownAuthority(settings({})));
    expect(shown.verify(authority.publicKey)).toBe(true);
    // The key stays here, and in a file of its own: the broker's may go on.
    expect(statSync(serverFiles(join(dir, 'tls'), 'http').key).mode & 0o777).toBe(0o600);
    expect(() => statSync(serverFiles(join(dir, 'tls')).key)).toThrow();
  });

  test('is made anew with the same key when addresses change, and no connection is cut by it', async () => {
    const bridge = await startListener({ more: { renewEveryMs: 20 } });
    const [before, held] = [await shownAt(bridge.port()), await bridge.open()];
    bridge.names = ['192.0.2.44'];
    let after = before;
    await vi.waitUntil(
      async () => {
        after = await shownAt(bridge.port());
        return namesOf(after).includes('192.0.2.44');
      },
      { timeout: 20_000 },
    );
    expect(after.publicKey.equals(before.publicKey)).toBe(true);
    expect(after.fingerprint256).not.toBe(before.fingerprint256);
    await vi.waitUntil(() => bridge.part.health().facts?.fingerprint === after.fingerprint256, 20_000);
    expect(held.destroyed).toBe(false);
    held.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    expect(String((await new Promise((resolve) => held.once('data', resolve))) as Buffer)).toContain('200 OK');
    expect(bridge.lines.join('')).toContain(after.fingerprint256);
  });

  test('that cannot be renewed goes on being shown, and the part says so', async () => {
    const first = await start(settings({}));
    await vi.waitUntil(() => first.health().state === 'ok', { timeout: 20_000 });
    const before = first.health().facts?.fingerprint;
    await first.stop();
    // An authority whose key is no key any more signs nothing.
    rmSync(authorityFiles(join(dir, 'tls')).key);
    const { PATH } = process.env;
    process.env.PATH = dir;
    onTestFinished(() => {
      process.env.PATH = PATH;
    });
    const second = await start(settings({ names: ['gate.example.net'] }));
    await vi.waitUntil(() => second.health().state === 'degraded', { timeout: 20_000 });
    expect(second.health()).toMatchObject({
      reason: expect.stringContaining('openssl'),
      facts: { fingerprint: before },
    });
    expect((await shownAt(portOf(second))).fingerprint256).toBe(before);
  });

  test('several servers that ask at once have one authority', async () => {
    const certify = certifier();
    const signal = new AbortController().signal;
    const made = await Promise.all(
      (['server', 'http', 'server'] as const).map((server) => certify(server, settings({}), [], signal)),
    );
    const authority = new X509Certificate(await shownAuthority(settings({})));
    for (const { cert } of made) expect(new X509Certificate(cert).verify(authority.publicKey)).toBe(true);
    expect(made[2]).toEqual(made[0]);
  });
});

describe('a certificate of the site’s own', () => {
  const given = ({ cert, key }: { cert: string; key: string }) =>
    settings({ certificate: { cert, key: new Secret(readFileSync(key, 'utf8')) } });

  test('is shown instead, and no authority is handed out', async () => {
    const own = selfSigned(dir, 'own');
    const part = await start(given(own));
    await vi.waitUntil(() => part.health().state === 'ok', { timeout: 20_000 });
    expect((await shownAt(portOf(part))).fingerprint256).toBe(
      new X509Certificate(readFileSync(own.cert)).fingerprint256,
    );
    await expect(shownAuthority(given(own))).rejects.toMatchObject({ code: 'authority_unknown' });
    expect(() => statSync(authorityFiles(join(dir, 'tls')).cert)).toThrow();
  });

  test('that does not fit its key, or is none, is named in the configuration and makes the part down', async () => {
    const [own, other] = [selfSigned(dir, 'own'), selfSigned(dir, 'other')];
    const none = join(dir, 'none.crt');
    writeFileSync(none, 'no certificate');
    const cases: [{ cert: string; key: string }, string, string][] = [
      [{ ...own, key: other.key }, 'key', 'is not the key of this certificate'],
      [{ ...own, cert: none }, 'cert', 'is no certificate in PEM'],
    ];
    for (const [files, at, message] of cases) {
      expect(certificateProblems(given(files))).toEqual([{ path: ['http', 'certificate', at], message }]);
      const part = await start(given(files));
      await vi.waitUntil(() => part.health().reason?.includes(`http.certificate.${at} ${message}`), {
        timeout: 10_000,
      });
      expect(part.health().state).toBe('down');
      expect(part.health().reason).not.toContain('BEGIN');
    }
    expect(certificateProblems(given(own))).toEqual([]);
    expect(certificateProblems(settings({}))).toEqual([]);
  });

  test('that is not there makes the part down, which names the key of the configuration and the file', async () => {
    const own = selfSigned(dir, 'own');
    const part = await start(given({ ...own, cert: join(dir, 'gone.pem') }));
    await vi.waitUntil(() => part.health().reason?.includes('gone.pem'), { timeout: 10_000 });
    expect(part.health().state).toBe('down');
    expect(part.health().reason).toMatch(/http\.certificate\.cert \S+gone\.pem cannot be read .*there is no such file/);
  });

  test('that ends soon is shown, and the part says when it ends', async () => {
    const part = await start(given(selfSigned(dir, 'short', 20)));
    await vi.waitUntil(() => part.health().state === 'degraded', { timeout: 20_000 });
    expect(part.health().reason).toMatch(/short\.crt ends at 20\d\d-.*; put another one there and reload/);
    expect((await shownAt(portOf(part))).subject).toContain('short');
  });

  test('another file, or key, makes another listener at a reload', () => {
    const [own, other] = [selfSigned(dir, 'own'), selfSigned(dir, 'other')];
    const before = JSON.stringify(httpWants(given(own)));
    writeFileSync(own.cert, readFileSync(other.cert));
    expect(JSON.stringify(httpWants(given(own)))).not.toBe(before);
    expect(httpWants(settings({ listen: undefined }))).toBeUndefined();
  });
});
