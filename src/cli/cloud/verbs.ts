import type { Command } from 'commander';
import { whole } from '../arguments.ts';
import { configOption, type Verbs } from '../verb.ts';

/** The verbs of `siteward cloud`: the key that signs for events. */
export function addCloud(program: Command, { socket, done }: Verbs): void {
  const cloud = program.command('cloud').description('the key that siteward signs for events with');
  cloud
    .command('registration')
    .description(
      'write what the operator of the service asks for: name, public key, types and volume of events, platform',
    )
    .addOption(configOption())
    .option('--name <name>', 'name of the application (default: siteward and the external id of the site)')
    .option(
      '--events-per-day <count>',
      'expected volume, where you know better than the estimate',
      whole(1, 10_000_000),
    )
    .option('--next', 'of the key that "rotate-key" has made and that is not in use yet', false)
    .option('--out <file>', 'write it to this file; one that is there is not touched')
    .option('--force', 'replace the file', false)
    .option('--json', 'one JSON object', false)
    .action(async (options) => done(await (await import('./registration.ts')).registration(options)));
  cloud
    .command('rotate-key')
    .description(
      'change the key without losing an event: run it once for the new key, and again when the operator has that',
    )
    .addOption(configOption())
    .option('--key-id <id>', 'key id ("kid") that the operator gave the new key')
    .option('--cancel', 'take the new key back before it is in use', false)
    .option('--dry-run', 'show what would be done', false)
    .option('--json', 'print one JSON object', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./rotate-key.ts')).rotateKey(options)));
}
