import { type Command, InvalidArgumentError, Option } from 'commander';
import { lanes } from '#site/model/index.ts';
import { whole } from '../arguments.ts';
import { wrong } from '../usage.ts';
import type { Verbs } from '../verb.ts';

/** The verbs of `siteward outbox`; each is loaded when it is called. */
export function addOutbox(program: Command, { socket, done }: Verbs): void {
  const outbox = program.command('outbox').description('see what waits for the cloud, and look after what it refused');
  outbox
    .command('show')
    .description('show what waits, is parked or was lost, the link, the disk, and what to do')
    .option('--json', 'print the outbox document', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./show.ts')).show(options)));
  outbox
    .command('events')
    .description('list events that wait for the cloud, oldest first')
    .option('--json', 'print one JSON object per line', false)
    .option('--limit <count>', 'how many', count, 20)
    .addOption(new Option('--lane <lane>', 'only this lane').choices(lanes))
    .option('--partition <id>', 'only this partition')
    .addOption(socket())
    .action(async (options) => done(await (await import('./lists.ts')).waiting(options)));
  outbox
    .command('parked')
    .description('list events the cloud refused, newest first, or explain one')
    .argument('[seq]', 'number of the event to explain', seq)
    .option('--json', 'print one JSON object per line, or the one event', false)
    .option('--limit <count>', 'how many', count, 20)
    .addOption(socket())
    .action(async (number: number | undefined, options) => {
      const lists = await import('./lists.ts');
      done(await (number === undefined ? lists.parked(options) : lists.explain({ ...options, seq: number })));
    });
  outbox
    .command('gaps')
    .description('list records of events that were given up, newest first')
    .option('--json', 'print one JSON object per line', false)
    .option('--limit <count>', 'how many, 1 to 200', gapCount, 20)
    .addOption(socket())
    .action(async (options) => done(await (await import('./lists.ts')).gaps(options)));
  choosing(outbox.command('retry').description('put parked events back in line'))
    .option('--json', 'print { retried }', false)
    .addOption(socket())
    .action(async (seqs: readonly number[], options, command: Command) => {
      needsChoice(seqs, options.all, command);
      done(await (await import('./changes.ts')).retry({ ...options, seqs }));
    });
  choosing(outbox.command('export').description('print parked events as they would be sent, one JSON object per line'))
    .option('--out <file>', 'write them to this file, which only its owner may read')
    .option('--force', 'replace the file', false)
    .addOption(socket())
    .action(async (seqs: readonly number[], options, command: Command) => {
      needsChoice(seqs, options.all, command);
      if (options.force && options.out === undefined) wrong(command, '--force goes with --out');
      done(await (await import('./export.ts')).exportParked({ ...options, seqs }));
    });
  choosing(outbox.command('drop').description('give parked events up for good; each is counted and reported'))
    .option('--yes', 'do not ask', false)
    .option('--json', 'print { dropped }', false)
    .addOption(socket())
    .action(async (seqs: readonly number[], options, command: Command) => {
      needsChoice(seqs, options.all, command);
      const ended = await (await import('./changes.ts')).drop({ ...options, seqs });
      if (ended === 'nobody to ask') wrong(command, 'a drop cannot be undone; say --yes if it is meant');
      else done(ended);
    });
}

const choosing = (command: Command): Command =>
  command
    .argument('[seqs...]', 'numbers of parked events', seqs)
    .option('--all', 'all that are parked when the command begins', false);

function needsChoice(chosen: readonly number[], all: boolean, command: Command): void {
  if (all && chosen.length > 0) wrong(command, 'name events or say --all, not both');
  if (!all && chosen.length === 0) wrong(command, 'name the events, or say --all; "siteward outbox parked" lists them');
}

function seq(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be the number of an event.');
  return value;
}

const seqs = (text: string, before: readonly number[] = []): readonly number[] => [...before, seq(text)];

/** Read in pages of 200. */
const count = whole(1, 100_000);
const gapCount = whole(1, 200);
