import { Command, InvalidArgumentError, Option } from 'commander';
import { describe, SitewardError } from '#errors.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { agreed } from '../consent.ts';
import { type ExitCode, exitCodes, exitOfError } from '../exit-codes.ts';
import { printable, table } from '../table.ts';
import { defaultSocket } from '../verb.ts';
import { type Access, openAccess } from './access.ts';
import { bodyMembers, bodyOf, kebab, operations, pathNames, queryOf, queryOptions, takesSecret } from './api-input.ts';
import { failedItems, isForeign, shown } from './api-output.ts';
import { noteInAudit } from './note.ts';

export interface ApiOptions {
  readonly config: string;
  readonly baseUrl?: string;
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  readonly timeout: number;
  readonly json: boolean;
  readonly yes: boolean;
  readonly socket: string;
}

/**
 * `siteward api [operation]`: one call of the cloud interface. Names, places and help come from the contract. Without an
 * operation it lists them all.
 */
export async function api(args: readonly string[]): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  const program = buildApi(async (operation, places, given, command) => {
    const options: ApiOptions = program.opts();
    exitCode = await call({ operation, places, given, options, command });
  });
  if (args.length === 0) console.log(overview());
  else await program.parseAsync(args, { from: 'user' });
  return exitCode;
}

const overview = (): string =>
  `${table(operations.map(({ id, summary }) => [kebab(id), summary]))}\n\nMore: siteward api <operation> --help`;

type Given = Readonly<Record<string, unknown>>;
type Run = (operation: Operation, places: readonly string[], given: Given, command: Command) => Promise<void>;

function buildApi(run: Run): Command {
  const program = new Command('siteward api')
    .usage('<operation> [options]')
    .description('Call an operation of the cloud interface.')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (one) => one.name() })
    .helpCommand(false)
    .exitOverride()
    .showHelpAfterError('Run "siteward api" for what there is.')
    .option('--config <file>', 'configuration with addresses and credentials', '/etc/siteward/siteward.yaml')
    .option('--base-url <url>', 'address of the service, instead of a configuration')
    .addOption(new Option('--token-env <name>', 'variable that holds the token or API key').conflicts('tokenFile'))
    .option('--token-file <file>', 'file that holds the token or API key')
    .option('--timeout <seconds>', 'longest time for the call with its retries', seconds, 60)
    .option('--json', 'print the answer as JSON', false)
    .option('--yes', 'do not ask before what cannot be undone', false)
    .addOption(
      new Option('--socket <path>', 'control socket of the daemon, which writes the audit log')
        .env('SITEWARD_SOCKET')
        .default(defaultSocket),
    );
  for (const operation of operations) {
    const command = program.command(kebab(operation.id)).description(operation.summary);
    for (const name of pathNames(operation)) command.argument(`<${kebab(name)}>`);
    for (const { flag, description, collect } of queryOptions(operation)) {
      if (collect) command.option(flag, description, append);
      else command.option(flag, description);
    }
    if (operation.body !== undefined) {
      command.option('--set <name=value>', 'member of the body; may stand several times', append);
      command.option('--body <file>', 'JSON file with the body; - is standard input');
      const members = bodyMembers(operation);
      const item = operation.body.items === undefined ? 'the body' : 'one item of the body';
      if (members.length > 0) command.addHelpText('after', `\nMembers of ${item}:\n${table(members, '  ')}`);
    }
    command.action(async (...all: unknown[]) => {
      const places = all.slice(0, pathNames(operation).length).map(String);
      await run(operation, places, command.opts(), command);
    });
  }
  return program;
}

interface CallOf {
  readonly operation: Operation;
  readonly places: readonly string[];
  readonly given: Given;
  readonly options: ApiOptions;
  readonly command: Command;
}

