import type { Writable } from 'node:stream';
import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import type { BodySpec, Operation, Operations, ParamsOf, QueryOf, ReceivedBodyOf } from './operation.ts';

export interface Reply {
  readonly status: number;
  /**
   * An object becomes JSON; text, bytes and a `ReadableStream` of bytes are sent as they are under `content-type` of
   * `headers`. A stream is read as fast as the client takes it, and cancelled when the client goes away.
   */
  readonly body?: unknown;
  /** Of a stream: when it aborts the connection is cut, whatever the client has not taken by then. */
  readonly cut?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Call<O, Identity> {
  readonly params: ParamsOf<O>;
  readonly query: QueryOf<O>;
  readonly body: ReceivedBodyOf<O>;
  /** The body as it came, before the schema; empty where the operation has none, or takes it as a stream. */
  readonly raw: Uint8Array;
  readonly identity: Identity;
  readonly header: (name: string) => string | undefined;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

export type Handler<O, Identity> = (call: Call<O, Identity>) => Reply | Promise<Reply>;

/** A missing handler is a compile error. */
export type Handlers<Ops extends Operations, Identity> = { readonly [K in keyof Ops]: Handler<Ops[K], Identity> };

/** One thing wrong with a request; `field` is a member path such as `[1].zone_number`, or `body`. */
export interface RequestIssue {
  readonly where: 'path' | 'query' | 'body' | 'content-type';
  readonly field: string;
  readonly message: string;
}

export interface ServerRules<Identity> {
  /** Who calls. A `Reply` (401, 403) ends the request before anything of it is read. */
  identify(operation: Operation, context: Context): Identity | Reply | Promise<Identity | Reply>;
  /**
   * Called after `identify` with the places of the path as they came, before anything of the request is checked: for
   * parents that must exist and be the caller's. A `Reply` ends it.
   */
  before?(operation: Operation, params: Readonly<Record<string, string>>, identity: Identity): Reply | undefined;
  /** The answer to a request that does not fit the operation. */
  refuse(operation: Operation, status: 400 | 404 | 413, issues: readonly RequestIssue[]): Reply;
  /** The answer when a handler threw, an AbortError where the client broke off; it must not tell more than the caller may know. */
  failed(operation: Operation, error: unknown, context: Context): Reply;
  /** The last look at an answer, for what every answer carries. */
  finish?(reply: Reply, context: Context): Reply;
  /** Largest body that is no stream, bytes. */
  readonly bodyCap: number;
}

const brokenOff = () => new DOMException('the client has broken off', 'AbortError');

const isReply = (value: unknown): value is Reply =>
  typeof value === 'object' && value !== null && 'status' in value && typeof value.status === 'number';

/** Registers every operation on the app, in the order given: put literal paths before ones with places. */
export function bindServer<const Ops extends Operations, Identity>(
  app: Hono,
  operations: Ops,
  handlers: Handlers<Ops, Identity>,
  rules: ServerRules<Identity>,
): void {
  for (const [id, operation] of Object.entries(operations)) {
    const handler = handlers[id] as Handler<Operation, Identity>;
    const finished = (reply: Reply, context: Context) => respond(rules.finish?.(reply, context) ?? reply, context);
    app.on(operation.method, pathOf(operation), async (context) => {
      try {
        return finished(await serve(context, operation, handler, rules), context);
      } catch (error) {
        const { signal } = context.req.raw;
        const isGone = signal.aborted && error === signal.reason;
        return finished(rules.failed(operation, isGone ? brokenOff() : error, context), context);
      }
    });
  }
}

/**
 * Answers every other method on the operations' paths, with the allowed ones for the `Allow` header. Call it once,
 * after all operations are bound.
 */
export function refuseOtherMethods(
  app: Hono,
  operations: readonly Operation[],
  answer: (allow: readonly string[], context: Context) => Reply,
): void {
  const methods = Map.groupBy(operations, (operation) => pathOf(operation));
  for (const [path, group] of methods) {
    const allow = [...new Set(group.map((operation) => operation.method))].sort();
    app.all(path, (context) => respond(answer(allow, context), context));
  }
}

const pathOf = (operation: Operation): string => operation.path.replaceAll(/\{(\w+)\}/g, ':$1');

async function serve<Identity>(
  context: Context,
  operation: Operation,
  handler: Handler<Operation, Identity>,
  rules: ServerRules<Identity>,
): Promise<Reply> {
  const identity = await rules.identify(operation, context);
  if (isReply(identity)) return identity;
  const rawParams = context.req.param() as Record<string, string>;
  const early = rules.before?.(operation, rawParams, identity);
  if (early !== undefined) return early;
  const params = check(operation.params, rawParams, 'path');
  if ('issues' in params) return rules.refuse(operation, 404, params.issues);
  const query = check(operation.query, namesOf(new URL(context.req.url).searchParams), 'query');
  if ('issues' in query) return rules.refuse(operation, 400, query.issues);
  const body = await readBody(context, operation, rules.bodyCap);
  if (body === 'too large') {
    const issue: RequestIssue = { where: 'body', field: 'body', message: `is larger than ${rules.bodyCap} bytes` };
    return rules.refuse(operation, 413, [issue]);
  }
  if ('issues' in body) return rules.refuse(operation, 400, body.issues);
  return handler({
    params: params.value as never,
    query: query.value as never,
    body: body.value as never,
    raw: body.raw,
    identity,
    header: (name) => context.req.header(name),
    signal: context.req.raw.signal,
  });
}

type Checked = { readonly value: unknown } | { readonly issues: readonly RequestIssue[] };

function check(schema: z.ZodType | undefined, value: unknown, where: RequestIssue['where']): Checked {
  if (schema === undefined) return { value };
  const result = schema.safeParse(value);
  if (result.success) return { value: result.data };
  return {
    issues: result.error.issues.map((issue) => ({ where, field: fieldOf(issue.path, where), message: issue.message })),
  };
}

/** `[1].zone_number` for arrays, `a.b` for objects, the place itself for the whole value. */
function fieldOf(path: readonly PropertyKey[], where: string): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : `${text === '' ? '' : '.'}${String(part)}`;
  return text === '' ? where : text;
}

type ReadBody = { readonly value: unknown; readonly raw: Uint8Array } | { readonly issues: readonly RequestIssue[] };

/** Deeper JSON than this is refused: code that walks it by recursion must not meet its stack's end. */
const maxDepth = 64;

async function readBody(context: Context, operation: Operation, cap: number): Promise<ReadBody | 'too large'> {
  const spec = operation.body;
  if (spec === undefined) return { value: undefined, raw: new Uint8Array() };
  if (spec.streamed === true) return mediaIssue(context, spec) ?? streamed(context.req.raw.body);
  if (Number(context.req.header('content-length') ?? 0) > cap) return 'too large';
  const raw = await readCapped(context.req.raw.body, cap);
  if (raw === undefined) return 'too large';
  if (raw.length === 0 && spec.optional === true) return { value: undefined, raw };
  if (raw.length === 0 && spec.schema !== undefined) {
    return { issues: [{ where: 'body', field: 'body', message: 'is required' }] };
  }
  const wrongMedia = mediaIssue(context, spec);
  if (wrongMedia !== undefined) return wrongMedia;
  if (spec.schema === undefined) return { value: raw, raw };
  const decoded = decode(raw, spec.media);
  const checked = 'issues' in decoded ? decoded : check(spec.schema, decoded.value, 'body');
  return 'issues' in checked ? checked : { ...checked, raw };
}

function mediaIssue(context: Context, spec: BodySpec): { readonly issues: readonly RequestIssue[] } | undefined {
  const media = (context.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (media === spec.media) return undefined;
  return { issues: [{ where: 'content-type', field: 'content-type', message: `must be ${spec.media}` }] };
}

const streamed = (stream: ReadableStream<Uint8Array> | null): ReadBody => ({
  value: piecesOf(stream),
  raw: new Uint8Array(),
});

/** What nobody takes is left unread, as in `readCapped`. Throws an AbortError where the client breaks off. */
async function* piecesOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (stream === null) return;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw brokenOff();
    });
    if (done) return;
    yield value;
  }
}

