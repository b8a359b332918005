import { type Command, InvalidArgumentError, type Option } from 'commander';
import { parseDuration } from '#lib/duration.ts';
import { addManaged } from './camera-verbs.ts';

/** What each verb of `siteward camera` is hung in with; what they do lies in camera-VERB.ts, loaded when it is called. */
export interface CameraVerbs {
  /** A new option for the control socket. */
  readonly socket: () => Option;
  readonly done: (code: number) => void;
}

const defaultConfig = '/etc/siteward/siteward.yaml';

/** The verbs of `siteward camera`, in the order of `--help` and of docs/cli.md. */
export function addCamera(program: Command, verbs: CameraVerbs): void {
  const camera = program.command('camera').description('find, try and manage cameras and recorders');
  addDiscover(camera, verbs);
  addManaged(camera, verbs);
}

function addDiscover(camera: Command, { done }: CameraVerbs): void {
  camera
    .command('discover')
    .description('find cameras and recorders on the network; nothing is added by itself')
    .argument(
      '[address...]',
      'ask only these: 192.0.2.10, 192.0.2.0/24, 192.0.2.10-40, an IPv6 address, a host name, HOST:PORT or http://...',
    )
    .option('--json', 'print one JSON object per line', false)
    .option('--for <time>', 'how long to wait for answers, 1s to 60s', waiting, 5000)
    .option('--interface <name>', 'ask on this network interface only')
    .option('--config <file>', 'configuration file, to tell what is in it already', defaultConfig)
    .action(async (addresses: string[], options) =>
      done(await (await import('./camera-discover.ts')).discoverCameras({ ...options, addresses, forMs: options.for })),
    );
}

function waiting(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 1000 || ms > 60_000) throw new InvalidArgumentError('It must be 1s to 60s.');
  return ms;
}
