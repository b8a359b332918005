import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '#lib/duration.ts';
import { type VerificationAction, verificationActions, verificationId } from '#site/model/index.ts';
import { refuseTypedCode, takesCode } from './code-option.ts';
import type { Verbs } from './verb.ts';

/** The verbs of `siteward verification`; each is loaded when it is called. */
export function addVerification(program: Command, { socket, done }: Verbs): void {
  const verification = program
    .command('verification')
    .alias('verify')
    .description('requests of the service to verify an alarm');
  verification
    .command('list')
    .description('list the requests, newest first; those that wait for an answer show their deadline')
    .option('--open', 'only those that wait for an answer, or whose answer is on its way', false)
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./verification-list.ts')).list(options)));
  verification
    .command('show')
    .description('show one request with its answers and what became of them')
    .argument('<id>', 'UUID of the verification', uuid)
    .option('--json', 'print the document', false)
    .addOption(socket())
    .action(async (id: string, options) =>
      done(await (await import('./verification-list.ts')).show({ ...options, id })),
    );
  verification
    .command('add')
    .description('hand on a request that came by another way; the same one again changes nothing')
    .argument('<id>', 'UUID of the verification, as the service named it', uuid)
    .requiredOption('--contact <number>', 'contact the service asks', contact)
    .option('--event <id>', 'id of our event that it is about')
    .addOption(new Option('--expires <time>', 'deadline, such as 2026-12-01T18:30:00Z').conflicts('in'))
    .option('--in <duration>', 'deadline from now, such as 5m; up to 24h', fromNow)
    .option('--json', 'print what came of it', false)
    .addOption(socket())
    .action(async (id: string, options) =>
      done(await (await import('./verification-changes.ts')).add({ ...options, id })),
    );
  takesCode(
    verification
      .command('answer')
      .description('answer a request; the code says who answers, and is asked for on the terminal')
      .argument('<id>', 'UUID of the verification', uuid)
      .argument('<action>', verificationActions.join(' or '), action),
  )
    .option('--json', 'print what came of it', false)
    .addOption(socket())
    .action(async (id: string, what: VerificationAction, options, command: Command) => {
      refuseTypedCode(command, options, 2);
      done(await (await import('./verification-changes.ts')).answer({ ...options, id, action: what }));
    });
}

function uuid(text: string): string {
  if (!verificationId.safeParse(text).success) throw new InvalidArgumentError('It must be a UUID.');
  return text.toLowerCase();
}

function action(text: string): VerificationAction {
  const found = verificationActions.find((one) => one === text);
  if (found === undefined) throw new InvalidArgumentError(`It must be ${verificationActions.join(' or ')}.`);
  return found;
}

function contact(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number above 0.');
  return value;
}

function fromNow(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 1000 || ms > 86_400_000)
    throw new InvalidArgumentError('It must be a duration such as 5m, 1s to 24h.');
  return ms;
}
