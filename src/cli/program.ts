import { Argument, Command, CommanderError, Option } from 'commander';
import { version } from '#lib/version.ts';
import { eventClasses } from '#site/model/index.ts';
import { addUser } from './access/user-verbs.ts';
import { addAccess } from './access/verbs.ts';
import { whole } from './arguments.ts';
import { addAudio } from './audio/verbs.ts';
import { addAudit } from './audit/verbs.ts';
import { addBackup } from './backup/verbs.ts';
import { addCamera } from './camera/verbs.ts';
import { addCloud } from './cloud/verbs.ts';
import { refuseTypedCode, takesCode } from './code-option.ts';
import { addCommands } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import { addLog } from './log.ts';
import { addMedia } from './media.ts';
import { addMqtt } from './mqtt.ts';
import { addOutbox } from './outbox/verbs.ts';
import { outcome } from './outcome.ts';
import { addPanel } from './panel/verbs.ts';
import { addReplay } from './replay-verbs.ts';
import { addSchedule } from './schedule.ts';
import { addSetup } from './setup/verbs.ts';
import { addDevice, addNvr } from './site/device-verbs.ts';
import { addSite } from './site/verbs.ts';
import { collect, configOption, defaultConfig, defaultSocket } from './verb.ts';
import { addVerification } from './verification.ts';

/** Runs one command line; resolves with the exit code. Never throws: what went wrong is said on stderr. */
export async function runProgram(args: readonly string[]): Promise<number> {
  return outcome(async () => {
    let exitCode: number = exitCodes.ok;
    const program = buildProgram((code) => {
      exitCode = code;
    });
    try {
      await program.parseAsync(args, { from: 'user' });
      return exitCode;
    } catch (error) {
      if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
      throw error;
    }
  });
}

