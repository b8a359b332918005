import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { jsonOf } from '#lib/json-text.ts';
import { type ReplyCode, unknownClient } from '#site/model/index.ts';
import {
  type ArmBody,
  armBody,
  type BypassBody,
  bypassBody,
  type CancelBody,
  type ClearMemoryBody,
  cancelBody,
  clearMemoryBody,
  type DisarmBody,
  type DispatchBody,
  disarmBody,
  dispatchBody,
  type PingBody,
  type PlayBody,
  type PostponeBody,
  pingBody,
  playBody,
  postponeBody,
  type QueryBody,
  queryBody,
  type Reply,
  type SilenceBody,
  type SnapshotBody,
  silenceBody,
  snapshotBody,
  type TestBody,
  testBody,
  type VerifyBody,
  verifyBody,
  type WatchBody,
  watchBody,
} from './schemas.ts';
import { limits } from './state.ts';
import { codeAsTarget, withoutCode } from './stray-code.ts';
import type { Role } from './table.ts';

/** One message as it came, with what MQTT 5 adds; 3.1.1 clients say the same in the payload. */
export interface RawCommand {
  /** The topic below `cmd/`. */
  readonly verb: string;
  readonly payload: Uint8Array;
  readonly retained: boolean;
  readonly responseTopic?: string;
  readonly userId?: string;
  /** Seconds until the broker would have dropped it. */
  readonly expiryS?: number;
}

/** Who published a message, where that can be known: only the embedded broker tells. */
export interface CommandSender {
  /** Its user name, or its client id when it has none. */
  readonly client: string;
  /** The name was proven by a password: its replies stay under it. */
  readonly proven: boolean;
  /** What the name may do. */
  readonly role?: Role;
}

/** Who is proven to have sent it. */
export const provenClient = (sender: CommandSender | undefined): string =>
  sender?.proven === true ? sender.client : unknownClient;

export interface CommandMessage extends RawCommand {
  readonly sender?: CommandSender;
  /** MQTT 5 correlation data, given back as it came. */
  readonly correlationData?: Buffer;
  /** Takes the replies in place of a topic. */
  readonly answer?: (reply: Reply) => void;
  /** Of a call for help: it is on disk, or nobody can read it, and need not stay at the broker. */
  readonly onDone?: () => void;
}

type Verbs = {
  arm: ArmBody;
  disarm: DisarmBody;
  bypass: BypassBody;
  clear_memory: ClearMemoryBody;
  test: TestBody;
  postpone: PostponeBody;
  query: QueryBody;
  ping: PingBody;
  silence: SilenceBody;
  snapshot: SnapshotBody;
  play: PlayBody;
  cancel: CancelBody;
  dispatch: DispatchBody;
  watch: WatchBody;
  verify: VerifyBody;
};
export type ParsedCommand = {
  [V in keyof Verbs]: { readonly verb: V; readonly body: Omit<Verbs[V], 'code'>; readonly code?: string };
}[keyof Verbs] & {
  readonly issuedAt: number;
  readonly expiresAt?: number;
  /** SHA-256 of verb and body without the code. */
  readonly bodyHash: string;
};

/** What could be read of a message that is refused, so that it can be answered. */
export interface Refusal {
  readonly code: ReplyCode;
  readonly field?: string;
}

export interface Envelope {
  readonly id: string | null;
  readonly replyTo?: string;
  readonly correlation?: string;
}

export type Parsed =
  | { readonly kind: 'empty' }
  | { readonly kind: 'refused'; readonly envelope: Envelope; readonly refusal: Refusal }
  | { readonly kind: 'command'; readonly envelope: Envelope; readonly command: ParsedCommand };

