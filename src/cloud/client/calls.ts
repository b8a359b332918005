import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { cloudOperations } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { type CallInput, type LooseInput, requestOf, type Transport, type WireAnswer } from '#lib/contract/client.ts';
import type { Operation } from '#lib/contract/operation.ts';
import type { InterfaceWatch } from './interface-watch.ts';
import { parseJson } from './json.ts';
import { type Note, readTolerantly } from './reading.ts';
import type { ReadOf } from './reading-types.ts';
import { type Context, callError } from './refusal.ts';
import { defaultRetry, mayHaveActed, mayRepeat, type RetryRules, withRetry } from './retry.ts';

export interface Reply<T> {
  readonly value: T;
  /** The body as it came, with members nobody knows (S-190); undefined for an empty one. */
  readonly raw: unknown;
  readonly status: number;
  readonly traceId: string;
}

export type CloudOperationId = keyof typeof cloudOperations;

/** One function per operation. Each resolves with what a tolerant reader takes from the answer, or throws a `cloud_*` error. */
export type Calls = {
  readonly [K in CloudOperationId]: (
    input: CallInput<(typeof cloudOperations)[K]>,
  ) => Promise<Reply<ReadOf<(typeof cloudOperations)[K]>>>;
};

export interface CallOptions {
  /** With credentials and, for management, our own rate limit. */
  readonly transport: Transport;
  readonly operations?: Readonly<Record<CloudOperationId, Operation>>;
  readonly watch: InterfaceWatch;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: () => number;
  readonly retry?: Partial<RetryRules>;
}

/** One logical call: retries under one trace id, then the answer, or its error (S-196, S-199). */
export type Perform = (operation: Operation, input: LooseInput) => Promise<{ answer: WireAnswer; traceId: string }>;

const bulkDeadlineMs = 60_000;
const bulkIds: ReadonlySet<string> = new Set(['createDevices', 'updateDevices', 'deleteDevices', 'addNvrDevices']);

export function createPerform(options: CallOptions): Perform {
  const { clock, log, transport, watch } = options;
  const rules = { ...defaultRetry, ...options.retry };
  return async (operation, input) => {
    const traceId = input.headers?.['x-partner-trace-id'] ?? randomUUID();
    const headers = { ...input.headers, 'x-partner-trace-id': traceId };
    const deadline = bulkIds.has(operation.id) ? { deadlineMs: bulkDeadlineMs } : {};
    const request = requestOf(operation, { ...deadline, ...input, headers });
    let lost = false;
    const outcome = await withRetry(() => transport(request), {
      rules,
      signal: input.signal,
      wallMs: () => clock.wall(),
      again(seen) {
        lost ||= mayHaveActed(seen);
        return mayRepeat(operation, seen);
      },
      ...(options.random === undefined ? {} : { random: options.random }),
    });
    const facts = { operation: operation.id, trace_id: traceId };
    if (outcome.kind === 'answer') {
      const { status } = outcome;
      log.debug({ ...facts, status }, 'the cloud answered');
      if (status >= 200 && status < 300) return { answer: outcome, traceId };
      // The reply to an earlier try was lost, and that try was the one that deleted (S-196).
      if (operation.method === 'DELETE' && status === 404 && lost)
        return { answer: { ...outcome, status: 204, body: nothing }, traceId };
      if (!explained(operation, status)) watch.note({ operation: operation.id, path: 'body', what: 'status' });
    } else log.debug({ ...facts, failure: outcome.failure }, 'the cloud did not answer');
    throw callError(outcome, { operation, traceId, wallMs: clock.wall() });
  };
}

const nothing = new Uint8Array();

/** The partner interface's own four on every endpoint, and those any HTTP service may give (S-015, S-021). */
const common: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 408, 413, 429]);
const explained = (operation: Operation, status: number): boolean =>
  status >= 500 || common.has(status) || operation.responses[status] !== undefined;

