import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect as tcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type SecureVersion } from 'node:tls';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { certifier } from '#box/certificates.ts';
import { embeddedBroker } from '../../../src/daemon/broker.ts';
import { type Broker, createBroker } from '../../../src/lan/mqtt/index.ts';
import { authorityFiles, ensureAuthority, ensureServer, serverFiles } from '../../../src/lib/certificates.ts';
import { Secret } from '../../../src/lib/secret.ts';
import { memoryLog, root, slug, until, watch } from './harness.ts';

const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const signal = new AbortController().signal;
const users = [{ id: 'kp1', role: 'keypad', password: new Secret('keypad-password-1') }] as const;
const login = { clientId: 'kp1', username: 'kp1', password: 'keypad-password-1', reconnectPeriod: 0 };

describe('the embedded broker with TLS', () => {
  let folder: string;
  let broker: Broker | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'siteward-tls-'));
  });
  afterEach(async () => {
    await broker?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const authority = () => authorityFiles(folder);
  const ca = () => readFileSync(authority().cert, 'utf8');
  async function material(names = ['127.0.0.1', 'localhost']) {
    await ensureAuthority(authority(), { name: 'siteward hq', owner, signal });
    await ensureServer(serverFiles(folder), { authority: authority(), names, owner, signal });
    return { cert: readFileSync(serverFiles(folder).cert, 'utf8'), key: readFileSync(serverFiles(folder).key, 'utf8') };
  }
  async function start(renewEveryMs?: number, names?: () => string[]) {
    const options = { slug, users, log: memoryLog().log, metrics: new Registry() };
    broker = createBroker({
      ...options,
      listen: { host: '0.0.0.0', port: 0 },
      tls: () => material(names?.()),
      ...(renewEveryMs !== undefined && { renewEveryMs }),
    });
    await broker.start(signal);
    return broker;
  }
  const shown = (port: number, version: SecureVersion = 'TLSv1.3') =>
    new Promise<string>((resolve) => {
      const limits = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT:@SECLEVEL=0' };
      const socket = connect({ host: '127.0.0.1', port, ca: ca(), ...limits });
      socket.once('secureConnect', () => {
        resolve(`${socket.getProtocol()} ${socket.getPeerCertificate().subjectaltname}`);
        socket.destroy();
      });
      socket.once('error', () => resolve('refused'));
    });

  it('lets in who has a password over TLS 1.2 or newer, and nobody else', async () => {
    const { url, port } = await start();
    expect(url()).toBe(`mqtts://127.0.0.1:${port()}`);
    const keypad = await watch(url(), { ...login, ca: ca() }, [`${root}/status`]);
    const own = await watch({ url: url(), dial: (broker as Broker).dial }, { clientId: 'siteward-hq' }, []);
    await own.client.publishAsync(`${root}/status`, 'online', { qos: 1 });
    await until(() => keypad.texts('status').length > 0, 'the status over TLS');
    for (const { client } of [keypad, own]) await client.endAsync(true);
    expect(await shown(port(), 'TLSv1.1')).toBe('refused');
    expect(await shown(port(), 'TLSv1.2')).toContain('TLSv1.2');
    // A CONNECT without TLS gets no CONNACK.
    const plain = tcp(port(), '127.0.0.1');
    plain.write(Buffer.from('100c00044d515454040200000000', 'hex'));
    const got: Buffer[] = [];
    plain.on('data', (data) => got.push(data));
    await new Promise<void>((resolve) => plain.once('close', () => resolve()));
    expect(Buffer.concat(got)[0]).not.toBe(0x20);
  });

  it('cuts a packet above the cap over TLS too', async () => {
    const { url } = await start();
    const keypad = await watch(url(), { ...login, ca: ca() }, []);
    const closed = new Promise<void>((resolve) => keypad.client.once('close', () => resolve()));
    keypad.client.publish(`${root}/cmd/query`, Buffer.alloc(300 * 1024));
    await closed;
    await keypad.client.endAsync(true);
  });

  it('shows a renewed certificate without a cut', async () => {
    let names = ['127.0.0.1'];
    const { url, port } = await start(30, () => names);
    const keypad = await watch(url(), { ...login, ca: ca() }, []);
    expect(await shown(port())).not.toContain('box.example');
    names = ['127.0.0.1', 'box.example'];
    let seen = '';
    await until(() => {
      void shown(port()).then((text) => {
        seen = text;
      });
      return seen.includes('box.example');
    }, 'the new certificate');
    expect(keypad.client.connected).toBe(true);
    await keypad.client.endAsync(true);
  });

  it('ends while its certificate is being made anew', async () => {
    const asked = Promise.withResolvers<void>();
    let times = 0;
    broker = createBroker({
      ...{ slug, users, log: memoryLog().log, metrics: new Registry(), renewEveryMs: 1 },
      listen: { host: '0.0.0.0', port: 0 },
      tls: (until) => {
        times += 1;
        if (times === 1) return material();
        asked.resolve();
        return new Promise((_, reject) => until.addEventListener('abort', () => reject(until.reason)));
      },
    });
    await broker.start(signal);
    await asked.promise;
    await broker.stop();
    expect(times).toBe(2);
  });

  it('ends while somebody holds a connection that never speaks', async () => {
    const { port } = await start();
    const silent = tcp(port(), '127.0.0.1');
    await new Promise<void>((resolve) => silent.once('connect', () => resolve()));
    silent.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => silent.once('close', () => resolve()));
    await broker?.stop();
    await closed;
  });

  it('is what the daemon runs beyond loopback, unless the configuration says otherwise', () => {
    const urlOf = (mqtt: object) => {
      const settings = {
        mqtt: { clients: [], names: [], tls: true, ...mqtt },
        site: { external_id: 'hq' },
        store: { dir: folder },
        panels: [],
      };
      return embeddedBroker(settings as never, [], {
        certify: certifier(),
        log: memoryLog().log,
        metrics: new Registry(),
      }).url();
    };
    expect(urlOf({ listen: '127.0.0.1:1883' })).toBe('mqtt://127.0.0.1:1883');
    expect(urlOf({ listen: '0.0.0.0:8883' })).toBe('mqtts://127.0.0.1:8883');
    expect(urlOf({ listen: '0.0.0.0:1883', tls: false })).toBe('mqtt://127.0.0.1:1883');
  });

  it('keeps key and certificate while they fit, and makes a certificate anew for other names or another authority', async () => {
    const first = await material();
    expect(await material()).toEqual(first);
    expect(statSync(serverFiles(folder).key).mode & 0o777).toBe(0o600);
    const other = await material(['127.0.0.1', 'gate.example']);
    expect([other.key === first.key, other.cert === first.cert]).toEqual([true, false]);
    rmSync(authority().key);
    const later = await material(['127.0.0.1', 'gate.example']);
    expect(later.cert).not.toBe(other.cert);
  });
});