const schemas = {
  arm: armBody,
  disarm: disarmBody,
  bypass: bypassBody,
  clear_memory: clearMemoryBody,
  test: testBody,
  postpone: postponeBody,
  query: queryBody,
  ping: pingBody,
  silence: silenceBody,
  snapshot: snapshotBody,
  play: playBody,
  cancel: cancelBody,
  dispatch: dispatchBody,
  watch: watchBody,
  verify: verifyBody,
} as const satisfies Record<string, z.ZodType>;

/**
 * Reads a command. Bytes first: nothing of a payload is trusted to be text, JSON or small. Order of the refusals: TOO_LARGE, NOT_UTF8,
 * BAD_JSON, RETAINED, UNKNOWN_VERB, SCHEMA. An empty payload is what clearing a retained topic looks like: no command.
 */
export function parseCommand(raw: RawCommand, nowWall: number): Parsed {
  const found = readObject(raw);
  if (found.kind !== 'object') return found;
  const { body, envelope } = found;
  if (!Object.hasOwn(schemas, raw.verb)) return { kind: 'refused', envelope, refusal: { code: 'UNKNOWN_VERB' } };
  return validate(raw, body, envelope, nowWall);
}

export type ReadObject =
  | Exclude<Parsed, { kind: 'command' }>
  | { readonly kind: 'object'; readonly envelope: Envelope; readonly body: Record<string, unknown> };

