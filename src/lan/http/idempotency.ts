import { createHmac, randomBytes } from 'node:crypto';
import { Counter, Gauge, type Registry } from 'prom-client';
import { SitewardError } from '#errors.ts';
import type { By } from '#lan/access/index.ts';
import type { Clock } from '#lib/clock.ts';
import type { Operation } from '#lib/contract/operation.ts';
import type { Call, Handler, Reply } from '#lib/contract/server.ts';
import { askerOf } from './answering.ts';
import { knownProblem } from './problem.ts';

/**
 * Answers by the `Idempotency-Key` of their requests: whoever sends one again, because the answer was lost, gets the same
 * and nothing is done twice. In memory: after a restart it is. Commands, playbacks and verifications carry ids that are kept on disk.
 */
export interface Idempotency {
  /** The handler of an operation that takes such keys; any other as it is. */
  guard(operation: Operation, handler: Handler<Operation, By>): Handler<Operation, By>;
}

export interface IdempotencyLimits {
  readonly keys: number;
  readonly keysOfOne: number;
  readonly bytes: number;
  /** A larger answer is not kept. */
  readonly answerBytes: number;
  readonly keptMs: number;
}

export const idempotencyLimits: IdempotencyLimits = {
  keys: 1000,
  keysOfOne: 250,
  bytes: 4 * 1024 * 1024,
  answerBytes: 64 * 1024,
  keptMs: 24 * 3_600_000,
};

/** These let somebody in, show what is secret, or only read: no answer of theirs is kept. */
const neverKept: ReadonlySet<string> = new Set([
  ...['claim', 'login', 'logout', 'setOwnPassword', 'addKey', 'showClaimCode', 'resetAccess'],
  ...['openAudit', 'listAudit', 'verifyAudit', 'exportAudit', 'exportedAudit', 'getCloudActivity'],
  ...['exportMedia', 'readMedia', 'makeSupportBundle', 'checkConfig'],
  ...['discoverCameras', 'inspectCamera'],
]);

export const takesKey = ({ id, method, body }: Operation): boolean =>
  method === 'POST' && body?.streamed !== true && !neverKept.has(id);

/** What is under way with a key goes on when the client leaves: it comes again for the answer. */
const workMs = 120_000;
const pendingRetryMs = 1000;
const ofEntry = 512;

interface Entry {
  readonly client: string;
  /** Of the whole request, by a key of this run: a body may hold a code. */
  readonly print: string;
  readonly until: number;
  /** Undefined: under way. */
  answer: Reply | undefined;
  bytes: number;
}

