import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '#lib/duration.ts';
import { wrong } from '../usage.ts';
import { configOption, type Verbs } from '../verb.ts';
import { addManaged } from './managed.ts';

/** The verbs of `siteward camera`, in the order of `--help` and of docs/cli.md. */
export function addCamera(program: Command, verbs: Verbs): void {
  const camera = program.command('camera').description('find, try and manage cameras and recorders');
  addDiscover(camera, verbs);
  addTest(camera, verbs);
  addManaged(camera, verbs);
}

function addDiscover(camera: Command, { done, socket }: Verbs): void {
  camera
    .command('discover')
    .description('find cameras and recorders on the network; nothing is added by itself')
    .argument(
      '[address...]',
      'ask only these: 192.0.2.10, 192.0.2.0/24, 192.0.2.10-40, an IPv6 address, a host name, HOST:PORT or http://...',
    )
    .option('--json', 'print one JSON object per line', false)
    .option('--for <time>', 'how long to wait for answers, 1s to 60s; 5s, or 2s where addresses are given', waiting)
    .option('--interface <name>', 'ask on this network interface only')
    .addOption(configOption('configuration file, to tell what is in it already'))
    .addOption(socket())
    .action(async (addresses: string[], options) =>
      done(await (await import('./discover.ts')).discoverCameras({ ...options, addresses, forMs: options.for })),
    );
}

function addTest(camera: Command, { done, socket }: Verbs): void {
  camera
    .command('test')
    .description('go through all that siteward needs of one, step by step, and say what to do where it fails')
    .argument('<camera>', 'id of a configured one; or its address: 192.0.2.10, HOST:PORT or http://...')
    .option('--user <name>', 'user of the camera; its password is asked for')
    .option('--password-file <file>', 'read the password from this file instead of asking')
    .option('--password-stdin', 'read the password from standard input instead of asking', false)
    .option(
      '--anyway',
      'try a password also while the daemon rests after a refusal, at the risk of a locked account',
      false,
    )
    .option('--json', 'print one JSON object', false)
    .addOption(configOption())
    .addOption(socket())
    // What is typed here stands in the history of the shell and in the list of processes.
    .addOption(new Option('--password [password]').hideHelp())
    .allowExcessArguments(true)
    .action(async (target: string, options, command: Command) => {
      if (options.password !== undefined || command.args.length > 1)
        wrong(command, 'a password is no argument, where others can read it: say --user, and it is asked for');
      done(await (await import('./test.ts')).testCamera({ ...options, target }));
    });
}

function waiting(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 1000 || ms > 60_000) throw new InvalidArgumentError('It must be 1s to 60s.');
  return ms;
}
