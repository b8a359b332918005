import { type Command, InvalidArgumentError } from 'commander';
import { whole } from '../arguments.ts';
import { wrong } from '../usage.ts';
import { configOption, type Verbs } from '../verb.ts';

/** The verbs of `siteward panel`; each is loaded when it is called. None needs the daemon, but for its embedded broker. */
export function addPanel(program: Command, { done }: Pick<Verbs, 'done'>): void {
  const panel = program
    .command('panel')
    .description('connect an alarm panel: which profile reads it, and what it says');
  panel
    .command('list')
    .description('list the profiles: presets, and those in the folder panels beside the configuration')
    .addOption(configOption())
    .option('--json', 'print one JSON object per line', false)
    .action(async (options) => done((await import('./list.ts')).list(options)));
  panel
    .command('try')
    .description('read recorded messages with a profile and show what each means')
    .argument('<profile>', 'id of a profile, or a file such as ./mine.json')
    .option('--replay <file>', 'messages, one JSON object {topic, payload, retain} per line')
    .option('--frame <text>', 'with sia-dc09: a frame, or its data such as Nri1/BA2')
    .option('--var <name=value>', 'a variable of the profile; may stand several times', variable, {})
    .addOption(configOption())
    .option('--json', 'print one JSON object per line', false)
    .action(async (profile: string, options, command: Command) => {
      if (profile === 'sia-dc09') {
        if (options.frame === undefined) wrong(command, 'sia-dc09 takes --frame, such as --frame Nri1/BA2');
        return done((await import('./frame.ts')).tryFrame(options));
      }
      if (options.replay === undefined) wrong(command, 'a profile takes --replay FILE; --frame is for sia-dc09');
      done(await (await import('./try.ts')).tryProfile({ ...options, profile, vars: options.var }));
    });
  panel
    .command('watch')
    .description('show what the bridge says and what it means, as it comes')
    .option('--profile <profile>', 'read with this profile, by id or file, instead of the panels of the configuration')
    .option('--var <name=value>', 'with --profile, a variable of it; may stand several times', variable, {})
    .option('--panel <id>', 'only this panel of the configuration')
    .option('--seconds <count>', 'end after so many seconds, 1 to 86400', whole(1, 86_400))
    .option('--record <file>', 'write the messages to a new file, for "siteward panel try"')
    .option('--broker <url>', 'mqtt://HOST:PORT or mqtts://HOST:PORT, instead of that of the configuration')
    .addOption(configOption())
    .option('--json', 'print one JSON object per line', false)
    .action(async (options, command: Command) => {
      refuseBadAddress(command, options.broker);
      done(await (await import('./watch.ts')).watch({ ...options, vars: options.var }));
    });
  panel
    .command('learn')
    .description('listen to the broker and rank the profiles by how much they understand')
    .option('--seconds <count>', 'how long, 1 to 86400', whole(1, 86_400), 60)
    .option('--broker <url>', 'mqtt://HOST:PORT or mqtts://HOST:PORT, instead of that of the configuration')
    .addOption(configOption())
    .option('--json', 'print one JSON object', false)
    .action(async (options, command: Command) => {
      refuseBadAddress(command, options.broker);
      done(await (await import('./learn.ts')).learn(options));
    });
  panel
    .command('new')
    .description('write a first profile for a bridge that none knows; asks to open a door and to arm')
    .argument('<id>', 'id of the profile')
    .option('--seconds <count>', 'how long to listen before the first question, 1 to 86400', whole(1, 86_400), 20)
    .option('--force', 'replace the profile', false)
    .option('--broker <url>', 'mqtt://HOST:PORT or mqtts://HOST:PORT, instead of that of the configuration')
    .addOption(configOption())
    .action(async (id: string, options, command: Command) => {
      refuseBadAddress(command, options.broker);
      if (!/^[a-z0-9][a-z0-9-]{0,31}$/.test(id))
        wrong(command, 'an id is 1 to 32 lower-case letters, digits or -, and begins with a letter or digit');
      done(await (await import('./new.ts')).newProfile({ ...options, id }));
    });
}

/** Ends with wrong usage where the address is none. What was typed is not repeated: it may hold a password. */
function refuseBadAddress(command: Command, broker: string | undefined): void {
  if (broker === undefined || /^mqtts?:\/\/[^\s/@?#]+:\d{1,5}$/.test(broker)) return;
  wrong(
    command,
    '--broker takes mqtt://HOST:PORT or mqtts://HOST:PORT; name and password are read from SITEWARD_MQTT_USERNAME and SITEWARD_MQTT_PASSWORD',
  );
}

/** `b=house`, collected. */
function variable(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, name, value] = /^([a-z][a-z0-9_]{0,15})=(.{1,128})$/.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It must be NAME=VALUE, such as b=house.');
  return { ...before, [name]: value };
}
