import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AuditKind, auditKinds } from '#site/model/index.ts';
import { whole } from '../arguments.ts';
import type { Verbs } from '../verb.ts';
import { asAuditor } from './auditor.ts';
import { instant } from './instant.ts';

/** `siteward audit` and `siteward activity`. */
export function addAudit(program: Command, { socket, done }: Verbs): void {
  asAuditor(
    program
      .command('activity')
      .description('what the site and the cloud have on record, in the order of time, newest first'),
  )
    .option('--json', 'print one JSON object per line', false)
    .option('--limit <count>', 'how many, 1 to 1000', whole(1, 1000), 20)
    .option('--since <time>', 'entries of this time and later, as 2026-12-01 or 2026-12-01T08:00:00Z', instant)
    .option('--before <time>', 'entries before this time', instant)
    .addOption(socket())
    .action(async (options) => done(await (await import('./activity.ts')).activity(options)));
  const audit = program.command('audit').description('who did what, and whether the record of it is whole');
  asAuditor(audit.command('show').description('show entries of the audit log, newest first'))
    .option('--json', 'print one JSON object per line', false)
    .option('--limit <count>', 'how many', whole(1, 1_000_000), 20)
    .option('--since <time>', 'entries of this time and later, as 2026-12-01 or 2026-12-01T08:00:00Z', instant)
    .option('--before <time>', 'entries before this time', instant)
    .addOption(new Option('--kind <kind>', 'only this kind; may stand several times').argParser(kinds))
    .addOption(socket())
    .action(async (options) => done(await (await import('./show.ts')).show(options)));
  asAuditor(
    audit.command('verify').description('go through the whole log and say where it is broken; exit code 1 then'),
  )
    .option('--against <file>', 'an export that the log must continue; with --auditor')
    .option('--json', 'print the verdict', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./verify.ts')).verify(options)));
  audit
    .command('export')
    .description('write the whole log, or what is new in it, to a file that only its owner may read')
    .argument('<file>', 'one that is there is continued')
    .option('--after <file>', 'begin behind the end of this earlier export')
    .option('--code-stdin', 'read the code of the auditor from standard input instead of asking', false)
    .option('--json', 'print { entries, last }', false)
    .addOption(socket())
    .action(async (file: string, options) =>
      done(await (await import('./export.ts')).exportAudit({ ...options, file })),
    );
}

function kinds(text: string, before: readonly AuditKind[] = []): readonly AuditKind[] {
  const kind = auditKinds.find((one) => one === text);
  if (kind === undefined) throw new InvalidArgumentError(`It must be one of ${auditKinds.join(', ')}.`);
  return [...before, kind];
}