/** Where a changed record can be read again when the answer to the change was empty (S-193). */
const rereadBy: Readonly<Partial<Record<CloudOperationId, CloudOperationId>>> = {
  updateDealer: 'getDealer',
  updateSite: 'getSite',
  changeActivation: 'getSite',
  linkSite: 'getSite',
  unlinkSite: 'getSite',
  updateMonitoringBindings: 'getSite',
  updateMonitoringStation: 'getMonitoringStation',
  updateContact: 'getContact',
  updateArmingSettings: 'getArmingSettings',
  updateArmingStatus: 'getArmingStatus',
};

/** The typed functions over `perform`. */
export function bindCalls(perform: Perform, options: CallOptions): Calls {
  const operations: Readonly<Record<string, Operation>> = options.operations ?? cloudOperations;
  const call = async (operation: Operation, input: LooseInput): Promise<Reply<unknown>> => {
    const { answer, traceId } = await perform(operation, input);
    const text = new TextDecoder().decode(answer.body);
    const raw = parseJson(text);
    const context: Context = { operation, traceId, wallMs: options.clock.wall() };
    const found = tolerantly(raw, { ...context, answer, params: input.params ?? {}, watch: options.watch });
    if (found.fits) return { value: found.value, raw, status: answer.status, traceId };
    // Before any reading again: what took this request for the cloud need not take the next one.
    if (raw === undefined && text.trim() !== '') throw unreadable(context, options.watch);
    const reread = operations[rereadBy[operation.id as CloudOperationId] ?? ''];
    if (reread !== undefined) {
      const headers = { 'x-partner-trace-id': traceId };
      return call(reread, { params: input.params ?? {}, headers, signal: input.signal });
    }
    if (!('value' in found)) throw badAnswer(context, 'the answer has another form than siteward can read');
    const { value } = found;
    return { value, raw, status: answer.status, traceId };
  };
  const bound = Object.entries(operations).map(([id, operation]) => [
    id,
    (input: LooseInput) => call(operation, input),
  ]);
  return Object.fromEntries(bound) as unknown as Calls;
}

interface Answered extends Context {
  readonly answer: WireAnswer;
  readonly params: Readonly<Record<string, unknown>>;
  readonly watch: InterfaceWatch;
}

type Read = { readonly fits: boolean; readonly value: unknown } | { readonly fits: false };

/** What can be taken from an answer. Any 2xx to an order is success (S-193), also when nothing of its body can be read. */
function tolerantly(raw: unknown, call: Answered): Read {
  const { operation, answer, params, watch } = call;
  const schema = successSchema(operation, answer.status);
  if (schema === undefined) return { fits: raw !== undefined || answer.body.length === 0, value: undefined };
  const note: Note = (path, what) => watch.note({ operation: operation.id, path, what });
  const own = ownIds(params);
  // No content to a question is an empty list.
  const body = answer.status === 204 && operation.method === 'GET' ? [] : raw;
  const found = body === undefined ? undefined : readTolerantly(schema, body, note, own);
  if (found !== undefined) return { fits: true, ...found };
  if (operation.method === 'GET') return { fits: false };
  const nothing = readTolerantly(schema, {}, () => {}, own);
  return nothing === undefined ? { fits: false } : { fits: false, ...nothing };
}

function successSchema({ responses }: Operation, status: number): z.ZodType | undefined {
  const described = Object.entries(responses).filter(([code]) => code.startsWith('2'));
  return (responses[status] ?? described[0]?.[1])?.schema;
}

/** The ids of the path under the names they have in answers: `siteId` is `site_id`. */
const ownIds = (params: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`),
      value,
    ]),
  );

/** HTML and the like under a 2xx: perhaps something on the line answered, and the cloud never saw the request. */
function unreadable(context: Context, watch: InterfaceWatch): SitewardError {
  watch.note({ operation: context.operation.id, path: 'body', what: 'unreadable' });
  return badAnswer(context, 'what answered is not JSON; something on the line may answer in place of the cloud');
}

function badAnswer({ operation, traceId }: Context, what: string): SitewardError {
  const reads = operation.method === 'GET';
  return new SitewardError(
    reads ? 'cloud_bad_answer' : 'cloud_outcome_unknown',
    `${operation.id}: ${what}${reads ? '' : '. It may have been done; look before asking again'}`,
    { facts: { operation: operation.id, trace_id: traceId } },
  );
}
