import { type Command, InvalidArgumentError, Option } from 'commander';
import { armModes, partitionId, zoneNumber } from '#site/model/index.ts';
import { whole } from './arguments.ts';
import { refuseTypedCode, takesCode } from './code-option.ts';
import { wrong } from './usage.ts';
import type { Verbs } from './verb.ts';

/** The verbs that give the site a command; what they do is loaded when one is called. */
export function addCommands(program: Command, shared: Verbs): void {
  common(program.command('arm').description('arm a partition, or the whole site'), shared)
    .addOption(new Option('--mode <mode>', 'how').choices(armModes).default('away'))
    .option('--force', 'arm without the zones that are not ready', false)
    .option('--bypass <zones>', 'arm without these zones, as 2,5; until the disarm', zones)
    .option('--no-exit-delay', 'arm at once')
    .option('--ask-code', 'ask for a code, so that it is you who arms', false)
    .action(async (partition, options, command: Command) => {
      const { mode, force, bypass, exitDelay, askCode } = options;
      const asked = {
        verb: 'arm' as const,
        partition,
        mode,
        ...(force && { force }),
        ...(bypass !== undefined && { bypass }),
        ...(!exitDelay && { skip_exit_delay: true }),
      };
      shared.done(await run(command, asked, { ...options, ask: askCode }));
    });
  common(
    program.command('disarm').description('disarm a partition, or the whole site; the code is asked for'),
    shared,
  ).action(async (partition, options, command: Command) =>
    shared.done(await run(command, { verb: 'disarm', partition }, { ...options, ask: true })),
  );
  addZoneVerbs(program, shared);
  common(program.command('clear-memory').description('forget the alarms since the last arming'), shared).action(
    async (partition, options, command: Command) =>
      shared.done(await run(command, { verb: 'clear_memory', partition }, { ...options, ask: false })),
  );
  common(program.command('test').description('walk through disarmed partitions without a burglary alarm'), shared)
    .option('--minutes <count>', 'how long, 1 to 240', whole(1, 240))
    .option('--zones <zones>', 'only these, as 2,5', zones)
    .option('--end', 'end it now', false)
    .action(async (partition, options, command: Command) => {
      const { minutes: count, zones: only, end } = options;
      const asked = {
        verb: 'test' as const,
        partition,
        ...(count !== undefined && { minutes: count }),
        ...(only !== undefined && { zones: [...only] }),
      };
      shared.done(await run(command, end ? { verb: 'end_test', partition } : asked, { ...options, ask: !end }));
    });
}

function addZoneVerbs(program: Command, shared: Verbs): void {
  secret(
    program
      .command('bypass')
      .description('leave a zone out; life safety and hold-up never are')
      .argument('<zone>', 'number of the zone', zone)
      .addOption(new Option('--until <end>', 'how long; default: disarm').choices(['disarm', 'cleared']))
      .option('--minutes <count>', 'at most so long, 1 to 1440', whole(1, 1440))
      .option('--reason <text>', 'why, for the event; at most 120 characters', reason),
    shared,
  ).action(async (number, options, command: Command) => {
    const { until, minutes: count, reason: why } = options;
    const asked = {
      verb: 'bypass' as const,
      zone: number,
      ...(until !== undefined && { until }),
      ...(count !== undefined && { minutes: count }),
      ...(why !== undefined && { reason: why }),
    };
    shared.done(await run(command, asked, { ...options, ask: true }));
  });
  secret(
    program.command('unbypass').description('watch a zone again').argument('<zone>', 'number of the zone', zone),
    shared,
  ).action(async (number, options, command: Command) =>
    shared.done(await run(command, { verb: 'unbypass', zone: number }, { ...options, ask: false })),
  );
}

const common = (verb: Command, shared: Verbs) =>
  secret(verb.argument('[partition]', 'p1, p2, ... or all', 'all' as const), shared);

const secret = (verb: Command, { socket }: Verbs) =>
  takesCode(verb).option('--json', 'print the answer', false).addOption(socket());

async function run(
  command: Command,
  asked: import('./advice.ts').Asked,
  options: import('./give.ts').GiveOptions & { readonly code?: unknown },
): Promise<number> {
  refuseTypedCode(command, options);
  // What stands in its place may be a code: it is not repeated.
  if ('partition' in asked && asked.partition !== 'all' && !partitionId.safeParse(asked.partition).success)
    wrong(command, 'the partition must be all, p1, p2, ...; a code is no argument');
  return (await import('./give.ts')).give(asked, options);
}

function zone(text: string): string {
  if (!zoneNumber.safeParse(text).success) throw new InvalidArgumentError('It must be the number of a zone.');
  return text;
}

function reason(text: string): string {
  if (text.length > 120) throw new InvalidArgumentError('It must be at most 120 characters.');
  return text;
}

function zones(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(',').map((zone) => zone.trim());
  if (!given.every((zone) => zoneNumber.safeParse(zone).success))
    throw new InvalidArgumentError('It must be zone numbers, as 2,5.');
  return [...new Set([...before, ...given])];
}
