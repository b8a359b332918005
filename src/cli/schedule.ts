import { type Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '#lib/duration.ts';
import { whole } from './arguments.ts';
import { refuseTypedCode, takesCode } from './code-option.ts';
import type { Verbs } from './verb.ts';

/** The verbs of `siteward schedule`; each is loaded when it is called. */
export function addSchedule(program: Command, { socket, done }: Verbs): void {
  const schedule = program
    .command('schedule')
    .description('show what is done by the clock next, in the time of the site')
    .option('--json', 'print one JSON object per line', false)
    .option('--limit <count>', 'how many runs, 1 to 100', whole(1, 100), 20)
    .addOption(socket())
    .enablePositionalOptions()
    .action(async (options) => done(await (await import('./schedule-list.ts')).list(options)));
  takesCode(
    schedule
      .command('postpone')
      .description('put the next arming of a schedule off; a code is asked for on the terminal and never shown')
      .argument('<id>', 'id of the schedule')
      .requiredOption('--by <time>', 'by how much, in whole minutes: 30m or 1h', minutes),
  )
    .option('--json', 'print when it arms now', false)
    .addOption(socket())
    .action(async (id: string, options, command: Command) => {
      refuseTypedCode(command, options);
      done(await (await import('./schedule-postpone.ts')).postpone({ ...options, id }));
    });
}

function minutes(text: string): number {
  const value = (parseDuration(text) ?? Number.NaN) / 60_000;
  if (!Number.isInteger(value) || value < 1 || value > 1440)
    throw new InvalidArgumentError('It must be whole minutes, such as 30m or 1h, up to 24h.');
  return value;
}
