import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { SitewardError } from '#errors.ts';
import { type CloudClient, type LogLine, startCloud } from '#sandbox/index.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

interface Options {
  readonly listen: string;
  readonly client: readonly string[];
  readonly control: boolean;
  readonly json: boolean;
}

/** `siteward sandbox`: serves until SIGINT or SIGTERM. The first line says where, the others what arrived. */
export async function sandbox(options: Options): Promise<ExitCode> {
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const cloud = await startCloud({
    listen: addressOf(options.listen),
    clients: options.client.map(clientOf),
    control: options.control,
    log: (line) => console.log(options.json ? JSON.stringify(line) : forPeople(line)),
  });
  console.log(options.json ? JSON.stringify({ url: cloud.url }) : `the sandbox cloud answers on ${cloud.url}`);
  await stopped;
  await cloud.close();
  return exitCodes.ok;
}

function addressOf(text: string): { host: string; port: number } {
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

function forPeople(line: LogLine): string {
  const notes = [line.client, line.fault, line.note].filter((note) => note !== undefined).join(', ');
  return `${line.at}  ${line.status ?? 'cut'}  ${line.method} ${line.path}  ${line.ms} ms  ${notes}`.trimEnd();
}
