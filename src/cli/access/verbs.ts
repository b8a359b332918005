import type { Command } from 'commander';
import { wrong } from '../usage.ts';
import type { Verbs } from '../verb.ts';

/** `siteward access`, `claim-code` and `reset-access`; each is loaded when it is called. */
export function addAccess(program: Command, { socket, done }: Verbs): void {
  const access = program.command('access').description('who may come in over the network');
  access
    .command('list')
    .description('list the accounts, the API keys and the open sessions')
    .option('--json', 'print { handed_over, people, keys, sessions }', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./list.ts')).list(options)));
  access
    .command('end-session')
    .description('end an open session; whoever has it logs in again')
    .argument('<id>', 'id of the session')
    .option('--json', 'print { ended }', false)
    .addOption(socket())
    .action(async (id: string, options, command: Command) => {
      if (!/^[0-9a-f]{12}$/.test(id))
        wrong(command, 'the id must be that of a session; "siteward access list" shows it');
      done(await (await import('./list.ts')).endSession({ ...options, id }));
    });
  program
    .command('claim-code')
    .description('show the code by which the first account is made, and where')
    .option('--json', 'print { claimed, claim_code, urls, fingerprint }', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./claim-code.ts')).claimCode(options)));
  program
    .command('reset-access')
    .description('remove all accounts, API keys and sessions and show a new claim code; for a lost password')
    .option('--yes', 'do not ask', false)
    .option('--json', 'print { lost, claim_code, urls, fingerprint }', false)
    .addOption(socket())
    .action(async (options, command: Command) => {
      const ended = await (await import('./reset-access.ts')).resetAccess(options);
      if (ended === 'nobody to ask') wrong(command, 'a reset cannot be undone; say --yes if it is meant');
      else done(ended);
    });
}
