import type { Transport, WireAnswer, WireFailure, WireRequest } from '#lib/contract/client.ts';

/** Faults of any request, then those of what a bulk call answers, then those of a list. */
export const faultNames = [
  ...(['503', '429', '429 for long', '401', '500 before', 'lost', 'html', 'refused line'] as const),
  ...(['mixed', 'refused items', 'shuffled', 'short', 'contradicting', 'reduced', 'wrapped', 'empty'] as const),
  ...(['lie', 'denial'] as const),
] as const;
export type FaultName = (typeof faultNames)[number] | 'none';

const answerOf = (status: number, body: unknown, headers: Record<string, string> = {}): WireAnswer => ({
  ...{ kind: 'answer', status, headers, sentMono: 0, headMono: 0 },
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const failureOf = (failure: WireFailure['failure']): WireFailure => ({ kind: 'failure', failure, message: failure });

interface Entry {
  is_successful: boolean;
  status_code?: number;
  error_message?: string;
  req: unknown;
  res?: Record<string, unknown>;
}
interface Bulk {
  success_count: number;
  failure_count: number;
  results: Entry[];
}

const json = (answer: WireAnswer): unknown => JSON.parse(Buffer.from(answer.body).toString());
const isBulk = (answer: WireAnswer): boolean =>
  answer.status < 300 &&
  answer.body.length > 0 &&
  typeof json(answer) === 'object' &&
  'results' in (json(answer) as object);
const counted = (results: Entry[]): Bulk => {
  const success_count = results.filter(({ is_successful }) => is_successful).length;
  return { success_count, failure_count: results.length - success_count, results };
};

/** The items of a bulk call, and the same call with some of them only. */
function itemsOf(
  request: WireRequest,
): { items: readonly unknown[]; only(items: readonly unknown[]): WireRequest } | undefined {
  if (request.body === undefined || !['createDevices', 'updateDevices', 'addNvrDevices'].includes(request.operation.id))
    return undefined;
  const body: unknown = JSON.parse(Buffer.from(request.body as string).toString());
  const isBare = Array.isArray(body);
  const items: readonly unknown[] = isBare ? body : (body as { deviceIds: unknown[] }).deviceIds;
  return {
    items,
    only: (some) => ({ ...request, body: JSON.stringify(isBare ? some : { deviceIds: some }) }),
  };
}

/** As it is echoed in a result. */
const echo = (request: WireRequest, item: unknown) =>
  request.operation.id === 'addNvrDevices' ? { device_id: item } : item;

/** Every other item is not done and has failed with one of the statuses in turn. */
async function failing(request: WireRequest, real: Transport, statuses: readonly (number | undefined)[]) {
  const bulk = itemsOf(request);
  if (bulk === undefined) return real(request);
  const through = bulk.items.filter((_, index) => index % 2 === 1);
  const answer = through.length === 0 ? undefined : await real(bulk.only(through));
  if (answer !== undefined && (answer.kind === 'failure' || !isBulk(answer))) return answer;
  const done = answer === undefined ? [] : [...(json(answer) as Bulk).results];
  const results = bulk.items.map((item, index): Entry => {
    const result = index % 2 === 1 ? done.shift() : undefined;
    if (result !== undefined) return result;
    const status = statuses[(index / 2) % statuses.length];
    return {
      ...{ is_successful: false, error_message: 'planted', req: echo(request, item) },
      ...(status !== undefined && { status_code: status }),
    };
  });
  return answerOf(200, counted(results));
}

async function reshaped(request: WireRequest, real: Transport, reshape: (bulk: Bulk) => unknown) {
  const answer = await real(request);
  return answer.kind === 'failure' || !isBulk(answer)
    ? answer
    : { ...answer, body: Buffer.from(JSON.stringify(reshape(json(answer) as Bulk))) };
}

/** What a request meets. Faults of bulk answers do nothing to another request. */
async function meet(name: FaultName, request: WireRequest, real: Transport): Promise<WireAnswer | WireFailure> {
  switch (name) {
    case 'none':
      return real(request);
    case '503':
      return answerOf(503, { message: 'busy' });
    case '429':
      return answerOf(429, { message: 'slowly' });
    case '429 for long':
      return answerOf(429, { message: 'slowly' }, { 'retry-after': '600' });
    case '401':
      return answerOf(401, { message: 'who are you' });
    case '500 before':
      return answerOf(500, { message: 'broken' });
    case 'lost':
      await real(request);
      return failureOf('reset');
    case 'html':
      return answerOf(200, '<html><body>Please log in</body></html>');
    case 'refused line':
      return failureOf('refused');
    case 'mixed':
      return failing(request, real, [500, 429, undefined, 503, 404]);
    case 'refused items':
      return failing(request, real, [400, 409, 422]);
    case 'shuffled':
      return reshaped(request, real, ({ results }) => counted(results.toReversed()));
    case 'short':
      return reshaped(request, real, ({ results }) => counted(results.slice(1)));
    case 'contradicting':
      return reshaped(request, real, (bulk) => ({ ...bulk, success_count: 0, failure_count: 77 }));
    case 'reduced':
      return reshaped(request, real, ({ results }) =>
        counted(results.map(({ res, ...entry }) => ({ ...entry, res: { device_id: String(res?.device_id ?? '') } }))),
      );
    case 'wrapped':
      return reshaped(request, real, (bulk) => ({ data: bulk }));
    case 'empty': {
      const answer = await real(request);
      return answer.kind === 'failure' || !isBulk(answer) ? answer : { ...answer, body: Buffer.alloc(0) };
    }
    case 'lie': {
      const bulk = itemsOf(request);
      if (bulk === undefined) return real(request);
      const results = bulk.items.map((item): Entry => ({ is_successful: true, req: echo(request, item), res: {} }));
      return answerOf(200, counted(results));
    }
    case 'denial':
      return reshaped(request, real, ({ results }) =>
        counted(results.map(({ req }) => ({ is_successful: false, status_code: 500, error_message: 'planted', req }))),
      );
  }
}

/** The same list in other words: ids as text, empty members left out, in an envelope. */
function reworded(answer: WireAnswer): WireAnswer {
  const rows = (json(answer) as Record<string, unknown>[]).map((row) =>
    Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) =>
        value === '' ? [] : [[name, name === 'device_id' ? String(value) : value]],
      ),
    ),
  );
  return { ...answer, body: Buffer.from(JSON.stringify({ data: rows })) };
}

