import type { Command, Option } from 'commander';
import { whole } from '../arguments.ts';
import { configOption } from '../verb.ts';

/** Of every verb that speaks to the cloud for the site of the configuration. */
export const reading = (verb: Command): Command =>
  verb
    .addOption(configOption('configuration with the site and its credentials'))
    .option('--timeout <seconds>', 'longest time for the calls with their retries, 1 to 3600', whole(1, 3600), 60)
    .option('--json', 'print JSON', false);

/** Of those that change something there; the daemon on the socket writes it into its audit log. */
export const changing = (verb: Command, socket: () => Option): Command =>
  reading(verb).option('--dry-run', 'only show what would be done', false).addOption(socket());

/** Of those that cannot be undone: one rule for all of them. */
export const permanent = (verb: Command): Command =>
  verb.option('--yes <name>', 'name of the site, instead of typing it');
