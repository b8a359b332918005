import type { Command } from 'commander';
import { exitCodes } from './exit-codes.ts';
import type { Verbs } from './verb.ts';

/** `siteward replay` and `siteward inputs`; each is loaded when it is called. */
export function addReplay(program: Command, { socket, done }: Verbs): void {
  program
    .command('replay')
    .description('run a recorded input log through the engine and show each decision with its rules')
    .argument('[log]', 'file of "siteward inputs export"')
    .option('--recorded', 'replay what the running daemon has recorded', false)
    .option('--partition <id>', 'only what is about this partition')
    .option('--differences', 'only what this version decides otherwise than was recorded', false)
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (log: string | undefined, options, command: Command) => {
      if ((log === undefined) !== options.recorded)
        command.error('siteward: name a log, or say --recorded', { exitCode: exitCodes.usage });
      done(await (await import('./replay.ts')).replayLog({ ...options, log }));
    });
  const inputs = program.command('inputs').description('the recorded inputs of the engine, for "siteward replay"');
  inputs
    .command('export')
    .description('write the recorded inputs to a file that only its owner may read')
    .argument('<file>', 'file to write')
    .option('--force', 'replace the file', false)
    .option('--json', 'print { lines }', false)
    .addOption(socket())
    .action(async (file: string, options) =>
      done(await (await import('./inputs.ts')).exportInputs({ ...options, file })),
    );
}