export interface FaultyTransport {
  readonly transport: (real: Transport) => Transport;
  /** What the next requests meet, one each. */
  readonly script: FaultName[];
  /** Every answered list comes in other words. */
  isReworded: boolean;
  /** Whether the reply to the registration of a recorder was lost. */
  hasLostNvr: boolean;
  /** Called after each write that may have been done. */
  afterWrite: () => Promise<void>;
  readonly requests: string[];
}

export function faultyTransport(script: readonly FaultName[] = []): FaultyTransport {
  const faulty: FaultyTransport = {
    script: [...script],
    ...{ isReworded: false, hasLostNvr: false, afterWrite: async () => undefined, requests: [] },
    transport: (real) => async (request) => {
      const name = faulty.script.shift() ?? 'none';
      const { id, method } = request.operation;
      faulty.requests.push(`${id}${name === 'none' ? '' : ` ${name}`}`);
      if (id === 'createNvr' && ['lost', '500 before', 'html'].includes(name)) faulty.hasLostNvr = true;
      const answer = await meet(name, request, real);
      if (method !== 'GET') await faulty.afterWrite();
      const isList = id === 'listDevices' && answer.kind === 'answer' && name === 'none';
      return isList && faulty.isReworded ? reworded(answer) : answer;
    },
  };
  return faulty;
}
