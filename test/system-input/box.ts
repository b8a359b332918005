import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SandboxCloud, startCloud } from '#sandbox/cloud/index.ts';
import { freePort, member, startProcess } from '#sandbox/demo/processes.ts';
import { certificate } from '../harness/certificate.ts';
import { type Lan, watchLan } from '../harness/lan.ts';
import { main } from '../harness/site.ts';
import { wallClock } from '../harness/wall-clock.ts';

/** Anna's. */
export const code = '2580';

export interface Box {
  readonly lan: Lan;
  /** The daemon's control socket. */
  readonly socket: string;
  /** Moves the daemon's wall clock so far from the true time, seconds. Only of one that was started with a clock. */
  setClock(offsetS: number): void;
  lines(): readonly string[];
  close(): Promise<void>;
}

interface Options {
  readonly timezone: string;
  /** Sections `partitions` and further ones, as YAML. */
  readonly yaml: string;
  /** Gives the daemon a wall clock of its own, so far from the true time, seconds. */
  readonly clockS?: number;
}

/** The real daemon of a small site: the embedded broker, one user, no cloud. */
export const startBox = (options: Options): Promise<Box> => started(options, undefined);

/** The same with the cloud over TLS, whose certificate the daemon checks: its clock can be synced. */
export async function startBoxWithCloud(options: Options): Promise<Box & { readonly cloud: SandboxCloud }> {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const folder = mkdtempSync(join(tmpdir(), 'siteward-box-cloud-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const tls = certificate(folder);
    const keyFile = join(folder, 'event-key.pem');
    writeFileSync(keyFile, pair.privateKey, { mode: 0o600 });
    const clients = [{ clientId: 'bridge-1', publicKeyPem: pair.publicKey }];
    const cloud = await startCloud({ listen: { host: '127.0.0.1', port: 0 }, tls, clients });
    try {
      const box = await started(options, { url: cloud.url, keyFile, authority: tls.file });
      return {
        ...box,
        cloud,
        async close() {
          await box.close();
          await cloud.close();
          remove();
        },
      };
    } catch (error) {
      await cloud.close();
      throw error;
    }
  } catch (error) {
    remove();
    throw error;
  }
}

async function started(
  { timezone, yaml, clockS }: Options,
  cloud: { url: string; keyFile: string; authority: string } | undefined,
): Promise<Box> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-box-'));
  const ends: (() => Promise<unknown>)[] = [async () => rmSync(folder, { recursive: true, force: true })];
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    const port = await freePort();
    const [config, socket, state] = [
      join(folder, 'siteward.yaml'),
      join(folder, 'control.sock'),
      join(folder, 'state'),
    ];
    mkdirSync(state, { mode: 0o700 });
    const events = `{ client_id: bridge-1, private_key: { file: ${cloud?.keyFile} } }`;
    writeFileSync(
      config,
      `site:   { id: "4711", external_id: box, timezone: ${timezone} }
bridge: { external_id: sw-box }
${cloud === undefined ? '' : `cloud:  { base_url: ${cloud.url}, auth_url: ${cloud.url}, events: ${events} }`}
mqtt:   { broker: embedded, listen: "127.0.0.1:${port}" }
http:   { control_socket: ${socket} }
store:  { dir: ${state} }
users:  [ { id: anna, name: Anna, code: { env: BOX_CODE } } ]
${yaml}`,
    );
    const clock = clockS === undefined ? undefined : wallClock(folder, clockS);
    const daemon = startProcess({
      name: 'siteward',
      args: [main, 'run', '--config', config],
      env: { ...clock?.env, ...(cloud && { NODE_EXTRA_CA_CERTS: cloud.authority }), BOX_CODE: code },
    });
    ends.push(() => daemon.stop());
    await daemon.until((text) => (member(text, 'msg') === 'ready' ? true : undefined), 'start', 30_000);
    const lan = await watchLan({ url: `mqtt://127.0.0.1:${port}`, root: 'siteward/1/box' });
    ends.push(() => lan.close());
    const setClock = (offsetS: number) => {
      if (clock === undefined) throw new Error('this box has no clock of its own');
      clock.set(offsetS);
    };
    return { lan, socket, setClock, lines: () => daemon.lines(), close };
  } catch (error) {
    await close();
    throw error;
  }
}