async function call({ operation, places, given, options, command }: CallOf): Promise<ExitCode> {
  const wrong = (message: string) => command.error(`siteward: ${message}`, { exitCode: exitCodes.usage });
  const params = Object.fromEntries(pathNames(operation).map((name, index) => [name, places[index] ?? '']));
  const empty = Object.entries(params).find(([, value]) => ['', '.', '..'].includes(value));
  if (empty !== undefined) wrong(`<${kebab(empty[0])}> must be an id`);
  const secret = takesSecret(given);
  if (secret !== undefined) wrong(`${secret} is a secret: give it in a file with --body, or in the configuration`);
  const body = await bodyOf(operation, given).catch((error: unknown) => wrong(describe(error)));
  if (isDestructive(operation) && !options.yes) {
    const answer = await agreed(`${operation.summary}: ${places.join(' ')}. Go on?`);
    if (answer === 'nobody to ask') wrong(`${kebab(operation.id)} cannot be undone; say --yes if it is meant`);
    if (answer === 'no') return exitCodes.failure;
  }
  await using access = openAccess(options);
  // Awaited here: the connections close when this block ends.
  return await perform(access, operation, { params, query: queryOf(operation, given), body }, options);
}

interface Input {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

async function perform(access: Access, operation: Operation, input: Input, options: ApiOptions): Promise<ExitCode> {
  const note = async (error?: unknown) => {
    const { site } = access;
    if (site === undefined || !isTold(operation)) return;
    const ids = [kebab(operation.id), ...Object.values(input.params)];
    await noteInAudit(options.socket, { action: 'operation_called', site_id: site.id, ids }, [], error);
  };
  try {
    const body = input.body ?? (await access.grantBody(operation));
    const signal = AbortSignal.timeout(options.timeout * 1000);
    const { answer, traceId } = await access.perform(operation, {
      params: input.params,
      query: input.query,
      ...(body === undefined ? {} : { body }),
      signal,
    });
    if (isForeign(answer)) throw foreign(operation, traceId);
    await note();
    const { text, raw } = shown(answer, options.json);
    if (text !== '') console.log(text);
    const failed = failedItems(raw);
    if (failed === 0) return exitCodes.ok;
    console.error(`siteward: ${failed} of the items failed; the others went through`);
    return exitCodes.failure;
  } catch (error) {
    const known = asTyped(error, options);
    await note(known);
    return failedCall(known, options);
  }
}

/** A question was not answered, and whether an order was carried out nobody knows. */
function foreign({ id, method }: Operation, traceId: string): SitewardError {
  const what = `${id}: what answered is not JSON; something on the line may answer in place of the cloud`;
  const facts = { operation: id, trace_id: traceId };
  return method === 'GET'
    ? new SitewardError('cloud_bad_answer', what, { facts })
    : new SitewardError('cloud_outcome_unknown', `${what}. Look whether it was done before asking again`, { facts });
}

/** The whole time ran out: nobody knows more than that. */
function asTyped(error: unknown, { timeout }: ApiOptions): SitewardError {
  if (error instanceof SitewardError) return error;
  if (!(error instanceof DOMException && error.name === 'TimeoutError')) throw error;
  return new SitewardError('cloud_unreachable', `no answer within ${timeout} s; --timeout gives it longer`);
}

function failedCall(error: SitewardError, { json }: ApiOptions): ExitCode {
  const { trace_id: traceId, status, field } = error.facts;
  const trace = traceId === undefined ? '' : `, trace id ${traceId}`;
  const fields = field === undefined ? '' : `; field: ${printable(String(field))}`;
  console.error(`siteward: ${printable(describe(error))}${fields} (${error.code}${trace})`);
  if (json) {
    const { code, message } = error;
    console.log(JSON.stringify({ error: { code, message, status, field, trace_id: traceId } }));
  }
  return exitOfError(error);
}

const append = (text: string, list: readonly string[] = []): readonly string[] => [...list, text];

function seconds(text: string): number {
  const value = Number(text);
  if (value > 0 && value <= 86_400) return value;
  throw new InvalidArgumentError('It must be 1 to 86400.');
}

/** Beside DELETE: what takes away a thing, or access to it, for good. */
const takingAway: ReadonlySet<string> = new Set(['deleteDevices', 'disconnectDealer', 'unlinkSite']);

/** A change of what the cloud has. Of a token there is nothing to tell; of an event or a verification the entry could tell of a silent alarm (safety 4). */
const isTold = ({ method, path }: Operation): boolean =>
  method !== 'GET' && !/\/(?:token|events|alarm-verifications)(?:\/|$)/.test(path);

const isDestructive = ({ id, method }: Operation): boolean => method === 'DELETE' || takingAway.has(id);
