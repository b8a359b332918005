import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '#lib/duration.ts';
import { logLevels } from '#lib/log.ts';
import { whole } from './arguments.ts';
import type { Verbs } from './verb.ts';

/** `siteward log` and `siteward log level`; what they do is loaded when one is called. */
export function addLog(program: Command, { socket, done }: Verbs): void {
  const log = program
    .command('log')
    .description('show the newest lines of the log of the daemon, oldest first')
    .option('--follow', 'stay and print new lines as they come', false)
    .option('--limit <count>', 'how many, 1 to 1000', whole(1, 1000), 100)
    .addOption(new Option('--level <level>', 'this level and worse').choices(logLevels))
    .option('--part <part>', 'only of this part')
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .enablePositionalOptions()
    .action(async (options) => done(await (await import('./log-show.ts')).showLog(options)));
  log
    .command('level')
    .description('show how much each part logs, or log more for a time; "configured" ends that')
    .argument('[level]', `${logLevels.join(', ')} or configured`, levelOrNone)
    .option('--for <time>', 'how long, in whole minutes: 30m or 2h, up to 4h', minutes, 30)
    .option('--part <parts>', 'only of these parts, as cameras,mqtt', parts)
    .option('--json', 'print the levels', false)
    .addOption(socket())
    .action(async (level, options) => done(await (await import('./log-level.ts')).logLevel({ ...options, level })));
}

function levelOrNone(text: string): (typeof logLevels)[number] | 'configured' {
  const found = ([...logLevels, 'configured'] as const).find((level) => level === text);
  if (found === undefined) throw new InvalidArgumentError(`It must be one of ${logLevels.join(', ')}, configured.`);
  return found;
}

function minutes(text: string): number {
  const value = (parseDuration(text) ?? Number.NaN) / 60_000;
  if (!Number.isInteger(value) || value < 1 || value > 240)
    throw new InvalidArgumentError('It must be whole minutes, such as 30m or 2h, up to 4h.');
  return value;
}

const parts = (text: string): readonly string[] => [...new Set(text.split(',').map((part) => part.trim()))];
