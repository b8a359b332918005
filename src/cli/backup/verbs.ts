import { type Command, Option } from 'commander';
import { exitCodes } from '../exit-codes.ts';
import { configOption, type Verbs } from '../verb.ts';

const passphraseFile = () =>
  new Option('--passphrase-file <file>', 'read the passphrase from a file only you may read, or - for standard input');

export function addBackup(program: Command, { socket, done }: Verbs): void {
  program
    .command('backup')
    .description('seal all that is on the bridge with a passphrase and write it into one file')
    .argument('[file]', 'the file to write, or - for standard output')
    .option('--show <file>', 'tell what is in a backup, without secrets')
    .option('--json', 'with --show: print one JSON document', false)
    .option('--force', 'replace a file that is there', false)
    .addOption(passphraseFile())
    .addOption(configOption())
    .addOption(socket())
    .action(async (file: string | undefined, options, command: Command) => {
      const { showBackup, backup } = await import('./backup.ts');
      if (options.show !== undefined && file === undefined) return done(await showBackup(options.show, options));
      if (file === undefined || options.show !== undefined)
        return command.error('error: name one file: the one to write, or the one to show', {
          exitCode: exitCodes.usage,
        });
      return done(await backup(file, options));
    });
  program
    .command('restore')
    .description('put a backup in the place of all that is on the bridge, while siteward does not run')
    .argument('[file]', 'the backup; without one a restore that was interrupted is completed')
    .option(
      '--replace <site>',
      'let go of what is on this box: its site.external_id, typed as a proof that it is meant',
    )
    .addOption(passphraseFile())
    .addOption(configOption())
    .addOption(socket())
    .action(async (file, options) => done(await (await import('./restore.ts')).restore(file, options)));
}
