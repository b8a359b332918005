import type { z } from 'zod';
import type { BodyOf, Operation, Operations, ParamsOf, QueryOf } from './operation.ts';

/** Why no answer came. `timeout` and `reset` leave open whether the server acted. */
export type FailureKind =
  | 'dns'
  | 'refused'
  | 'unreachable'
  | 'timeout'
  | 'reset'
  /** The certificate is not valid at this time: its dates, or our clock, are wrong. */
  | 'tls_time'
  /** Nobody we trust signed the certificate. */
  | 'tls_untrusted'
  /** The certificate belongs to another name. */
  | 'tls_name'
  | 'tls'
  /** What came back is not HTTP. */
  | 'garbled'
  | 'too_large'
  /** The address must not be dialled; the message names the configuration key. */
  | 'forbidden_address'
  /** No access token could be had; nothing was sent. */
  | 'token_unreachable'
  | 'token_refused';

export interface WireRequest {
  readonly operation: Operation;
  /** Path and query string, from the root of the operation's base address. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal: AbortSignal;
  /** For the whole exchange, milliseconds; the transport has a default. */
  readonly deadlineMs?: number;
}

export interface WireAnswer {
  readonly kind: 'answer';
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Monotonic milliseconds when the request left and the answer's head came. */
  readonly sentMono: number;
  readonly headMono: number;
}

export interface WireFailure {
  readonly kind: 'failure';
  readonly failure: FailureKind;
  /** For people: what happened and what to do; never a secret. */
  readonly message: string;
  /** There was no connection yet, so that the server cannot have acted. */
  readonly notSent?: true;
  /** How long to leave the server alone, milliseconds, when that is known. */
  readonly retryAfterMs?: number;
}

/** Sends one request. Resolves with an answer or a failure; rejects only with the reason of an aborted signal. */
export type Transport = (request: WireRequest) => Promise<WireAnswer | WireFailure>;

type AnyResponses = Readonly<Record<number, { readonly schema?: z.ZodType }>>;
type SchemasOf<R> = R extends AnyResponses
  ? { [S in keyof R]: R[S] extends { readonly schema: infer Z extends z.ZodType } ? z.output<Z> : never }[keyof R]
  : never;

/** The answer of a server, read tolerantly: `value` is there only when the body fits what the operation describes. */
export interface Answer<O> extends WireAnswer {
  readonly text: string;
  /** The body as JSON; undefined when it is empty or not JSON. */
  readonly json: unknown;
  readonly value: (O extends { responses: infer R } ? SchemasOf<R> : unknown) | undefined;
}

export type Result<O> = Answer<O> | WireFailure;

/** May be left out when nothing in it is required. */
type Given<K extends string, V> = V extends undefined | Record<string, never>
  ? { readonly [P in K]?: V }
  : Record<never, never> extends V
    ? { readonly [P in K]?: V }
    : { readonly [P in K]: V };

export type CallInput<O> = Given<'params', ParamsOf<O>> &
  Given<'query', QueryOf<O>> & {
    readonly body?: BodyOf<O>;
    /** The body as text that is already encoded, byte for byte; used instead of `body`. */
    readonly encoded?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
    readonly deadlineMs?: number;
  };

export type Client<Ops extends Operations> = {
  readonly [K in keyof Ops]: (input: CallInput<Ops[K]>) => Promise<Result<Ops[K]>>;
};

/** One typed function per operation. Parameters are percent-encoded into the path; unset query members are left out. */
export function bindClient<const Ops extends Operations>(operations: Ops, transport: Transport): Client<Ops> {
  const calls: Record<string, (input: LooseInput) => Promise<Result<Operation>>> = {};
  for (const [id, operation] of Object.entries(operations)) {
    calls[id] = async (input) => {
      const result = await transport(requestOf(operation, input));
      return result.kind === 'failure' ? result : new ReadAnswer(operation, result);
    };
  }
  return calls as unknown as Client<Ops>;
}

export interface LooseInput {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly encoded?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
}

/** The request of one call. Throws TypeError for a path parameter that would address another resource. */
export function requestOf(operation: Operation, input: LooseInput): WireRequest {
  const body = encode(operation, input);
  return {
    operation,
    target: pathOf(operation, input.params ?? {}) + queryOf(input.query),
    headers: {
      accept: 'application/json',
      ...(body === undefined || operation.body === undefined ? {} : { 'content-type': operation.body.media }),
      ...input.headers,
    },
    ...(body === undefined ? {} : { body }),
    signal: input.signal,
    ...(input.deadlineMs === undefined ? {} : { deadlineMs: input.deadlineMs }),
  };
}

function pathOf(operation: Operation, params: Readonly<Record<string, unknown>>): string {
  if (!operation.path.includes('{')) return operation.path;
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    // An empty or dotted segment would address another resource.
    if (value === undefined || value === '' || value === '.' || value === '..') {
      throw new TypeError(`${operation.id}: no usable value for {${name}}`);
    }
    return encodeURIComponent(String(value));
  });
}

function queryOf(query: Readonly<Record<string, unknown>> | undefined): string {
  if (query === undefined) return '';
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) pairs.append(name, String(one));
  }
  const text = pairs.toString();
  return text === '' ? '' : `?${text}`;
}

function encode(operation: Operation, input: LooseInput): string | Uint8Array | undefined {
  if (input.encoded !== undefined) return input.encoded;
  if (input.body === undefined || operation.body === undefined) return undefined;
  if (input.body instanceof Uint8Array) return input.body;
  if (operation.body.media !== 'application/x-www-form-urlencoded') return JSON.stringify(input.body);
  return new URLSearchParams(input.body as Record<string, string>).toString();
}

const utf8 = new TextDecoder();

/** Text and JSON are made when somebody asks, once: many callers look at the status alone. */
class ReadAnswer implements Answer<Operation> {
  readonly kind = 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly sentMono: number;
  readonly headMono: number;
  readonly #operation: Operation;
  #text: string | undefined;
  #parsed: { readonly json: unknown } | undefined;

  constructor(operation: Operation, answer: WireAnswer) {
    this.#operation = operation;
    this.status = answer.status;
    this.headers = answer.headers;
    this.body = answer.body;
    this.sentMono = answer.sentMono;
    this.headMono = answer.headMono;
  }

  get text(): string {
    this.#text ??= utf8.decode(this.body);
    return this.#text;
  }

  get json(): unknown {
    this.#parsed ??= { json: parse(this.text) };
    return this.#parsed.json;
  }

  get value(): undefined {
    const schema = this.#operation.responses[this.status]?.schema;
    if (schema === undefined || this.json === undefined) return undefined;
    const checked = schema.safeParse(this.json);
    // Callers see the type their operation gives; only here it is not known.
    return checked.success ? (checked.data as undefined) : undefined;
  }
}

function parse(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
