import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { certificate } from '../harness/certificate.ts';
import { type Harness, harness } from './delivery-harness.ts';
import { json, rowOf, until } from './support.ts';

/** The token server often is another machine than the cloud: what is wrong with its certificate is told as what it is. */
let h: Harness | undefined;
let server: Server | undefined;
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-token-tls-'));
});
afterEach(async () => {
  await h?.close();
  server?.closeAllConnections();
  server?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Self-signed, from the year 2050 on: what a box that woke up in 1970 meets. */
function notYetValid(): { key: string; cert: string } {
  const [key, cert, csr, config] = ['tls.key', 'tls.crt', 'tls.csr', 'ca.cnf'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
    string,
  ];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: dir });
  writeFileSync(join(dir, 'index.txt'), '');
  writeFileSync(
    config,
    `[ca]
default_ca = own
[own]
database = ${join(dir, 'index.txt')}
new_certs_dir = ${dir}
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = IP:127.0.0.1
`,
  );
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=auth', '-keyout', key, '-out', csr);
  const valid = ['-startdate', '20500101000000Z', '-enddate', '20510101000000Z'];
  openssl(
    'ca',
    '-batch',
    '-config',
    config,
    '-selfsign',
    '-keyfile',
    key,
    '-in',
    csr,
    '-out',
    cert,
    '-notext',
    ...valid,
  );
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

async function tokenServer(pair: { key: string; cert: string }): Promise<string> {
  const made = createServer(pair, (_, response) =>
    json(response, 200, { access_token: 'token', token_type: 'Bearer', expires_in: 3600 }),
  );
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return `https://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

it('a certificate of the token server that is not valid yet is a matter of the clock, tried again within a minute', async () => {
  const pair = notYetValid();
  h = await harness({ cloud: { authUrl: await tokenServer(pair), http: { ca: [pair.cert] } } });
  const { clock, delivery, links } = h;
  await h.commit([rowOf(clock, 1)]);
  await until('it is held back', () => links.some(([up]) => !up));
  expect(links).toEqual([[false, 'clock']]);
  const began = clock.monotonic();
  await h.passTime('ten minutes are over', () => clock.monotonic() - began > 600_000, 5_000);
  expect(delivery.state()).toMatchObject({ trouble: 'clock', reason: expect.stringContaining('check the clock') });
  expect(delivery.state().nextTryMs).toBeLessThanOrEqual(61_000);
});

it('one of a signer nobody knows is somebody else on the line', async () => {
  h = await harness({ cloud: { authUrl: await tokenServer(certificate(dir)) } });
  await h.commit([rowOf(h.clock, 1)]);
  await until('it is held back', () => h?.links.some(([up]) => !up) === true);
  expect(h.links).toEqual([[false, 'intercepted']]);
});

it('an idle line is looked at and told about in the same way', async () => {
  const pair = notYetValid();
  h = await harness({ cloud: { authUrl: await tokenServer(pair), http: { ca: [pair.cert] } } });
  await until('the line was looked at', () => h?.links.some(([up]) => !up) === true);
  expect(h.links).toEqual([[false, 'clock']]);
});
