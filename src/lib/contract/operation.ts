import type { z } from 'zod';

/**
 * One HTTP operation as plain data. From it come a server (`bindServer`), a client (`bindClient`), the OpenAPI
 * documents and the verbs of `siteward api`.
 */
export interface Operation {
  /** Stable name in lowerCamelCase: `createSite`. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with `{name}` places, from the root of its base address. */
  readonly path: string;
  /** Which base address of the configuration it belongs to: `base`, `auth`, `ext`, `lan`. */
  readonly base: string;
  readonly summary: string;
  /** All members are strings on the wire. */
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: BodySpec;
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** Kinds of credential that open it; empty means none is needed. */
  readonly auth: readonly string[];
  /** Whether a client may send it again after a lost reply. `by_id`: safe, the server knows repeats by an id in the body. */
  readonly repeatable: 'yes' | 'by_id' | 'no';
  /** Where the rules come from: checklist numbers S-nnn, rules C-n. */
  readonly rules: readonly string[];
  readonly tags?: readonly string[];
  /** For which kind of integration the service offers it; without it, for every kind. */
  readonly availability?: Availability;
}

/** Tags of the service's own index of endpoints. */
export type Availability = 'only A' | 'ready for B' | 'only B';

export interface BodySpec {
  readonly media:
    | 'application/json'
    | 'application/x-www-form-urlencoded'
    | 'image/jpeg'
    | 'video/mp4'
    | 'application/octet-stream';
  readonly schema?: z.ZodType;
  /** One item of a list whose items are judged each on its own: `schema` takes the list, this the item. */
  readonly items?: z.ZodType;
  readonly optional?: boolean;
  /** A file: the handler takes it as it comes, and bounds it. */
  readonly streamed?: true;
}

export interface ResponseSpec {
  readonly description: string;
  readonly media?: string;
  readonly schema?: z.ZodType;
}

export function defineOperation<const O extends Operation>(operation: O): O {
  return operation;
}

export type ParamsOf<O> = O extends { params: infer S extends z.ZodType } ? z.output<S> : Record<string, never>;
export type QueryOf<O> = O extends { query: infer S extends z.ZodType } ? z.output<S> : Record<string, never>;
export type BodyOf<O> = O extends { body: { schema: infer S extends z.ZodType; optional: true } }
  ? z.output<S> | undefined
  : O extends { body: { schema: infer S extends z.ZodType } }
    ? z.output<S>
    : O extends { body: BodySpec }
      ? Uint8Array
      : undefined;

/** What a handler is given of it. */
export type ReceivedBodyOf<O> = O extends { body: { streamed: true } } ? AsyncIterable<Uint8Array> : BodyOf<O>;

export type Operations = Readonly<Record<string, Operation>>;