function decode(raw: Uint8Array, media: BodySpec['media']): Checked {
  const refuse = (message: string): Checked => ({ issues: [{ where: 'body', field: 'body', message }] });
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(raw);
    if (media === 'application/x-www-form-urlencoded') return { value: namesOf(new URLSearchParams(text)) };
    if (depthOf(text) > maxDepth) return refuse(`must not be nested deeper than ${maxDepth} levels`);
    return { value: JSON.parse(text) };
  } catch {
    return refuse(media === 'application/json' ? 'must be JSON' : 'must be UTF-8 text');
  }
}

function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0, inString = false; at < json.length; at += 1) {
    const character = json[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth);
    else if (character === ']' || character === '}') depth -= 1;
  }
  return deepest;
}

/** A name given twice becomes an array, so that a schema of strings refuses it. */
function namesOf(pairs: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(pairs.keys())].map((name) => {
      const values = pairs.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

/** Past the cap the rest is left unread, not cancelled: cancelling would close the socket before the answer is out. */
async function readCapped(stream: ReadableStream<Uint8Array> | null, cap: number): Promise<Uint8Array | undefined> {
  if (stream === null) return new Uint8Array();
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks, total);
    total += value.length;
    if (total > cap) return undefined;
    chunks.push(value);
  }
}

function respond(reply: Reply, context: Context): Response {
  const headers = new Headers(reply.headers);
  if (reply.body === undefined) return new Response(null, { status: reply.status, headers });
  if (reply.body instanceof ReadableStream) {
    if (context.req.method === 'HEAD') {
      // Nobody will read it.
      void reply.body.cancel();
      return new Response(null, { status: reply.status, headers });
    }
    reply.cut?.addEventListener('abort', () => cut(context), { once: true });
    return new Response(reply.body, { status: reply.status, headers });
  }
  if (typeof reply.body === 'string' || reply.body instanceof Uint8Array) {
    return new Response(reply.body as never, { status: reply.status, headers });
  }
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(reply.body), { status: reply.status, headers });
}

/** The end of a stream goes out behind what was sent before it: a client that takes nothing would hold its connection for good. */
function cut({ env }: Context): void {
  const { outgoing } = (env ?? {}) as { outgoing?: Writable };
  if (outgoing?.writableFinished === false) outgoing.destroy();
}
