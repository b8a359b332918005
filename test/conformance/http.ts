import { type Dispatcher, request } from 'undici';

/** A JSON value whose members may be asked for without knowing that they are there. */
export interface Loose {
  readonly [member: string]: Loose | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: Loose | undefined;
  readonly bytes: Uint8Array;
}

export interface Ask {
  readonly token?: string | undefined;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent form-encoded. */
  readonly form?: Readonly<Record<string, string>>;
  /** Sent as it is; give `content-type` in `headers`. */
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Method = Dispatcher.HttpMethod;

/** One plain request. Nothing is retried, followed or interpreted. */
export async function send(method: Method, url: string, ask: Ask = {}): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (ask.token !== undefined) headers.authorization = `Bearer ${ask.token}`;
  if (ask.json !== undefined) headers['content-type'] = 'application/json';
  if (ask.form !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded';
  const response = await request(url, {
    method,
    headers: { ...headers, ...ask.headers },
    body: bodyOf(ask) ?? null,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  });
  const bytes = new Uint8Array(await response.body.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  return { status: response.statusCode, headers: response.headers, text, json: parsed(text), bytes };
}

function bodyOf({ json, form, body }: Ask): string | Uint8Array | undefined {
  if (json !== undefined) return JSON.stringify(json);
  return form === undefined ? body : new URLSearchParams(form).toString();
}

function parsed(text: string): Loose | undefined {
  try {
    return JSON.parse(text) as Loose;
  } catch {
    return undefined;
  }
}
