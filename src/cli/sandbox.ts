import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SitewardError } from '#errors.ts';
import { type CloudClient, runSandbox } from '#sandbox/index.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

interface Options {
  readonly listen: string;
  readonly client: readonly string[];
  readonly seed?: string;
  readonly state?: string;
  readonly stateDir?: string;
  readonly profile?: 'A' | 'B' | 'all';
  readonly publicUrl?: string;
  readonly control: boolean;
  readonly json: boolean;
}

/**
 * `siteward sandbox`: serves until SIGINT or SIGTERM. Without `--client` or `--seed` it makes clients and keys of its own
 * and tells how to call it. With `--json` the first line `{ url, listen }` says that it is ready.
 */
export async function sandbox(options: Options): Promise<ExitCode> {
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const cloud = await runSandbox({
    ...addressOf(options.listen),
    control: options.control,
    clients: options.client.map(clientOf),
    json: options.json,
    stateDir: options.stateDir ?? join(homedir(), '.local', 'state', 'siteward-sandbox'),
    ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
    ...(options.seed !== undefined && { seed: options.seed }),
    ...(options.state !== undefined && { stateFile: options.state }),
    ...(options.profile !== undefined && { profile: options.profile }),
    terminal: process.stdout.isTTY === true,
    print: (line) => console.log(line),
  });
  await stopped;
  await cloud.close();
  return exitCodes.ok;
}

export function addressOf(text: string): { host: string; port: number } {
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
