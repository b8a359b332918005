import { type Command, InvalidArgumentError, Option } from 'commander';
import { whole } from './arguments.ts';
import type { Verbs } from './verb.ts';

/** The verbs of `siteward media`; each is loaded when it is called. */
export function addMedia(program: Command, { socket, done }: Verbs): void {
  const media = program.command('media').description('look at the pictures and clips of events, and take them along');
  media
    .command('list')
    .description('list the pictures and clips that events announced, newest first')
    .option('--json', 'print one JSON object per event and line', false)
    .option('--limit <count>', 'of how many events, 1 to 200', whole(1, 200), 20)
    .option('--before <seq>', 'only of events before this one: the next page', seq)
    .addOption(
      new Option('--state <state>', 'only what is in this state').choices(['planned', 'ready', 'uploaded', 'failed']),
    )
    .option('--camera <id>', 'only what is of this camera', camera)
    .option('--event <seq>', 'only of this event', seq)
    .addOption(socket())
    .action(async (options) => done(await (await import('./media-list.ts')).list(options)));
  media
    .command('show')
    .description('show what one event announced, what became of it, and what is still on this box')
    .argument('<seq>', 'number of the event', seq)
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (event: number, options) => done(await (await import('./media-show.ts')).show(event, options)));
  media
    .command('export')
    .description('copy the files of one event that are still on this box into a folder; it is logged')
    .argument('<seq>', 'number of the event', seq)
    .requiredOption('--to <folder>', 'where to; made where it is not there, and nothing in it is replaced')
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (event: number, options) =>
      done(await (await import('./media-export.ts')).exportMedia(event, options)),
    );
}

const seq = (text: string): number => {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be the number of an event.');
  return Number(text);
};

const camera = (text: string): string => {
  if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(text)) throw new InvalidArgumentError('It must be the id of a camera.');
  return text;
};
