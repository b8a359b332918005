import { describe } from '#errors.ts';
import {
  type CloudClient,
  defaultSeed,
  type LogLine,
  type SandboxCloud,
  type Seed,
  startCloud,
} from './cloud/index.ts';
import { type GreetingFacts, greeting } from './greeting.ts';
import { type Kept, keptIn, keptKey, randomToken } from './kept.ts';
import { clientsOf, readSeed } from './seed-file.ts';

export interface SandboxOptions {
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Serves `/__sandbox/*` to loopback peers. */
  readonly control: boolean;
  /** Folder for keys and tokens the sandbox makes itself (files of mode 0600); they are kept for the next start. */
  readonly stateDir: string;
  readonly publicUrl?: string;
  /** JSON file with clients, dealers and dialect; without it there is a dealer with one site. */
  readonly seed?: string;
  /** File that keeps dealers and everything below them; in memory when absent. */
  readonly stateFile?: string;
  /** Kind of integration that is served (S-075); wins over the seed's dialect. */
  readonly profile?: 'A' | 'B' | 'all';
  /** Clients beside the seed's; without any client one with a key of its own is made. */
  readonly clients?: readonly CloudClient[];
  /** Prints JSON lines for programs: first `{"url","listen"}`, then one per request. */
  readonly json?: boolean;
  /** Whether `print` writes to a terminal: tokens are shown there and nowhere else. */
  readonly terminal?: boolean;
  readonly print: (line: string) => void;
}

const bridge = 'bridge-1';
const partner = 'partner-1';
const files = { key: `${bridge}.key.pem`, secret: `${partner}.secret`, apiKey: 'api-key', users: 'user-tokens.json' };
const yearS = 365 * 24 * 3600;

/**
 * What `siteward sandbox` does: starts the cloud, prints its addresses and how to call it, then one line per request.
 * Throws `state_dir_unusable`, `config_unreadable` and `config_invalid` (seed, state), and what listening throws.
 */
export async function runSandbox(options: SandboxOptions): Promise<SandboxCloud> {
  const { json = false, print } = options;
  const seed = options.seed === undefined ? defaultSeed() : await readSeed(options.seed);
  const kept = keptIn(options.stateDir);
  const clients = await clientsFor(options, seed, kept);
  const host = options.host ?? '127.0.0.1';
  const cloud = await startCloud({
    listen: { host, port: options.port },
    control: options.control,
    clients,
    dealers: seed.dealers,
    dialect: { ...seed.dialect, ...(options.profile === undefined ? {} : { profile: options.profile }) },
    log: (line) => print(json ? JSON.stringify(line) : logText(line)),
    stateFailed: (error) => print(json ? JSON.stringify({ error: describe(error) }) : describe(error)),
    ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
    ...(options.stateFile === undefined ? {} : { stateFile: options.stateFile }),
  });
  try {
    if (json) print(JSON.stringify({ url: cloud.url, listen: `http://${host}:${cloud.port}` }));
    else await greet(cloud, { options, clients, kept });
    return cloud;
  } catch (error) {
    await cloud.close();
    throw error;
  }
}

/** The given ones. A bridge with a key of its own when there is none; a partner beside it unless a seed was given. */
async function clientsFor(options: SandboxOptions, seed: Seed, kept: Kept): Promise<CloudClient[]> {
  const given = [...clientsOf(seed), ...(options.clients ?? [])];
  const own: CloudClient[] = [];
  if (given.length === 0) own.push({ clientId: bridge, publicKeyPem: await keptKey(kept, files.key) });
  // Programs ask the control path for tokens: nothing of theirs is left on the disk.
  if (options.seed === undefined && options.json !== true) {
    own.push({ clientId: partner, clientSecret: await kept.text(files.secret, randomToken) });
  }
  return [...given, ...own];
}

async function greet(
  cloud: SandboxCloud,
  { options, clients, kept }: { options: SandboxOptions; clients: readonly CloudClient[]; kept: Kept },
): Promise<void> {
  const apiKey = await kept.text(files.apiKey, randomToken);
  cloud.issueToken('api_key', { token: apiKey, lifetimeS: 100 * yearS });
  const users = cloud
    .dealers()
    .map(({ dealer_id }) => [dealer_id, cloud.issueToken('user', { dealer: dealer_id, lifetimeS: yearS })] as const);
  // One user token per dealer, for `connect` (S-033): only in this file.
  await kept.write(files.users, `${JSON.stringify(Object.fromEntries(users), null, 2)}\n`);
  const ids = new Set(clients.map((client) => client.clientId));
  const shown: GreetingFacts = {
    clients: [...ids],
    control: options.control,
    secretFile: options.seed === undefined ? kept.file(files.secret) : undefined,
    files: [
      ...(options.seed === undefined && (options.clients ?? []).length === 0 && ids.has(bridge)
        ? [[`private key of ${bridge}`, kept.file(files.key)] as const]
        : []),
      ...(options.seed === undefined ? [[`secret of ${partner}`, kept.file(files.secret)] as const] : []),
      ['API key', kept.file(files.apiKey)],
      ['user tokens, by dealer', kept.file(files.users)],
    ],
    tokens:
      options.terminal === true ? { partner: cloud.issueToken('partner', { lifetimeS: 3600 }), apiKey } : undefined,
  };
  for (const line of greeting(cloud, shown)) options.print(line);
}

/** One request as a line for people. */
function logText(line: LogLine): string {
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
