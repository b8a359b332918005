import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  newUserName,
  siteMoment,
  userId,
  userRoles,
  type WeekWindow,
  weekWindow,
  windowDays,
} from '#site/model/index.ts';
import { refuseTypedCode, takesCode } from '../code-option.ts';
import { wrong } from '../usage.ts';
import type { Verbs } from '../verb.ts';

/** The verbs of `siteward user`; each is loaded when it is called. */
export function addUser(program: Command, { socket, done }: Verbs): void {
  const user = program.command('user').description('the people of the site and their codes');
  takesCode(
    user
      .command('add')
      .description('add a user; the code is asked for on the terminal, twice, and never shown')
      .argument('<id>', 'short id; it appears in events and in the audit')
      .requiredOption('--name <name>', 'name for people; it stays on this box', name)
      .addOption(new Option('--role <role>', 'what the code allows').choices(userRoles).default('user'))
      .option('--duress', 'ask for a second code, which disarms and calls for help silently', false)
      .option('--from <day>', 'first day the code counts, in the time of the site: 2026-12-01 or 2026-12-01T18:30', day)
      .option('--until <day>', 'last day it counts; an installer needs one', day)
      .option('--hours <hours>', 'only then, as "mon-fri 08:00-17:00"; may stand up to 7 times', hours),
    'read the codes from standard input, one a line, instead of asking',
  )
    .option('--json', 'print the user as it is kept', false)
    .addOption(socket())
    .action(async (id: string, options, command: Command) => {
      refuseTypedCode(command, options);
      const read = userId.safeParse(id);
      if (!read.success) wrong(command, `the id ${read.error.issues[0]?.message}`);
      done(await (await import('./user-changes.ts')).add({ ...options, id }));
    });
  takesCode(
    user
      .command('code')
      .description('give a user another code; the old one counts no more')
      .argument('<id>', 'id of the user')
      .option('--duress', 'ask for another duress code too', false),
    'read the codes from standard input, one a line, instead of asking',
  )
    .option('--json', 'print { changed }', false)
    .addOption(socket())
    .action(async (id: string, options, command: Command) => {
      refuseTypedCode(command, options);
      done(await (await import('./user-code.ts')).changeCode({ ...options, id }));
    });
  user
    .command('list')
    .description('list the users, without anything of their codes')
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./user-list.ts')).list(options)));
  user
    .command('remove')
    .description('remove a user; the code counts no more from then on')
    .argument('<id>', 'id of the user')
    .option('--yes', 'remove the last owner too', false)
    .option('--json', 'print { removed }', false)
    .addOption(socket())
    .action(async (id: string, options) => done(await (await import('./user-changes.ts')).remove({ ...options, id })));
}

/** "mon-fri,sun 08:00-17:00". */
function hours(text: string, before: readonly WeekWindow[] = []): readonly WeekWindow[] {
  const [, dayText = '', from = '', to = ''] = /^(\S+)\s+([\d:]+)-([\d:]+)$/.exec(text.trim()) ?? [];
  const read = weekWindow.safeParse({ days: dayText.split(',').flatMap(daysOf), from, to });
  if (!read.success) throw new InvalidArgumentError('It must be days and hours, as "mon-fri 08:00-17:00".');
  return [...before, read.data];
}

/** "fri-mon" goes over the end of the week; a word that is no day stays what it is and is refused. */
function daysOf(text: string): string[] {
  const ends = text.toLowerCase().split('-');
  const [first = -1, last = first] = ends.map((name) => (windowDays as readonly string[]).indexOf(name));
  if (first < 0 || last < 0 || ends.length > 2) return [text];
  const length = ((last - first + 7) % 7) + 1;
  return Array.from({ length }, (_, index) => windowDays[(first + index) % 7] ?? text);
}

function day(text: string): string {
  const read = siteMoment.safeParse(text);
  if (!read.success) throw new InvalidArgumentError(`It ${read.error.issues[0]?.message}.`);
  return text;
}

/** What stands in its place may be a code: it is not repeated. */
function name(text: string): string {
  const read = newUserName.safeParse(text);
  if (!read.success) throw new InvalidArgumentError(`It ${read.error.issues[0]?.message}.`);
  return text;
}
