import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '#sandbox/demo/processes.ts';
import { program } from '../harness/program.ts';
import { send } from './http.ts';

/** Where the service is, and what was given for what only a control path could make. */
export interface Target {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly extUrl: string;
  /** The `aud` of assertions. */
  readonly audience: string;
  readonly control: boolean;
  /** Whether this suite started the service and may do with it what it likes. */
  readonly own: boolean;
  /** Whether calls that act in the world may be made: arm, play, send a guard. */
  readonly actions: boolean;
  readonly given: Given;
  stop(): Promise<void>;
}

/** Set by `tools/conformance.ts`; each is one of its options. Secrets come by the name of an environment variable. */
export interface Given {
  readonly partnerToken: string | undefined;
  readonly userToken: string | undefined;
  readonly eventToken: string | undefined;
  readonly apiKey: string | undefined;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly eventClientId: string | undefined;
  readonly eventKey: string | undefined;
  readonly dealer: string | undefined;
  readonly site: string | undefined;
  readonly reference: string | undefined;
  readonly device: string | undefined;
  readonly partition: string | undefined;
}

const option = (name: string): string | undefined => process.env[`CONFORMANCE_${name}`] || undefined;

const secret = (name: string): string | undefined => {
  const variable = option(name);
  return variable === undefined ? undefined : process.env[variable];
};

const given = (): Given => ({
  partnerToken: secret('PARTNER_TOKEN_ENV'),
  userToken: secret('USER_TOKEN_ENV'),
  eventToken: secret('EVENT_TOKEN_ENV'),
  apiKey: secret('API_KEY_ENV'),
  clientId: option('CLIENT_ID'),
  clientSecret: secret('CLIENT_SECRET_ENV'),
  eventClientId: option('EVENT_CLIENT_ID'),
  eventKey: readOption('EVENT_KEY_FILE'),
  dealer: option('DEALER'),
  site: option('SITE'),
  reference: option('ACCOUNT_REFERENCE'),
  device: option('DEVICE'),
  partition: option('PARTITION'),
});

function readOption(name: string): string | undefined {
  const file = option(name);
  return file === undefined ? undefined : readFileSync(file, 'utf8');
}

/** The service the options name; without any, `siteward sandbox --control` as a process of its own. */
export async function openTarget(): Promise<Target> {
  const base = option('BASE_URL');
  if (base === undefined) {
    const sandbox = await startSandbox(['--control']);
    const { url, stop } = sandbox;
    const everywhere = { baseUrl: url, authUrl: url, extUrl: url, audience: url };
    return { ...everywhere, control: true, own: true, actions: true, given: given(), stop };
  }
  const baseUrl = trimmed(base);
  const authUrl = trimmed(option('AUTH_URL') ?? base);
  // A service that is not there must not pass for one whose rules were all skipped.
  const probed = await send('GET', `${baseUrl}/__sandbox/log`).catch((cause: unknown) => {
    throw new Error(`nothing answers at ${baseUrl}`, { cause });
  });
  const control = option('NO_CONTROL') === undefined && probed.status === 200;
  return {
    baseUrl,
    authUrl,
    extUrl: trimmed(option('EXT_URL') ?? base),
    audience: option('AUDIENCE') ?? authUrl,
    control,
    own: false,
    actions: control || option('ALLOW_ACTIONS') !== undefined,
    given: given(),
    stop: async () => undefined,
  };
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');

/** The real command on a free port, with a state folder that goes with it. */
export async function startSandbox(
  flags: readonly string[],
  seed?: object,
): Promise<{ url: string; stop(): Promise<void> }> {
  const state = mkdtempSync(join(tmpdir(), 'siteward-conformance-'));
  const args = [program, 'sandbox', '--json', '--listen', '127.0.0.1:0', '--state-dir', state, ...flags];
  if (seed !== undefined) {
    writeFileSync(join(state, 'seed.json'), JSON.stringify(seed));
    args.push('--seed', join(state, 'seed.json'));
  }
  const running = startProcess({ name: 'sandbox', args });
  const stop = async () => {
    await running.stop();
    rmSync(state, { recursive: true, force: true });
  };
  try {
    const url = await running.until((line) => /"url":"([^"]+)"/.exec(line)?.[1], 'its address', 60_000);
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
