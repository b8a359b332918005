import type { CameraEntry } from '#lan/http/index.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { openSiteFile } from '../site-file.ts';
import { formatSpan, table } from '../table.ts';
import { placesOf } from './config.ts';
import { camerasOrWhy } from './entries.ts';

/** `siteward camera list`. Without a daemon it shows what the configuration says, and that nobody watches. */
export async function list(options: { config: string; socket: string; json: boolean }): Promise<ExitCode> {
  const known = await camerasOrWhy(options.socket);
  const cameras = typeof known === 'string' ? configured(options.config) : known;
  if (options.json) for (const camera of cameras) console.log(JSON.stringify(camera));
  else if (cameras.length === 0) console.log('the configuration has no cameras; "siteward camera add" adds one');
  else for (const camera of cameras) console.log(described(camera, Date.now()));
  if (typeof known === 'string') console.error(`siteward: only the configuration is shown: ${known}`);
  return exitCodes.ok;
}

/** As the daemon would show it, with nothing known. */
function configured(file: string): readonly CameraEntry[] {
  const { settings } = openSiteFile(file);
  return placesOf(settings).map(({ id, kind, nvr, url }) => ({
    ...{ id, kind, url, name: id, partitions: [] },
    ...(nvr !== undefined && { nvr }),
    ...{ reachable: null, authenticated: null, events: null, unknown_topics: 0, troubles: [] },
  }));
}

/** A line, and below it what somebody should look at. */
function described(camera: CameraEntry, now: number): string {
  const { id, name, kind, nvr, manufacturer = '', model = '', url } = camera;
  const what = kind === 'channel' ? `channel of ${nvr ?? ''}` : `${manufacturer} ${model}`.trim();
  const head = [id, name === id ? '' : name, stateOf(camera), what, kind === 'channel' ? '' : url];
  const lines = [table([head.filter((cell) => cell !== '')])];
  const facts = [
    ...ageOf('last event', camera.last_event, now),
    ...ageOf('last picture', camera.last_picture, now),
    ...(camera.clock_offset_s === undefined ? [] : [clockOf(camera.clock_offset_s)]),
    ...(camera.firmware === undefined ? [] : [`firmware ${camera.firmware}`]),
    ...(camera.mapping === 'guessed' ? ['which events are its own is guessed'] : []),
    ...(camera.zone === undefined ? [] : [`zone ${camera.zone}`]),
  ];
  if (facts.length > 0) lines.push(`    ${facts.join(', ')}`);
  if (camera.reason !== undefined) lines.push(`    ${camera.reason}`);
  for (const { kind: trouble, since } of camera.troubles)
    lines.push(`    ${trouble.replaceAll('_', ' ')} since ${since}`);
  for (const hint of camera.hints ?? []) lines.push(`    ${hint}`);
  if (camera.unknown_topics > 0)
    lines.push(`    ${camera.unknown_topics} kinds of messages are not known; "siteward status" lists them`);
  return lines.map((line) => line.replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, ' ')).join('\n');
}

/** Of channels. */
const channelStates: Readonly<Record<string, string>> = {
  no_signal: 'NO PICTURE',
  gone: 'NOT THERE',
  doubtful: 'MAY BE ANOTHER ONE',
};

function stateOf({ kind, state = '', reachable, authenticated, events, ...more }: CameraEntry): string {
  const own = kind === 'channel' ? channelStates[state] : undefined;
  if (own !== undefined) return own;
  if (authenticated === false) return 'PASSWORD REFUSED';
  if (more.certificate_refused === true) return 'OTHER CERTIFICATE';
  if (reachable === false) return 'NOT REACHED';
  if (events === false) return 'NO EVENTS';
  if (events === true) return 'events arrive';
  return reachable === true ? 'reached' : 'not known';
}

function ageOf(what: string, at: string | undefined, now: number): string[] {
  return at === undefined ? [] : [`${what} ${formatSpan((now - Date.parse(at)) / 1000)} ago`];
}

const clockOf = (seconds: number): string =>
  Math.abs(seconds) < 2
    ? 'clock right'
    : `clock ${Math.abs(Math.round(seconds))} s ${seconds > 0 ? 'ahead' : 'behind'}`;
