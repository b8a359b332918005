import type { Context, Hono } from 'hono';
import type { Operation, Operations } from '#lib/contract/operation.ts';
import { bindServer, type Handlers, type Reply, type ServerRules } from '#lib/contract/server.ts';
import { partnerError, sentence } from './answers.ts';
import type { CloudState } from './state.ts';
import { anyClient, type Capability, type Grant } from './tokens.ts';

/** What is known of one request while it is served; it becomes a log line. */
export interface Exchange {
  readonly requestId: string;
  /** By the clock of the machine. */
  readonly arrivedMs: number;
  readonly remoteAddress: string | undefined;
  /** The query as it came, with its question mark. */
  readonly search: string;
  note?: string;
  client?: string;
}

/** Who calls. `grant` is there on paths that need a token. */
export interface Caller {
  readonly exchange: Exchange;
  readonly grant?: Grant;
}

/** One group of operations with its handlers; the routes know nothing of each other. */
export interface Resource {
  readonly operations: readonly Operation[];
  bind(app: Hono): void;
}

export function resource<const Ops extends Operations>(
  operations: Ops,
  handlers: Handlers<Ops, Caller>,
  rules: ServerRules<Caller>,
): Resource {
  return {
    operations: Object.values(operations),
    bind: (app) => bindServer(app, operations, handlers, rules),
  };
}

export const exchangeOf = (context: Context): Exchange => (context.env as { exchange: Exchange }).exchange;

/** Largest JSON or form body (S-014). */
const jsonCap = 1024 * 1024;

/** Rules for open paths; partner error bodies. Resources override what differs. */
export const openRules: ServerRules<Caller> = {
  identify: (_, context) => ({ exchange: exchangeOf(context) }),
  refuse: (_, status, issues) => partnerError(status, sentence(issues), issues),
  // Only a defect of the sandbox gets here; it must not pass for an answer of the service.
  failed: (_, error) => partnerError(500, `the sandbox failed: ${error instanceof Error ? error.message : 'unknown'}`),
  bodyCap: jsonCap,
};

type ErrorBody = (status: 401 | 403, error: string, message: string) => Reply;

/**
 * The caller by bearer token: 401 without a valid one (S-002), 403 for an access token of another interface. An API key
 * is no access token and an access token no API key: either is simply not valid in the other's place (S-023).
 */
export function bearer(state: CloudState, capability: Capability, error: ErrorBody) {
  return (_: Operation, context: Context): Caller | Reply => {
    const exchange = exchangeOf(context);
    const match = /^bearer +([\w.~+/=-]+) *$/i.exec(context.req.header('authorization') ?? '');
    if (match === null) return challenge(error(401, 'unauthorized', 'an access token is required'), '');
    const grant = state.tokens.find(match[1] ?? '', state.now());
    const invalid = (why: string) => challenge(error(401, 'invalid_token', why), ', error="invalid_token"');
    if (grant === 'expired') return invalid('the access token has expired');
    if (grant === undefined || (grant.capability === 'api_key') !== (capability === 'api_key')) {
      return invalid('the access token is not valid');
    }
    if (grant.clientId !== anyClient) exchange.client = grant.clientId;
    if (grant.capability !== capability) {
      return error(403, 'insufficient_scope', `this token does not open the ${capability} interface`);
    }
    return { exchange, grant };
  };
}

const challenge = (reply: Reply, attributes: string): Reply => ({
  ...reply,
  headers: { ...reply.headers, 'www-authenticate': `Bearer realm="partner"${attributes}` },
});
