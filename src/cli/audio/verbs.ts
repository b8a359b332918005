import { type Command, InvalidArgumentError, Option } from 'commander';
import { audioCategories, deviceId, playDefaults } from '#site/model/index.ts';
import { whole } from '../arguments.ts';
import { wrong } from '../usage.ts';
import type { Verbs } from '../verb.ts';

/** A test is not to frighten anybody, and the tone is quiet itself. */
const testVolume = 40;

/** The verbs of `siteward audio`; each is loaded when it is called. */
export function addAudio(program: Command, shared: Verbs): void {
  const { socket, done } = shared;
  const audio = program.command('audio').description('messages on the speakers of the site');
  audio
    .command('import')
    .description('take a sound file (wav, mp3, ogg, flac, m4a) into the library of messages')
    .argument('<file>', 'the file; at most 10 MB and 2 minutes')
    .option('--name <name>', 'what people call the message; default: that of the file')
    .option('--key <key>', 'by which it is played; default: made of the name')
    .option('--language <tag>', 'such as en-US; default: zxx, nobody speaks')
    .addOption(
      new Option(
        '--category <category>',
        'how important it is; default: that of the built-in one it replaces, or custom',
      ).choices(audioCategories),
    )
    .option('--description <text>', 'for people; at most 500 characters')
    .option(
      '--replace',
      'put it in the place of the message of its key; one that is built in is back once yours is removed',
      false,
    )
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (file: string, options) => done(await (await import('./import.ts')).importMessage(file, options)));
  audio
    .command('list')
    .description('list the messages that can be played')
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./list.ts')).list(options)));
  audio
    .command('status')
    .description('show the speakers, and what plays, waits and was played lately')
    .option('--limit <count>', 'how many playbacks, 1 to 200', number(1, 200), 10)
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./status.ts')).status(options)));
  audio
    .command('test')
    .description('play the test tone on one speaker after the other, and say what to do where it fails')
    .argument('[speaker...]', 'ids of speakers; default: all that are used')
    .option('--volume <percent>', 'how loud, 0 to 100', number(0, 100), testVolume)
    .option('--json', 'print one JSON object per speaker and line', false)
    .addOption(socket())
    .action(async (speakers: string[], options) => done(await (await import('./test.ts')).test(speakers, options)));
  audio
    .command('play')
    .description('play a message and wait for its end; Ctrl-C ends it')
    .argument('<message>', 'its key or name, as "siteward audio list" shows it, or its id at the service')
    .option('--speakers <ids>', 'only on these, as gate,hall; default: all', speakers)
    .option('--volume <percent>', 'how loud, 0 to 100', number(0, 100), playDefaults.volume)
    .option('--repeat <count>', 'how often, 1 to 5', number(1, 5), playDefaults.repeat)
    .option('--no-wait', 'do not wait for its end')
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (message: string, options) => done(await (await import('./play.ts')).play(message, options)));
  addStop(audio, shared);
  audio
    .command('remove')
    .description('remove an imported message')
    .argument('<key>', 'its key, or its name')
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (key: string, options) => done(await (await import('./remove.ts')).remove(key, options)));
}

function addStop(audio: Command, { socket, done }: Verbs): void {
  audio
    .command('stop')
    .description('end what plays and what waits; alarms only when it is said')
    .argument('[playback]', 'id of one playback, as "siteward audio status" shows it; it is ended whatever it is')
    .option('--speaker <id>', 'all on this speaker')
    .addOption(new Option('--category <category>', 'all of this category').choices(audioCategories))
    .option('--all', 'all on all speakers, but for alarms', false)
    .option('--alarms', 'end alarms, too: of a burglary, of fire and other life safety', false)
    .option('--json', 'print one JSON object per playback and line', false)
    .addOption(socket())
    .action(async (playback: string | undefined, options, command: Command) => {
      const { speaker, category, all, alarms } = options;
      const given = [playback, speaker, category, all || undefined].filter((one) => one !== undefined);
      if (given.length !== 1) wrong(command, 'say one of: the id of a playback, --speaker, --category, --all');
      if (category === 'alarm' && !alarms) wrong(command, 'alarms are ended only with --alarms');
      done(await (await import('./stop.ts')).stop({ ...options, playback }));
    });
}

const number = (least: number, most: number) => whole(least, most, 'a whole number from ');

function speakers(text: string): readonly string[] {
  const ids = text.split(',').map((id) => id.trim());
  if (!ids.every((id) => deviceId.safeParse(id).success))
    throw new InvalidArgumentError('It must be ids of speakers, as gate,hall.');
  return [...new Set(ids)];
}
