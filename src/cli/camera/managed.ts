import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '#lib/duration.ts';
import { deviceId, zoneTypes } from '#site/model/index.ts';
import { wrong } from '../usage.ts';
import { configOption, type Verbs } from '../verb.ts';

/** The verbs for cameras of the configuration; each is loaded when it is called. */
export function addManaged(camera: Command, { socket, done }: Verbs): void {
  const config = (verb: Command) => verb.addOption(configOption());
  /** Of the verbs that speak to a device. */
  const access = (verb: Command): Command =>
    verb
      .option('--user <name>', 'user of the camera; its password is asked for')
      .option('--password-file <file>', 'read the password from this file instead of asking')
      .option('--password-stdin', 'read the password from standard input instead of asking', false);
  const change = (verb: Command): Command =>
    config(verb)
      .option('--dry-run', 'look at the camera and show what would be written', false)
      .option('--reload', 'have the running daemon take it at once', false)
      .option('--json', 'print one JSON object', false)
      .addOption(socket())
      // What is typed here stands in the history of the shell and in the list of processes.
      .addOption(new Option('--password [password]').hideHelp());

  change(
    access(
      camera
        .command('add')
        .description('add a camera or recorder to the configuration, once it was reached and let siteward in')
        .argument('<address>', 'IP address, HOST:PORT or URL of its device service')
        .requiredOption('--id <id>', 'its name in topics, events and logs; never changes', id)
        .option('--name <name>', 'what people call it')
        .option('--zone <number>', 'zone number that its detections open')
        .addOption(new Option('--zone-type <type>', 'what that zone does').choices(zoneTypes))
        .option('--partition <id>', 'partition of the zone')
        .option('--nvr', 'it is a recorder, or a camera with several pictures: add it with all its channels', false),
    ),
  ).action(async (address: string, options, command: Command) => {
    refuseTyped(command, options);
    if (options.nvr && (options.zone ?? options.zoneType ?? options.partition) !== undefined)
      wrong(command, 'the zones of a recorder are those of its channels: write them into the lines that --nvr adds');
    done(await (await import('./add.ts')).add(address, options));
  });
  config(camera.command('list').description('list the cameras and recorders with their state'))
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./list.ts')).list(options)));
  change(
    access(camera.command('replace').description('put another device in the place of one; its id, name and zone stay'))
      .argument('<id>', 'id of the camera or recorder')
      .argument('<address>', 'IP address, HOST:PORT or URL of the new one')
      .option(
        '--anyway',
        'try a password also while the daemon rests after a refusal, at the risk of a locked account',
        false,
      ),
  ).action(async (name: string, address: string, options, command: Command) => {
    refuseTyped(command, options);
    done(await (await import('./replace.ts')).replace(name, address, options));
  });
  config(camera.command('remove').description('take a camera or recorder out of the configuration'))
    .argument('<id>', 'its id')
    .option('--yes', 'do not ask', false)
    .option('--reload', 'have the running daemon take it at once', false)
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (name: string, options) => done(await (await import('./remove.ts')).remove(name, options)));
  camera
    .command('snapshot')
    .description('take a picture, where the setting "pictures" of the camera allows one')
    .argument('<id>', 'id of the camera or channel')
    .requiredOption('-o, --out <file>', 'a new file for the picture')
    .option('--force', 'replace the file', false)
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (name: string, options) => done(await (await import('./snapshot.ts')).snapshot(name, options)));
  camera
    .command('events')
    .description('show what a camera says and what siteward makes of it, as it comes')
    .argument('<id>', 'id of the camera, recorder or channel')
    .option('--for <time>', 'how long, such as 30s or 5m; 0s shows only what was said last', time, 60_000)
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (name: string, options) =>
      done(await (await import('./events.ts')).events(name, { ...options, forMs: options.for })),
    );
  config(
    camera
      .command('trust')
      .description('accept the certificate a camera shows now, or the device that answers, after it was changed'),
  )
    .argument('<id>', 'id of the camera or recorder')
    .option('--fingerprint <sha256>', 'the one that was compared; without it siteward asks')
    .option('--device <name>', 'the device that answers now, as it was shown; without it siteward asks')
    .option('--reload', 'where the configuration names the certificate: have the running daemon take it at once', false)
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (name: string, options) => done(await (await import('./trust.ts')).trust(name, options)));
}

function refuseTyped(
  command: Command,
  options: {
    readonly password?: unknown;
    readonly user?: string;
    readonly passwordStdin: boolean;
    readonly passwordFile?: string;
  },
): void {
  if (options.password !== undefined)
    wrong(
      command,
      'a password is no argument, where others can read it: it is asked for, or read with --password-file or --password-stdin',
    );
  if (options.user === undefined && (options.passwordStdin || options.passwordFile !== undefined))
    wrong(command, 'a password needs a user: say --user NAME');
}

function id(text: string): string {
  if (!deviceId.safeParse(text).success)
    throw new InvalidArgumentError('It must be 1 to 32 lower-case letters, digits, _ or -.');
  return text;
}

function time(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms > 3_600_000)
    throw new InvalidArgumentError('It must be a time such as 30s or 5m, at most 1h.');
  return ms;
}
