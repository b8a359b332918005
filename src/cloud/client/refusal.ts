import { type ErrorCode, SitewardError } from '#errors.ts';
import type { WireAnswer, WireFailure } from '#lib/contract/client.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { isObject, objectOf, parseJson } from './json.ts';
import { askedWaitMs, mayHaveActed } from './retry.ts';

/** What an error body says, whatever its shape (S-195). */
export interface Problem {
  readonly fields: readonly string[];
  readonly message?: string;
  /** The first 1 KiB of the body as text. */
  readonly excerpt: string;
}

const excerptBytes = 1024;

/** Reads any error body: JSON of any shape, HTML, nothing. Never throws. */
export function problemOf(answer: WireAnswer): Problem {
  const excerpt = new TextDecoder().decode(answer.body.subarray(0, excerptBytes));
  const body = parseJson(new TextDecoder().decode(answer.body));
  const inner = objectOf(objectOf(body)?.error);
  const places = [body, inner].filter(isObject);
  const fields = places.flatMap((place) => [place.field, ...listOf(place.errors).map((one) => objectOf(one)?.field)]);
  const names = ['message', 'error_description', 'detail', 'error', 'error_message'] as const;
  const message = names
    .flatMap((name) => places.map((place) => textOf(place[name])))
    .find((text) => text !== undefined);
  return {
    fields: [...new Set(fields.filter((field) => typeof field === 'string' && field !== ''))].map(String).slice(0, 20),
    ...(message === undefined ? {} : { message: message.slice(0, 500) }),
    excerpt,
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, 20) : []);

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.slice(0, 20).filter((one) => typeof one === 'string');
    return texts.length === 0 ? undefined : texts.join('; ');
  }
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

export interface Context {
  readonly operation: Operation;
  readonly traceId: string;
  readonly wallMs: number;
}

/** The error of a call that did not succeed. Its facts carry operation, status, field and trace id; never a secret. */
export function callError(outcome: WireAnswer | WireFailure, context: Context): SitewardError {
  const { operation, traceId, wallMs } = context;
  const asked = askedWaitMs(outcome, wallMs);
  const shared = {
    operation: operation.id,
    trace_id: traceId,
    ...(asked === undefined ? {} : { retry_after_ms: asked }),
  };
  const lost = operation.repeatable === 'no' && mayHaveActed(outcome);
  if (outcome.kind === 'failure') {
    const code = lost ? 'cloud_outcome_unknown' : codeOfFailure(outcome);
    return new SitewardError(code, `${operation.id}: ${outcome.message}${lost ? unknown : ''}`, {
      facts: { ...shared, failure: outcome.failure },
    });
  }
  const { fields, message } = problemOf(outcome);
  const code = lost ? 'cloud_outcome_unknown' : codeOfStatus(outcome.status);
  const said = message === undefined ? '' : `: ${message}`;
  const hint = lost ? unknown : outcome.status === 403 ? availabilityHint(operation) : '';
  return new SitewardError(code, `${operation.id}: the cloud answered with status ${outcome.status}${said}${hint}`, {
    facts: { ...shared, status: outcome.status, ...(fields[0] === undefined ? {} : { field: fields.join(', ') }) },
  });
}

const unknown = '. Whether it was done is not known; look before asking again';

function codeOfFailure({ failure }: WireFailure): ErrorCode {
  if (failure === 'token_refused') return 'cloud_unauthorized';
  return failure === 'garbled' || failure === 'too_large' ? 'cloud_bad_answer' : 'cloud_unreachable';
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 401) return 'cloud_unauthorized';
  if (status === 403) return 'cloud_forbidden';
  if (status === 404) return 'cloud_not_found';
  if (status === 408 || status === 425 || status === 429 || status >= 500) return 'cloud_unreachable';
  return status >= 400 ? 'cloud_refused' : 'cloud_bad_answer';
}

const kinds = {
  'only A': 'alarm platforms only (kind A)',
  'only B': 'video platforms only (kind B)',
  'ready for B': 'alarm platforms, and video platforms as they become ready (kind B)',
} as const;

/** A 403 has two causes that the service does not tell apart (S-004, S-075). */
function availabilityHint({ availability }: Operation): string {
  if (availability === undefined) return '. The dealer is perhaps not connected to this client';
  return (
    `. Either the dealer is not connected to this client, or the operation is not for it: the service offers it to ` +
    `${kinds[availability]}`
  );
}
