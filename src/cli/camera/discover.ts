import { type Moved, type Place, placesIn } from '#box/known-cameras.ts';
import { readNeighbours } from '#box/neighbours.ts';
import {
  type Discovery,
  discover,
  type FoundDevice,
  interfaceNames,
  outlets,
  type Progress,
  readTargets,
} from '#devices/onvif/index.ts';
import { SitewardError } from '#errors.ts';
import { systemClock } from '#lib/clock.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable, table } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { camerasOrWhy } from './entries.ts';
import { configuredIn } from './known.ts';
import { jsonOf, rowOf, titles } from './rows.ts';

export interface DiscoverOptions {
  readonly addresses: readonly string[];
  readonly json: boolean;
  /** Without it 5 s, or 2 s where addresses are given: who is asked alone answers soon. */
  readonly forMs?: number;
  readonly interface?: string;
  readonly config: string;
  readonly socket: string;
}

/**
 * `siteward camera discover`: what answers as an ONVIF device, whether it wants a password, and what of it is configured.
 * Ctrl-C shows what was found until then. 1 when nothing was. Sends no credentials, adds nothing. Needs no daemon; one that
 * runs knows its cameras by more than their addresses.
 */
export async function discoverCameras(options: DiscoverOptions): Promise<ExitCode> {
  const targets = readTargets(options.addresses);
  const ways = targets.length > 0 ? [] : waysOut(options.interface);
  const forMs = options.forMs ?? (targets.length > 0 ? 2000 : 5000);
  using stopped = untilStopped();
  const line = progressLine();
  line.say(
    targets.length > 0
      ? `asking ${targets.length} ${targets.length === 1 ? 'address' : 'addresses'}; Ctrl-C shows what was found`
      : `asking on ${[...new Set(ways.map(({ name }) => name))].join(', ')} for ${forMs / 1000} s; Ctrl-C shows what was found`,
  );
  const found = await discover({
    targets,
    outlets: ways,
    forMs,
    clock: systemClock(),
    signal: stopped.signal,
    progress: line.show,
  });
  line.clear();
  for (const note of found.notes) line.say(note);
  if (!found.complete) line.say('ended early: there may be more');
  if (found.left > 0) line.say(`${found.left} answers beyond the bounds were not looked at; ask a smaller range`);
  await report(found, options, targets.length > 0);
  return found.devices.length === 0 ? exitCodes.failure : exitCodes.ok;
}

function waysOut(name: string | undefined) {
  const ways = outlets(name);
  if (ways.length > 0) return ways;
  const names = interfaceNames().join(', ') || 'none';
  throw new SitewardError(
    'request_invalid',
    name === undefined
      ? 'no network interface has an address; give the addresses to ask'
      : `there is no interface ${printable(name)} with an address; there is ${names}`,
  );
}

async function report({ devices }: Discovery, options: DiscoverOptions, asked: boolean): Promise<void> {
  const placeOf = await places(devices, options);
  if (options.json) {
    for (const device of devices) console.log(JSON.stringify(jsonOf(device, placeOf(device))));
    return;
  }
  if (devices.length === 0) return console.log(nothingFound(asked));
  console.log(table([titles, ...devices.map((device) => rowOf(device, placeOf(device)))]));
  for (const device of devices) {
    const { moved } = placeOf(device);
    if (moved?.isMissing && device.url !== undefined) console.log(movedTo(moved, device.url, device.passwordNeeded));
  }
  const isNew = (device: FoundDevice) => Object.keys(placeOf(device)).length === 0;
  const open = devices.find((device) => isNew(device) && device.url !== undefined);
  if (open !== undefined) {
    const user = open.passwordNeeded === false ? '' : ' --user NAME';
    console.log(`\nLook at one: siteward camera test ${printable(open.url ?? '')}${user}`);
  }
  if (devices.some(({ answers }) => !answers))
    console.log(
      '"no answer" behind a device: it was seen, but ONVIF did not answer there; is ONVIF switched on in it?',
    );
}

async function places(
  devices: readonly FoundDevice[],
  { config, socket }: DiscoverOptions,
): Promise<(device: FoundDevice) => Place> {
  const cameras = await camerasOrWhy(socket);
  return placesIn(devices, {
    configured: configuredIn(config),
    cameras: typeof cameras === 'string' ? [] : cameras,
    neighbours: await readNeighbours(),
  });
}

const movedTo = ({ id }: Moved, url: string, passwordNeeded?: boolean): string => `
${id} has another address than in the configuration:
  siteward camera replace ${id} ${printable(url)}${passwordNeeded === false ? '' : ' --user NAME'} --reload
Then have the router give it that address always (a DHCP reservation), or set a fixed one in the camera.`;

const nothingFound = (asked: boolean): string =>
  [
    'No camera was found.',
    ...(asked
      ? ['- Do the cameras have power, and are these their addresses? Can this machine reach that network?']
      : [
          '- Cameras answer only within one network: is this machine in theirs, with an address that fits?',
          '- Switches, VLANs and wireless access points often block multicast. Give the addresses: siteward camera discover 192.0.2.0/24',
          '- With several interfaces, ask on one for longer: --interface eth0 --for 20s',
        ]),
    '- In many cameras ONVIF is off until it is switched on in their own web page or app (Hikvision, Reolink, Tapo and others),',
    '  and it may listen at a port of its own: siteward camera discover 192.0.2.10:8899',
  ].join('\n');

/** A line that is written over on a terminal; elsewhere only what is said stays. */
function progressLine(output: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr) {
  let shown = false;
  const clear = () => {
    if (shown) output.write('\r\u001b[K');
    shown = false;
  };
  return {
    say(text: string) {
      clear();
      output.write(`${printable(text)}\n`);
    },
    show(progress: Progress) {
      if (!output.isTTY) return;
      output.write(`\r\u001b[K${words(progress)}`);
      shown = true;
    },
    clear,
  };
}

function words(progress: Progress): string {
  if (progress.step === 'asking') return `${progress.found} found`;
  return `${steps[progress.step]}: ${progress.done} of ${progress.of}`;
}

const steps = {
  knocking: 'looking who is there',
  identifying: 'looking at what answered',
  scanning: 'trying over HTTP',
} as const;
