import type { Command } from 'commander';
import { collect, configOption, type Verbs } from '../verb.ts';

/** `siteward setup`; what it does is loaded when it is called. */
export function addSetup(program: Command, { socket, done }: Verbs): void {
  program
    .command('setup')
    .description('commission the site, step by step; it goes on where it stopped, and Ctrl-C does no harm')
    .addOption(configOption())
    .option('--answers <file>', 'YAML file with the answers (docs/commissioning.md)')
    .option(
      '--set <name=value>',
      'one answer, such as site.timezone=Europe/Berlin; may stand several times',
      collect,
      [],
    )
    .option('--non-interactive', 'ask nobody, also on a terminal', false)
    .option('--only <step>', 'do this step alone; may stand several times', collect, [])
    .option('--again', 'ask again what was left out before', false)
    .option('--dry-run', 'look, and say what would be done', false)
    .option('--report <file>', 'write the commissioning report, one HTML file; it holds pictures: personal data')
    .option('--force', 'replace the report that is there', false)
    .option('--json', 'print one JSON object per step', false)
    .addOption(socket())
    .action(async (options, verb) => {
      const isNamed = ['cli', 'env'].includes(verb.getOptionValueSource('socket') ?? '');
      done(await (await import('./setup.ts')).setup({ ...options, isSocketNamed: isNamed }));
    });
}
