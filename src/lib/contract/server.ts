import type { Context, Hono } from 'hono';
import type { z } from 'zod';
import type { BodyOf, Operation, Operations, ParamsOf, QueryOf } from './operation.ts';

export interface Reply {
  readonly status: number;
  /** An object becomes JSON; text and bytes are sent as they are under `content-type` of `headers`. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Call<O, Identity> {
  readonly params: ParamsOf<O>;
  readonly query: QueryOf<O>;
  readonly body: BodyOf<O>;
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
  /** Called after `identify` and before the body is looked at: for parents that must exist. A `Reply` ends it. */
  before?(operation: Operation, params: Readonly<Record<string, string>>, identity: Identity): Reply | undefined;
  /** The answer to a request that does not fit the operation. */
  refuse(operation: Operation, status: 400 | 404 | 413, issues: readonly RequestIssue[]): Reply;
  /** The answer when a handler threw; it must not tell more than the caller may know. */
  failed(operation: Operation, error: unknown): Reply;
  /** Largest body, bytes. */
  readonly bodyCap: number;
}

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
    app.on(operation.method, operation.path.replaceAll(/\{(\w+)\}/g, ':$1'), async (context) => {
      try {
        return respond(await serve(context, operation, handler, rules));
      } catch (error) {
        return respond(rules.failed(operation, error));
      }
    });
  }
}

async function serve<Identity>(
  context: Context,
  operation: Operation,
  handler: Handler<Operation, Identity>,
  rules: ServerRules<Identity>,
): Promise<Reply> {
  const identity = await rules.identify(operation, context);
  if (isReply(identity)) return identity;
  const rawParams = context.req.param() as Record<string, string>;
  const params = check(operation.params, rawParams, 'path');
  if ('issues' in params) return rules.refuse(operation, 404, params.issues);
  const early = rules.before?.(operation, rawParams, identity);
  if (early !== undefined) return early;
  const query = check(operation.query, context.req.query(), 'query');
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

async function readBody(context: Context, operation: Operation, cap: number): Promise<Checked | 'too large'> {
  const spec = operation.body;
  if (spec === undefined) return { value: undefined };
  if (Number(context.req.header('content-length') ?? 0) > cap) return 'too large';
  const bytes = await readCapped(context.req.raw.body, cap);
  if (bytes === undefined) return 'too large';
  if (bytes.length === 0 && spec.optional === true) return { value: undefined };
  const media = (context.req.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (media !== spec.media) {
    return { issues: [{ where: 'content-type', field: 'content-type', message: `must be ${spec.media}` }] };
  }
  if (spec.schema === undefined) return { value: bytes };
  const text = new TextDecoder('utf-8', { fatal: false }).decode(bytes);
  if (spec.media === 'application/x-www-form-urlencoded') return check(spec.schema, formOf(text), 'body');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { issues: [{ where: 'body', field: 'body', message: 'must be JSON' }] };
  }
  return check(spec.schema, parsed, 'body');
}

/** A name given twice becomes an array, so that a schema of strings refuses it. */
function formOf(text: string): Record<string, string | string[]> {
  const form = new URLSearchParams(text);
  const result: Record<string, string | string[]> = {};
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name);
    result[name] = values.length === 1 ? (values[0] ?? '') : values;
  }
  return result;
}

async function readCapped(stream: ReadableStream<Uint8Array> | null, cap: number): Promise<Uint8Array | undefined> {
  if (stream === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of stream) {
    total += chunk.length;
    if (total > cap) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, total);
}

function respond(reply: Reply): Response {
  const headers = new Headers(reply.headers);
  if (reply.body === undefined) return new Response(null, { status: reply.status, headers });
  if (typeof reply.body === 'string' || reply.body instanceof Uint8Array) {
    return new Response(reply.body as never, { status: reply.status, headers });
  }
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(reply.body), { status: reply.status, headers });
}
