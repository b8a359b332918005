import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import type { StatusDocument } from '#lan/http/index.ts';
import { eventually, freePort, member, startProcess } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { main } from '../harness/site.ts';
import { clockAt, faketime, whyNoFaketime } from '../harness/wall-clock.ts';

const day = 86_400;

/** The certificate that a daemon shows whose clock is so many days ahead, and the authority it hands out. */
async function shown(
  config: string,
  socket: string,
  days: number,
): Promise<{ server: X509Certificate; ca: X509Certificate }> {
  const clock = clockAt(days * day);
  // The daemon hands openssl nothing of its own environment.
  const tools = join(dirname(config), `tools-${days}`);
  mkdirSync(tools);
  const words = Object.entries(clock).map(([name, value]) => `${name}='${value}'`);
  writeFileSync(join(tools, 'openssl'), `#!/bin/sh\n${words.join(' ')} exec /usr/bin/openssl "$@"\n`, { mode: 0o755 });
  const daemon = startProcess({
    name: 'siteward',
    args: [main, 'run', '--config', config],
    env: { ...clock, PATH: `${tools}:${process.env.PATH}` },
  });
  try {
    await daemon.until((text) => (member(text, 'msg') === 'ready' ? true : undefined), 'start', 30_000);
    const port = await eventually('it listens', async () => {
      const { parts } = JSON.parse((await askSocket(socket, 'GET', '/api/v1/status')).text) as StatusDocument;
      const listen = parts.find(({ name }) => name === 'http')?.facts?.listen;
      return typeof listen === 'string' && listen !== '' ? Number(listen.split(':').at(-1)) : undefined;
    });
    const [server, ca] = await new Promise<[X509Certificate, X509Certificate]>((resolve, reject) => {
      const line = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
        const own = new X509Certificate(line.getPeerX509Certificate()?.raw ?? '');
        const chunks: Buffer[] = [];
        line.on('data', (chunk) => chunks.push(chunk));
        line.once('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve([own, new X509Certificate(text.slice(text.indexOf('-----BEGIN')))]);
        });
        line.write('GET /ca.crt HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
      });
      line.once('error', reject);
    });
    return { server, ca };
  } finally {
    await daemon.stop();
  }
}

const isGoodOn = ({ validFromDate, validToDate }: X509Certificate, days: number): boolean => {
  const at = Date.now() + days * day * 1000;
  return validFromDate.getTime() <= at && at <= validToDate.getTime();
};

it.skipIf(faketime === undefined)(
  `900 days later phones go on trusting the same authority${whyNoFaketime}`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'siteward-year-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'state'), { mode: 0o700 });
    const [config, socket] = [join(folder, 'siteward.yaml'), join(folder, 'control.sock')];
    writeFileSync(
      config,
      `site:   { id: "4711", external_id: year, timezone: Europe/Berlin }
bridge: { external_id: sw-year }
mqtt:   { broker: embedded, listen: "127.0.0.1:${await freePort()}" }
http:   { control_socket: ${socket}, listen: "127.0.0.1:0" }
store:  { dir: ${join(folder, 'state')} }
partitions: [ { id: p1, name: Shop } ]
`,
    );
    const first = await shown(config, socket, 0);
    expect([isGoodOn(first.server, 0), isGoodOn(first.server, 900)]).toEqual([true, false]);
    const later = await shown(config, socket, 900);
    expect(later.ca.fingerprint256).toBe(first.ca.fingerprint256);
    expect(later.server.fingerprint256).not.toBe(first.server.fingerprint256);
    expect(later.server.verify(first.ca.publicKey)).toBe(true);
    expect([isGoodOn(later.server, 900), isGoodOn(later.ca, 900)]).toEqual([true, true]);
  },
  120_000,
);
