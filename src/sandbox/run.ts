import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { describe, SitewardError } from '#errors.ts';
import { type CloudClient, type LogLine, type SandboxCloud, startCloud } from './cloud/index.ts';

export interface SandboxOptions {
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Serves `/__sandbox/*` to loopback peers. */
  readonly control: boolean;
  /** Folder for the demo client's private key (mode 0600); made if absent, the key is kept for the next start. */
  readonly stateDir: string;
  readonly publicUrl?: string;
  /** JSON file with `clients`. */
  readonly seed?: string;
  /** Clients beside the seed's; without any client one with a key of its own is made. */
  readonly clients?: readonly CloudClient[];
  /** Prints JSON lines for programs: first `{"url","listen"}`, then one per request. */
  readonly json?: boolean;
  readonly print: (line: string) => void;
}

const seedSchema = z.looseObject({
  clients: z
    .array(
      z.looseObject({
        client_id: z.string().min(1),
        public_key_pem: z.string().optional(),
        kid: z.string().optional(),
        client_secret: z.string().optional(),
        may_ingest: z.boolean().optional(),
      }),
    )
    .min(1),
});

const demoClient = 'bridge-1';

/**
 * What `siteward sandbox` does: starts the cloud, prints its addresses and how to call it, then one line per request.
 * Throws `state_dir_unusable`, `config_unreadable` and `config_invalid` (seed), and what listening throws.
 */
export async function runSandbox(options: SandboxOptions): Promise<SandboxCloud> {
  const given = [...(options.seed === undefined ? [] : await readSeed(options.seed)), ...(options.clients ?? [])];
  const keyFile = join(options.stateDir, 'bridge-1.key.pem');
  const clients =
    given.length > 0 ? given : [{ clientId: demoClient, publicKeyPem: await demoKey(options.stateDir, keyFile) }];
  const cloud = await startCloud({
    listen: { host: options.host ?? '127.0.0.1', port: options.port },
    control: options.control,
    clients,
    log: (line) => options.print(options.json === true ? JSON.stringify(line) : logText(line)),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
  });
  if (options.json === true) {
    options.print(JSON.stringify({ url: cloud.url, listen: `http://${options.host ?? '127.0.0.1'}:${cloud.port}` }));
    return cloud;
  }
  const key = given.length === 0 ? keyFile : undefined;
  for (const line of greeting(cloud.url, { clients, key, control: options.control })) options.print(line);
  return cloud;
}

/** The public half as PEM; the private half is made once and stays in the folder. */
async function demoKey(folder: string, file: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const known = await readFile(file, 'utf8').catch(() => undefined);
    const key =
      known === undefined ? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey : createPrivateKey(known);
    if (known === undefined) {
      await writeFile(file, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' });
    }
    return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
  } catch (cause) {
    throw new SitewardError('state_dir_unusable', `The sandbox cannot keep its demo key: ${describe(cause)}`, {
      facts: { file },
      cause,
    });
  }
}

async function readSeed(file: string): Promise<CloudClient[]> {
  const text = await readFile(file, 'utf8').catch((cause) => {
    throw new SitewardError('config_unreadable', `The seed file cannot be read: ${describe(cause)}`, { cause });
  });
  const invalid = (why: string, cause: unknown) =>
    new SitewardError('config_invalid', `The seed file is not valid: ${why}`, { facts: { file }, cause });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
  const seed = seedSchema.safeParse(json);
  if (!seed.success) throw invalid(z.prettifyError(seed.error), seed.error);
  return seed.data.clients.map((client) => ({
    clientId: client.client_id,
    ...(client.public_key_pem === undefined ? {} : { publicKeyPem: client.public_key_pem }),
    ...(client.kid === undefined ? {} : { kid: client.kid }),
    ...(client.client_secret === undefined ? {} : { clientSecret: client.client_secret }),
    ...(client.may_ingest === undefined ? {} : { mayIngest: client.may_ingest }),
  }));
}

/** One request as a line for people. */
export function logText(line: LogLine): string {
  const parts = [
    line.at.slice(11, 23),
    String(line.status ?? 'cut').padEnd(3),
    line.method.padEnd(4),
    line.path,
    `${line.ms} ms`,
    line.client,
    line.note,
    line.fault === undefined ? undefined : `(planted fault: ${line.fault})`,
  ];
  return parts.filter((part) => part !== undefined).join('  ');
}

function greeting(
  url: string,
  options: { clients: readonly CloudClient[]; key: string | undefined; control: boolean },
): string[] {
  const form = "-H 'content-type: application/x-www-form-urlencoded'";
  const lines = [
    `sandbox cloud at ${url}`,
    `  base_url and auth_url: ${url}    audience of assertions: ${url}`,
    `  clients: ${[...new Set(options.clients.map((client) => client.clientId))].join(', ')}`,
    ...(options.key === undefined ? [] : [`  private key of ${demoClient}: ${options.key}`]),
    'how to call it:',
    `  curl ${form} --data-urlencode grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer --data-urlencode "assertion=$ASSERTION" ${url}/oauth/token`,
    `  curl -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' --data @event.json ${url}/partner/v1/events`,
  ];
  if (!options.control) return [...lines, 'control path: off (start with --control)'];
  return [
    ...lines,
    'control path, from this machine only:',
    `  curl ${url}/__sandbox/events        (also: uploads, log, faults)`,
    `  curl -H 'content-type: application/json' --data '{"path":"/partner/v1/events","mode":"status","status":503,"count":1}' ${url}/__sandbox/faults`,
    `  curl -X DELETE ${url}/__sandbox/faults    curl -X POST ${url}/__sandbox/revoke    curl -X POST ${url}/__sandbox/reset`,
  ];
}