/** The table of verbs. Each is a file of its own, loaded when it is called. The manual and the completions are made of it, too. */
export function buildProgram(done: (code: number) => void): Command {
  const program = new Command('siteward')
    .description('Controller of one security site: cameras, alarm panels and a durable outbox to the cloud.')
    .version(version)
    .exitOverride()
    // What stands after a verb is that verb's own: "schedule" and "schedule postpone" have options of one name.
    .enablePositionalOptions()
    .showHelpAfterError('Run "siteward --help" for what there is.')
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 wrong usage, 65 refused, 66 not found, 69 unreachable, 77 unauthorised, 78 configuration.',
    );
  // A file that is named speaks of the siteward that listens where it says.
  program.hook('preAction', async (_, verb) => {
    const { config } = verb.opts();
    if (typeof config !== 'string' || verb.getOptionValueSource('socket') !== 'default') return;
    const found = (await import('./config-socket.ts')).socketOf(config);
    if (found !== undefined) verb.setOptionValueWithSource('socket', found, 'implied');
  });
  const socket = () =>
    new Option('--socket <path>', 'control socket of the daemon').env('SITEWARD_SOCKET').default(defaultSocket);

  program
    .command('run')
    .description('run the daemon')
    .addOption(configOption())
    .option('--strict', 'refuse a broken file instead of running on the last good copy', false)
    .action(async (options) => done(await (await import('./run.ts')).run(options)));
  program
    .command('check')
    .description('check a configuration file and list everything that is wrong with it')
    .argument('[file]', 'configuration file', defaultConfig)
    .option('--json', 'print JSON', false)
    .option('--no-secrets', 'only warn about secrets that cannot be read')
    .action(async (file, options) => done((await import('./check.ts')).check(file, options)));
  program
    .command('reload')
    .description('have the daemon read its configuration again, and wait until it has taken it')
    .option('--json', 'print JSON', false)
    .addOption(configOption())
    .addOption(socket())
    .action(async (options) => done(await (await import('./reload.ts')).reload(options)));
  program
    .command('status')
    .description('show the state of the site and of the daemon')
    .option('--json', 'print the status document', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./status.ts')).status(options)));
  program
    .command('doctor')
    .description('look at everything siteward needs, whether it runs or not, and say what to do')
    .argument('[checks...]', 'only these, such as "clock" and "token"; all without one')
    .option('--json', 'print one JSON document', false)
    .addOption(configOption())
    .addOption(socket())
    .addHelpText('after', '\nExit codes: 0 all is well, 1 warnings, 2 something does not work.')
    .action(async (only, options) => done(await (await import('./doctor/doctor.ts')).doctor({ ...options, only })));
  program
    .command('zones')
    .description('list the zones with their state')
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./zones.ts')).zones(options)));
  program
    .command('events')
    .description('show events with their way to the cloud, newest first')
    .option('--json', 'print one JSON object per line', false)
    .option('--limit <count>', 'how many, 1 to 200', whole(1, 200), 20)
    .addOption(new Option('--class <class>', 'only this class').choices(eventClasses))
    .option('--follow', 'stay and print new events as they come, oldest first', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./events.ts')).events(options)));
  addCommands(program, { socket, done });
  takesCode(
    program
      .command('security-type')
      .description('say which security system handles the site: 1 or 2 a panel, 3 siteward, 4 another one')
      .addArgument(new Argument('<type>', 'the security type').choices(['1', '2', '3', '4']))
      .option('--while-armed', 'in force at once, also while a partition is armed; takes a code', false)
      .option('--yes', 'do not ask before 4', false),
    'read the code of an owner or installer from standard input',
  )
    .option('--json', 'print what is in force and what waits', false)
    .addOption(socket())
    .action(async (type, options, command: Command) => {
      refuseTypedCode(command, options);
      done(await (await import('./security-type.ts')).securityType(Number(type) as 1 | 2 | 3 | 4, options));
    });
  addOutbox(program, { socket, done });
  addMedia(program, { socket, done });
  addAudio(program, { socket, done });
  addSchedule(program, { socket, done });
  addUser(program, { socket, done });
  addAccess(program, { socket, done });
  addAudit(program, { socket, done });
  addVerification(program, { socket, done });
  addReplay(program, { socket, done });
  addLog(program, { socket, done });
  program
    .command('support-bundle')
    .description('write one file for whoever helps from afar: no secret, no name of a person, no silent alarm is in it')
    .argument('[file]', 'the file, or - for standard output; default: a name with the time, in this folder')
    .option('--contents', 'only list what it would hold', false)
    .addOption(socket())
    .action(async (file, options) =>
      done(await (await import('./support-bundle.ts')).supportBundleVerb({ ...options, file })),
    );
  program
    .command('upgrade-check')
    .description('say whether siteward may be stopped for an upgrade: not while a partition is armed or in alarm')
    .option('--json', 'print JSON', false)
    .addOption(configOption())
    .addOption(new Option('--socket <path>', 'control socket of the daemon').env('SITEWARD_SOCKET'))
    .action(async (options, verb: Command) => {
      const isConfigNamed = verb.getOptionValueSource('config') === 'cli';
      const asked = { socket: undefined, ...options, defaultSocket, isConfigNamed };
      done(await (await import('./upgrade-check.ts')).upgradeCheck(asked));
    });
  addBackup(program, { socket, done });
  addMqtt(program, { done });
  addPanel(program, { done });
  addCamera(program, { socket, done });
  addCloud(program, { socket, done });
  addSetup(program, { socket, done });
  addDevice(program, { socket, done });
  addNvr(program, { socket, done });
  addSite(program, { socket, done });
  const sandbox = program
    .command('sandbox')
    .description('run a stand-in for the cloud service, for trials and tests')
    .option('--listen <address>', 'HOST:PORT; port 0 takes a free one', '127.0.0.1:0')
    .option(
      '--client <id=file>',
      'a client that may send events, and its key (PEM); may stand several times',
      collect,
      [],
    )
    .option('--seed <file>', 'JSON file with dealers, sites, devices and clients')
    .option('--state <file>', 'keep dealers and what is below them in this file, over restarts')
    .option('--state-dir <folder>', 'where keys and tokens it makes itself are kept')
    .addOption(new Option('--profile <kind>', 'kind of integration that is served').choices(['A', 'B', 'all']))
    .option('--public-url <url>', 'address clients reach it under, when something stands in between')
    .option('--control', 'serve /__sandbox/* to loopback', false)
    .option('--json', 'print the log as JSON lines', false)
    .action(async (options) => done(await (await import('./sandbox.ts')).sandbox(options)));
  sandbox
    .command('camera')
    .description('run a simulated camera to practise with; it takes lines such as "person on"')
    .option('--listen <address>', 'HOST:PORT; port 0 takes a free one', '127.0.0.1:0')
    .option('--id <id>', 'its name in what it says of itself', 'camera-1')
    .action(async (options) => done(await (await import('./sandbox-camera.ts')).sandboxCamera(options)));
  program
    .command('api')
    .description('call an operation of the cloud interface; without one, list them')
    .argument('[operation...]', 'name of the operation, and what it takes')
    // Its own parser knows the operations; it is loaded with the contract only when it is called.
    .helpOption(false)
    .allowUnknownOption()
    .action(async (_args, _options, command: Command) =>
      done(await (await import('./cloud/api.ts')).api(command.args)),
    );
  for (const verb of program.commands) pointToHelp(verb, program.name());
  return program;
}

/** After wrong usage each verb points to its own help. */
function pointToHelp(verb: Command, parents: string): void {
  const name = `${parents} ${verb.name()}`;
  verb.showHelpAfterError(`Run "${name} --help" for what there is.`);
  for (const below of verb.commands) pointToHelp(below, name);
}
