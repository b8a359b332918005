import { type Examined, examine, readTargets, type Step, serviceAt } from '#devices/onvif/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import { type ExitCode, exitCodes, exitOfCode } from '../exit-codes.ts';
import { printable } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { mayTry } from './held.ts';
import { cameraPassword, type PasswordOptions } from './password.ts';
import { type ConfiguredDevice, configuredDevice } from './settings.ts';

export interface TestOptions extends PasswordOptions {
  readonly target: string;
  readonly anyway: boolean;
  readonly socket: string;
  readonly json: boolean;
  readonly config: string;
}

/**
 * `siteward camera test`: everything siteward needs of a camera, step by step, with what to do where it fails. Ends
 * with the code of the first failed step. Talks to the camera itself and needs no daemon.
 */
export async function testCamera(options: TestOptions): Promise<ExitCode> {
  using stopped = untilStopped();
  const { signal } = stopped;
  const configured = configuredDevice(options.target, options.config);
  const device = await deviceOf(options, configured, signal);
  if (device.username !== undefined && !options.anyway) await mayTry(device.url, options.socket);
  if (configured !== undefined) warnOfDaemon(configured.id);
  const steps: Step[] = [];
  if (!options.json) console.log(`${configured?.id ?? 'camera'} at ${printable(device.url)}`);
  let ended = false;
  try {
    await examine({
      device,
      clock: systemClock(),
      signal,
      tell(step) {
        steps.push(step);
        if (!options.json) for (const line of linesOf(step)) console.log(line);
      },
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    ended = true;
  }
  const bad = steps.filter(({ result }) => result === 'failed');
  if (options.json) console.log(JSON.stringify(documentOf(steps, device, configured, ended)));
  else console.log(`\n${conclusion(steps, ended, configured === undefined ? device : undefined)}`);
  return ended ? exitCodes.failure : exitOf(bad[0]);
}

async function deviceOf(
  options: TestOptions,
  configured: ConfiguredDevice | undefined,
  signal: AbortSignal,
): Promise<Examined> {
  const { user } = options;
  if (user === undefined && (options.passwordFile !== undefined || options.passwordStdin))
    throw new SitewardError('request_invalid', 'a password needs its user: say --user');
  const password = await cameraPassword(options, options.target);
  const given = user === undefined ? {} : { username: user, password };
  if (configured !== undefined) return { ...configured.device(user === undefined), ...given };
  const [target, ...others] = readTargets([options.target]);
  if (target === undefined || others.length > 0)
    throw new SitewardError('request_invalid', 'one camera is tested at a time: give its address, not a range');
  if (target.url === undefined) console.error(`looking for ONVIF at ${printable(options.target)}`);
  const url = await serviceAt(target, { clock: systemClock(), signal });
  if (!URL.canParse(url))
    throw new SitewardError(
      'request_invalid',
      'a link-local IPv6 address cannot be used; give the camera an IPv4 address',
    );
  return { url, ...given };
}

const warnOfDaemon = (id: string): void =>
  console.error(
    `${id} is configured: a camera that allows only one subscription takes that of the daemon away while this runs; the daemon makes it anew within a minute`,
  );

const marks = { ok: '✓', warning: '!', failed: '✗' } as const;

const titles: Readonly<Record<Step['name'], string>> = {
  reach: 'reachable',
  certificate: 'certificate',
  onvif: 'ONVIF',
  clock: 'clock',
  login: 'user and password',
  device: 'device',
  channels: 'channels',
  streams: 'streams',
  picture: 'picture',
  topics: 'events it has',
  events: 'events',
  unsubscribe: 'subscription',
};

const linesOf = ({ name, result, text, more = [], advice = [] }: Step): readonly string[] => [
  `${marks[result]} ${titles[name]}: ${printable(text)}`,
  ...more.map((line) => `    ${printable(line)}`),
  ...advice.map((line) => `  → ${printable(line)}`),
];

function conclusion(steps: readonly Step[], ended: boolean, unknown: Examined | undefined): string {
  const bad = steps.filter(({ result }) => result === 'failed').length;
  if (ended) return 'Ended early.';
  if (bad > 0) return `${bad} step${bad === 1 ? '' : 's'} failed; what to do stands behind →.`;
  const user = unknown?.username === undefined ? '' : ` --user ${printable(unknown.username)}`;
  const add = unknown === undefined ? '' : `\nAdd it: siteward camera add ${unknown.url} --id NAME${user}`;
  return `Everything siteward needs works.${add}`;
}

const documentOf = (
  steps: readonly Step[],
  { url }: Examined,
  configured: ConfiguredDevice | undefined,
  ended: boolean,
) => ({
  url,
  configured: configured?.id ?? null,
  ok: !ended && steps.every(({ result }) => result !== 'failed'),
  complete: !ended,
  steps: steps.map(({ name, result, text, advice = [], code, facts = {} }) => ({
    step: name,
    result,
    text,
    advice,
    ...(code !== undefined && { code }),
    ...facts,
  })),
});

/** That of the first failed step; the later ones often follow from it. */
const exitOf = (first: Step | undefined): ExitCode =>
  first === undefined ? exitCodes.ok : first.code === undefined ? exitCodes.failure : exitOfCode(first.code);
