import { describe, isCode } from '#errors.ts';
import type { FailureKind, WireFailure } from '#lib/contract/client.ts';

/** Error code of Node, OpenSSL or undici, and the kind of failure it means. A prefix ends with `*`. */
const kindOfCode: readonly (readonly [code: string, kind: FailureKind])[] = [
  ['ENOTFOUND', 'dns'],
  ['EAI_*', 'dns'],
  ['ECONNREFUSED', 'refused'],
  ['ENETUNREACH', 'unreachable'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETDOWN', 'unreachable'],
  ['EHOSTDOWN', 'unreachable'],
  ['EADDRNOTAVAIL', 'unreachable'],
  ['ETIMEDOUT', 'timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ['UND_ERR_BODY_TIMEOUT', 'timeout'],
  ['ECONNRESET', 'reset'],
  ['ECONNABORTED', 'reset'],
  ['EPIPE', 'reset'],
  ['UND_ERR_SOCKET', 'reset'],
  ['UND_ERR_CLOSED', 'reset'],
  ['UND_ERR_DESTROYED', 'reset'],
  ['CERT_NOT_YET_VALID', 'tls_time'],
  ['CERT_HAS_EXPIRED', 'tls_time'],
  ['UNABLE_TO_*', 'tls_untrusted'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'tls_untrusted'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_untrusted'],
  ['CERT_UNTRUSTED', 'tls_untrusted'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls_name'],
  ['CERT_*', 'tls'],
  ['ERR_SSL_*', 'tls'],
  ['ERR_TLS_*', 'tls'],
  ['EPROTO', 'tls'],
  ['HPE_*', 'garbled'],
  ['UND_ERR_RESPONSE*', 'garbled'],
  ['UND_ERR_RES_*', 'too_large'],
  ['UND_ERR_HEADERS_OVERFLOW', 'garbled'],
];

const advice: Readonly<Record<FailureKind, string>> = {
  dns: 'the name cannot be resolved; check the address and the DNS server',
  refused: 'nobody listens at the address; check address and port',
  unreachable: 'there is no route to the address; check the network',
  timeout: 'no answer in time; check the line and the firewall',
  reset: 'the connection was cut',
  tls_time: 'the certificate is not valid at this time; check the clock of this machine',
  tls_untrusted: 'the certificate is not trusted; something on the line may answer in place of the cloud',
  tls_name: 'the certificate belongs to another name; something on the line may answer in place of the cloud',
  tls: 'no secure connection could be made',
  garbled: 'the answer is not HTTP; something on the line may answer in place of the cloud',
  too_large: 'the answer is larger than siteward takes',
  forbidden_address: 'the address must not be used',
  token_unreachable: 'the token server cannot be reached',
  token_refused: 'the token server refused the client',
};

/** Failures before a byte of the request has left this machine: it cannot be their cause. */
export const nothingSent: ReadonlySet<FailureKind> = new Set([
  ...(['dns', 'refused', 'unreachable', 'tls', 'tls_time', 'tls_untrusted', 'tls_name'] as const),
  ...(['token_unreachable', 'token_refused', 'forbidden_address'] as const),
]);

/** Turns what a request threw into a failure with its kind. The message names the host, never the path or a header. */
export function failureOf(error: unknown, host: string): WireFailure {
  const code = codeOf(error);
  const failure = isCode(error, 'deadline') ? 'timeout' : kindOf(code);
  const detail = code === undefined ? describe(error).slice(0, 200) : code;
  const notSent = code === 'UND_ERR_CONNECT_TIMEOUT' && { notSent: true as const };
  return { kind: 'failure', failure, message: `${host}: ${advice[failure]} (${detail})`, ...notSent };
}

function kindOf(code: string | undefined): FailureKind {
  for (const [pattern, kind] of kindOfCode) {
    const match = pattern.endsWith('*') ? code?.startsWith(pattern.slice(0, -1)) : code === pattern;
    if (match === true) return kind;
  }
  return 'reset';
}

/** Connecting to several addresses gives an AggregateError; its last member tells most. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1));
  if (!(error instanceof Error)) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // undici leaves the code of some parser errors out.
  if (error.name === 'HTTPParserError') return 'HPE_';
  return error.cause === undefined ? undefined : codeOf(error.cause);
}
