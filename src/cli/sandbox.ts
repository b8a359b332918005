import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { type CloudClient, logText, runSandbox, type SandboxCloud, startCloud } from '#sandbox/index.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

interface Options {
  readonly listen: string;
  readonly client: readonly string[];
  readonly seed?: string;
  readonly stateDir?: string;
  readonly publicUrl?: string;
  readonly control: boolean;
  readonly json: boolean;
}

/**
 * `siteward sandbox`: serves until SIGINT or SIGTERM. Without `--client` or `--seed` it makes a client and a key of its
 * own and tells how to call it. With `--json` the line `{ listen, url }` says that it is ready.
 */
export async function sandbox(options: Options): Promise<ExitCode> {
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const at = addressOf(options.listen);
  const cloud = options.client.length > 0 ? await withClients(options, at) : await withSeed(options, at);
  const host = at.host.includes(':') ? `[${at.host}]` : at.host;
  const listen = `http://${host}:${cloud.port}`;
  if (options.json) console.log(JSON.stringify({ listen, url: cloud.url }));
  else if (options.client.length > 0) console.log(`sandbox cloud at ${cloud.url}`);
  await stopped;
  await cloud.close();
  return exitCodes.ok;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

function withClients(options: Options, listen: Address): Promise<SandboxCloud> {
  return startCloud({
    listen,
    clients: options.client.map(clientOf),
    control: options.control,
    ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
    log: (line) => console.log(options.json ? JSON.stringify(line) : logText(line)),
  });
}

function withSeed(options: Options, { host, port }: Address): Promise<SandboxCloud> {
  return runSandbox({
    host,
    port,
    control: options.control,
    stateDir: options.stateDir ?? join(homedir(), '.local', 'state', 'siteward-sandbox'),
    ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
    ...(options.seed !== undefined && { seed: options.seed }),
    print: (line) => console.log(options.json ? JSON.stringify({ text: line }) : line),
  });
}

function addressOf(text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || Number(match?.[3]) > 65_535) {
    throw new SitewardError('config_invalid', `--listen ${text} is no HOST:PORT, such as 127.0.0.1:8080`);
  }
  return { host, port: Number(match?.[3]) };
}

/** `ID=FILE`. The file may hold the private key too, as the configuration of siteward names it: only its public half is used. */
function clientOf(text: string): CloudClient {
  const [clientId, file] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)];
  try {
    if (clientId === '') throw new Error('the form is ID=FILE');
    const key = createPublicKey(readFileSync(file));
    return { clientId, publicKeyPem: key.export({ type: 'spki', format: 'pem' }).toString() };
  } catch (cause) {
    throw new SitewardError('config_invalid', `--client ${clientId}: the key cannot be used`, { cause });
  }
}