/** The object in a payload, whatever its members; see `parseCommand`. */
export function readObject(raw: RawCommand): ReadObject {
  if (raw.payload.length === 0) return { kind: 'empty' };
  const refuse = (refusal: Refusal, envelope: Envelope) => ({ kind: 'refused', refusal, envelope }) as const;
  const blind = (code: ReplyCode) => refuse({ code }, withProperties(scan(raw.payload), raw));
  if (raw.payload.length > limits.command_bytes) return blind('TOO_LARGE');
  const text = decode(raw.payload);
  if (text === undefined) return blind('NOT_UTF8');
  const body = jsonOf(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return blind('BAD_JSON');
  const filled: Record<string, unknown> =
    raw.userId !== undefined && !Object.hasOwn(body, 'id') ? { ...body, id: raw.userId } : { ...body };
  const envelope = withProperties(read(filled), raw);
  if (raw.retained) return refuse({ code: 'RETAINED' }, envelope);
  const excess = tooLarge(filled);
  if (excess !== undefined) return refuse({ code: 'TOO_LARGE', field: excess }, envelope);
  return { kind: 'object', envelope, body: filled };
}

/**
 * A call for help, with as much of it as can be read: neither its size, its depth, a wrong byte nor broken JSON hides what stands in its
 * first 8 KiB (safety 1). `refusal` is what another command would be refused for.
 */
export interface LooseCall {
  readonly envelope: Envelope;
  readonly body: Readonly<Record<string, unknown>>;
  readonly refusal?: Refusal;
}

/** Undefined where there is nothing to read. `names`: members that are looked for where the whole cannot be read. */
export function readCall(raw: RawCommand, names: readonly string[]): LooseCall | undefined {
  const found = readObject({ ...raw, retained: false });
  if (found.kind === 'empty') return undefined;
  const { envelope } = found;
  if (found.kind === 'object') return { envelope, body: found.body };
  const body = looseBody(raw.payload, names);
  return { envelope, body: { ...(envelope.id !== null && { id: envelope.id }), ...body }, refusal: found.refusal };
}

function looseBody(payload: Uint8Array, names: readonly string[]): Record<string, unknown> {
  const head = Buffer.from(payload.subarray(0, limits.command_bytes));
  const whole = jsonOf(head.toString('utf8'));
  if (typeof whole === 'object' && whole !== null && !Array.isArray(whole)) return { ...whole };
  const text = head.toString('latin1');
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = new RegExp(`"${name}"\\s*:\\s*"([\\w:.+-]{1,64})"`).exec(text)?.[1];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function validate(raw: RawCommand, body: Record<string, unknown>, envelope: Envelope, nowWall: number): Parsed {
  const verb = raw.verb as keyof typeof schemas;
  const result = schemas[verb].safeParse(body);
  const { correlation, ...silent } = envelope;
  const shown = correlation !== undefined && correlation === body.code ? silent : envelope;
  const refuse = (field: string): Parsed => ({
    kind: 'refused',
    envelope: shown,
    refusal: { code: 'SCHEMA', field },
  });
  if (!result.success) return refuse(fieldOf(result.error));
  // The code leaves the body here: nothing that is hashed, kept or logged has ever held it.
  const { code, ...given } = result.data;
  const stray = codeAsTarget(given, code);
  if (stray !== undefined) return refuse(stray);
  const rest = withoutCode(given, code);
  const issuedAt = Date.parse(rest.issued_at);
  if (Number.isNaN(issuedAt)) return refuse('issued_at');
  const expiresAt = rest.expires_at === undefined ? undefined : Date.parse(rest.expires_at);
  if (Number.isNaN(expiresAt)) return refuse('expires_at');
  const deadlines = [expiresAt, raw.expiryS === undefined ? undefined : nowWall + raw.expiryS * 1000];
  const earliest = Math.min(...deadlines.filter((value) => value !== undefined));
  const command = {
    verb,
    body: rest,
    ...(code === undefined ? {} : { code }),
    issuedAt,
    ...(Number.isFinite(earliest) ? { expiresAt: earliest } : {}),
    bodyHash: createHash('sha256')
      .update(`${verb} ${canonical(rest)}`)
      .digest('hex'),
  } as ParsedCommand;
  return { kind: 'command', envelope: shown, command };
}

function decode(payload: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(payload);
  } catch {
    return undefined;
  }
}

export const idShape = /^[0-9a-fA-F-]{36}$/;

/** Id and addresses of a body that need not be valid otherwise. */
function read(body: Record<string, unknown>): Envelope {
  const { id, reply_to: replyTo, correlation } = body;
  return {
    id: typeof id === 'string' && idShape.test(id) ? id : null,
    ...(typeof replyTo === 'string' && replyTo.length <= 200 ? { replyTo } : {}),
    ...(typeof correlation === 'string' && correlation.length <= 128 ? { correlation } : {}),
  };
}

/** The same from bytes that are not JSON; people mistype codes as 0012 and still deserve an answer. */
function scan(payload: Uint8Array): Envelope {
  const text = Buffer.from(payload.subarray(0, limits.command_bytes)).toString('latin1');
  const id = /"id"\s*:\s*"([0-9a-fA-F-]{36})"/.exec(text)?.[1] ?? null;
  const replyTo = /"reply_to"\s*:\s*"([A-Za-z0-9_/-]{1,200})"/.exec(text)?.[1];
  return { id, ...(replyTo === undefined ? {} : { replyTo }) };
}

function withProperties(envelope: Envelope, raw: RawCommand): Envelope {
  return {
    ...envelope,
    ...(raw.responseTopic === undefined ? {} : { replyTo: raw.responseTopic }),
    ...(envelope.id === null && raw.userId !== undefined && idShape.test(raw.userId) ? { id: raw.userId } : {}),
  };
}

/** The member that breaks a limit of depth or length; undefined when none does. */
function tooLarge(value: unknown, depth = 1, field = 'body'): string | undefined {
  if (typeof value === 'string') return Buffer.byteLength(value) > limits.string_bytes ? field : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > limits.json_depth) return field;
  for (const [key, member] of Object.entries(value)) {
    const inner = tooLarge(member, depth + 1, depth === 1 ? safeName(key) : field);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

export function fieldOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'body';
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path;
  return safeName(path.map(String).join('.'));
}

/** Names are repeated to the sender only if they look like names: a code in the wrong place must not come back. */
function safeName(name: string): string {
  return /^[A-Za-z_][\w.-]{0,63}$/.test(name) && !/\d{4}/.test(name) ? name : 'body';
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
