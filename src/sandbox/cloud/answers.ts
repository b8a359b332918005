import type { Reply } from '#lib/contract/server.ts';

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Payload Too Large',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
};

export interface FieldError {
  readonly field: string;
  readonly message: string;
}

/** Error of the partner interface: the first field in `field`, all in `errors` (S-010). */
export function partnerError(status: number, message: string, errors: readonly FieldError[] = []): Reply {
  return { status, body: { statusCode: status, error: reasons[status] ?? 'Error', message, ...fieldsOf(errors) } };
}

/** Error of the event endpoint (S-162, S-166). */
export function eventError(status: number, error: string, message: string, errors: readonly FieldError[] = []): Reply {
  return { status, body: { error, message, ...fieldsOf(errors) } };
}

function fieldsOf(errors: readonly FieldError[]) {
  const [first] = errors;
  if (first === undefined) return {};
  return { field: first.field, errors: errors.map(({ field, message }) => ({ field, message })) };
}

/** Error of the audio and public interfaces (S-172). */
export function apiError(status: number, code: string, message: string, errors: readonly FieldError[] = []): Reply {
  const first = errors[0];
  return { status, body: { error: { code, message, ...(first === undefined ? {} : { field: first.field }) } } };
}

/** Error of the token endpoint (RFC 6749 5.2): printable ASCII without quotation mark and backslash. */
export function oauthError(
  error: string,
  description: string,
  options: { status?: number; headers?: Record<string, string> } = {},
): Reply {
  const printable = description.replaceAll(/[^\x20-\x7e]|["\\]/g, '?').slice(0, 300);
  return {
    status: options.status ?? 400,
    body: { error, error_description: printable },
    headers: { ...noStore, ...options.headers },
  };
}

export const noStore = { 'cache-control': 'no-store', pragma: 'no-cache' } as const;

/** The message of a list of field errors, readable on its own: `event_id: is required`. */
export const sentence = (errors: readonly FieldError[]): string =>
  errors
    .slice(0, 5)
    .map((error) => `${error.field}: ${error.message}`)
    .join('; ') || 'the request is not valid';