export function createIdempotency(options: {
  clock: Clock;
  metrics: Registry;
  limits?: IdempotencyLimits;
}): Idempotency {
  const { clock, limits = idempotencyLimits } = options;
  const secret = randomBytes(32);
  /** By caller and key, oldest first. */
  const entries = new Map<string, Entry>();
  let bytes = 0;
  const count = metersOf(options.metrics, () => entries.size);

  function forget(name: string, entry: Entry): void {
    if (entries.get(name) !== entry) return;
    entries.delete(name);
    bytes -= entry.bytes;
  }

  function sweep(): void {
    for (const [name, entry] of entries) {
      if (entry.until > clock.monotonic()) return;
      if (entry.answer !== undefined) forget(name, entry);
    }
  }

  /** The oldest answer, of this caller where it has its share; false where all are under way. */
  function giveWay(client?: string): boolean {
    for (const [name, entry] of entries) {
      if (entry.answer === undefined || (client !== undefined && entry.client !== client)) continue;
      forget(name, entry);
      count.inc({ result: 'given_way' });
      return true;
    }
    return false;
  }

  function enter(name: string, client: string, print: string): Entry {
    sweep();
    const own = [...entries.values()].filter((entry) => entry.client === client).length;
    const hasRoom = (own < limits.keysOfOne || giveWay(client)) && (entries.size < limits.keys || giveWay());
    if (!hasRoom) throw new SitewardError('queue_full', 'too many requests with an Idempotency-Key are under way');
    const entry: Entry = { client, print, until: clock.monotonic() + limits.keptMs, answer: undefined, bytes: ofEntry };
    entries.set(name, entry);
    bytes += ofEntry;
    return entry;
  }

  function keep(name: string, entry: Entry, reply: Reply): void {
    const size = sizeOf(reply);
    if (size === undefined || size > limits.answerBytes) {
      forget(name, entry);
      return;
    }
    entry.answer = reply;
    entry.bytes += size;
    bytes += size;
    while (bytes > limits.bytes && giveWay());
  }

  function printOf(operation: Operation, { params, query, raw }: Call<Operation, By>): string {
    const head = JSON.stringify([operation.id, params, query]);
    return createHmac('sha256', secret).update(`${head}\n`).update(raw).digest('base64');
  }

  async function once(name: string, entry: Entry, work: () => Reply | Promise<Reply>): Promise<Reply> {
    try {
      const reply = await work();
      if (isKept(reply)) keep(name, entry, reply);
      else forget(name, entry);
      return reply;
    } catch (error) {
      const reply = knownProblem(error);
      if (reply === undefined || !isKept(reply)) {
        forget(name, entry);
        throw error;
      }
      keep(name, entry, reply);
      return reply;
    }
  }

  return {
    guard: (operation, handler) =>
      takesKey(operation)
        ? (call) => {
            const key = keyOf(call.header('idempotency-key'));
            if (key === undefined || call.identity.caller.kind === 'nobody') return handler(call);
            const { client } = askerOf(call.identity);
            const name = `${client}\n${key}`;
            const print = printOf(operation, call);
            const found = entries.get(name);
            if (found !== undefined && (found.until > clock.monotonic() || found.answer === undefined)) {
              const { answer } = found;
              const result = found.print !== print ? 'conflict' : answer === undefined ? 'pending' : 'replayed';
              count.inc({ result });
              if (result === 'conflict') throw conflict();
              if (answer === undefined) throw pending();
              return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
            }
            if (found !== undefined) forget(name, found);
            const entry = enter(name, client, print);
            return once(name, entry, () => handler({ ...call, signal: AbortSignal.timeout(workMs) }));
          }
        : handler,
  };
}

/** A failure of the moment may pass with the next try. */
const isKept = ({ status, headers = {} }: Reply): boolean =>
  status < 500 && status !== 429 && !Object.keys(headers).some((name) => name.toLowerCase() === 'set-cookie');

/** Undefined for bytes and streams, which are not kept. */
function sizeOf({ body }: Reply): number | undefined {
  if (body instanceof Uint8Array || body instanceof ReadableStream) return undefined;
  return body === undefined ? 0 : 2 * JSON.stringify(body).length;
}

function keyOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[\x21-\x7e]{1,128}$/.test(text)) return text;
  throw new SitewardError('request_invalid', 'Idempotency-Key must be 1 to 128 visible characters of ASCII', {
    facts: { field: 'Idempotency-Key' },
  });
}

const conflict = () =>
  new SitewardError('idempotency_conflict', 'another request came with this Idempotency-Key; make a new one for each');

const pending = () =>
  new SitewardError('idempotency_pending', 'the request of this Idempotency-Key is still under way; ask again', {
    facts: { retryAfterMs: pendingRetryMs },
  });

function metersOf(metrics: Registry, kept: () => number): Counter<'result'> {
  const registers = [metrics];
  new Gauge({
    name: 'siteward_idempotency_keys',
    help: 'Idempotency keys of which the answer is kept or under way',
    registers,
    collect() {
      this.set(kept());
    },
  });
  return new Counter({
    name: 'siteward_idempotency_total',
    help: 'Requests of a known idempotency key by result, and answers that gave way to newer ones',
    labelNames: ['result'],
    registers,
  });
}
