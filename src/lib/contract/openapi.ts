import { z } from 'zod';
import type { BodySpec, Operation, ResponseSpec } from './operation.ts';

/** A security scheme of OpenAPI 3.1, such as `{ type: 'http', scheme: 'bearer' }`. */
export type SecurityScheme = Readonly<Record<string, unknown>> & { readonly type: string };

/**
 * How a kind of credential shows in the document. `connection`: whoever can open the connection holds it (a unix
 * socket), so nothing is sent; HTTP has no word for it and the operation says it in `x-access`.
 */
export type Credential = SecurityScheme | 'connection';

export interface OpenApiOptions {
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description?: string;
    readonly license?: { readonly name: string; readonly identifier?: string };
  };
  readonly servers?: readonly { readonly url: string; readonly description?: string }[];
  readonly operations: readonly Operation[];
  /** Every name that stands in an operation's `auth`. */
  readonly credentials?: Readonly<Record<string, Credential>>;
  /** Schemas that get a name under `components` and are referred to wherever they occur. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Which side of a schema is meant: what is sent (defaults may be left out), or what comes out. */
type Side = 'input' | 'output';
type ToJson = (schema: z.ZodType, side: Side) => JsonObject;

/**
 * Operations as an OpenAPI 3.1 document, a plain object. Pure and deterministic. Throws TypeError for what such a
 * document cannot hold: two operations with one id or one method and path, a credential nobody describes, a place in a
 * path without its parameter.
 */
export function openApiDocument(options: OpenApiOptions): JsonObject {
  const { operations, credentials = {}, schemas = {} } = options;
  refuseTwins(operations);
  const { toJson, components } = namedSchemas(schemas);
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const operation of operations) {
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase()] = operationObject(operation, { credentials, toJson });
    paths[operation.path] = path;
  }
  const securitySchemes = Object.fromEntries(Object.entries(credentials).filter(([, one]) => one !== 'connection'));
  const parts = { ...filled('schemas', components), ...filled('securitySchemes', securitySchemes) };
  return {
    openapi: '3.1.1',
    info: options.info,
    ...(options.servers === undefined ? {} : { servers: options.servers }),
    ...(options.tags === undefined ? {} : { tags: options.tags }),
    paths,
    ...filled('components', parts),
  };
}

/** Two grants on one path are one operation of a document: give only one of them, or one that takes both. */
function refuseTwins(operations: readonly Operation[]): void {
  const seen = new Set<string>();
  for (const { id, method, path } of operations) {
    for (const key of [`the id ${id}`, `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`]) {
      if (seen.has(key)) throw new TypeError(`two operations have ${key}`);
      seen.add(key);
    }
  }
}

interface Context {
  readonly credentials: Readonly<Record<string, Credential>>;
  readonly toJson: ToJson;
}

function operationObject(operation: Operation, { credentials, toJson }: Context): JsonObject {
  const kinds = operation.auth.map((name) => {
    const credential = credentials[name];
    if (credential === undefined) throw new TypeError(`${operation.id}: nobody describes the credential ${name}`);
    return { name, credential };
  });
  const sent = kinds.filter(({ credential }) => credential !== 'connection').map(({ name }) => ({ [name]: [] }));
  const held = kinds.filter(({ credential }) => credential === 'connection').map(({ name }) => name);
  const parameters = [...pathParameters(operation, toJson), ...queryParameters(operation, toJson)];
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(operation.tags === undefined ? {} : { tags: operation.tags }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined ? {} : { requestBody: requestBody(operation.body, toJson) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, spec]) => [status, response(spec, toJson)]),
    ),
    // An empty list says that nothing is needed; several entries are alternatives.
    security: sent,
    ...(held.length === 0 ? {} : { 'x-access': held }),
    'x-repeatable': operation.repeatable,
    ...(operation.rules.length === 0 ? {} : { 'x-rules': operation.rules }),
  };
}

function pathParameters(operation: Operation, toJson: ToJson): JsonObject[] {
  const places = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  const known = Object.keys(operation.params?.shape ?? {});
  for (const name of [...places, ...known]) {
    if (places.includes(name) && known.includes(name)) continue;
    throw new TypeError(`${operation.id}: ${name} must stand both in the path and in params`);
  }
  return parameters(operation.params, 'path', toJson);
}

const queryParameters = (operation: Operation, toJson: ToJson) => parameters(operation.query, 'query', toJson);

function parameters(schema: z.ZodObject | undefined, place: 'path' | 'query', toJson: ToJson): JsonObject[] {
  if (schema === undefined) return [];
  // The whole object at once: only it knows which members may be left out.
  const { properties = {}, required = [] } = toJson(schema, 'input') as {
    properties?: Record<string, { description?: string }>;
    required?: readonly string[];
  };
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
  }));
}

function requestBody(body: BodySpec, toJson: ToJson): JsonObject {
  return { required: body.optional !== true, content: content(body.media, body.schema, 'input', toJson) };
}

function response({ description, media, schema }: ResponseSpec, toJson: ToJson): JsonObject {
  const type = media ?? (schema === undefined ? undefined : 'application/json');
  return { description, ...(type === undefined ? {} : { content: content(type, schema, 'output', toJson) }) };
}

/** Bytes have no schema in OpenAPI 3.1: the media type says it all. */
function content(media: string, schema: z.ZodType | undefined, side: Side, toJson: ToJson): JsonObject {
  return { [media]: schema === undefined ? {} : { schema: toJson(schema, side) } };
}

/**
 * Converts schemas, with a reference wherever a named one occurs. A named schema whose two sides differ has a second
 * component, `NameInput`, for what is sent.
 */
function namedSchemas(schemas: Readonly<Record<string, z.ZodType>>): { toJson: ToJson; components: JsonObject } {
  const metadata = z.registry<{ id?: string }>();
  for (const [id, schema] of Object.entries(schemas)) metadata.add(schema, { id });
  const full = (schema: z.ZodType, side: Side): JsonObject => convert(schema, side, metadata);
  const twoSided = new Set(
    Object.entries(schemas)
      .filter(([, schema]) => JSON.stringify(full(schema, 'input')) !== JSON.stringify(full(schema, 'output')))
      .map(([id]) => id),
  );
  const nameOf = (id: string, side: Side) => (side === 'input' && twoSided.has(id) ? `${id}Input` : id);
  const components: Record<string, unknown> = {};

  const toJson: ToJson = (schema, side) => {
    const { $schema: _, $defs = {}, ...body } = full(schema, side);
    for (const [id, definition] of Object.entries($defs as JsonObject)) {
      components[nameOf(id, side)] ??= referring(definition, (other) => nameOf(other, side));
    }
    return referring(body, (id) => nameOf(id, side)) as JsonObject;
  };
  return { toJson, components };
}

function convert(schema: z.ZodType, side: Side, metadata: z.core.$ZodRegistry<{ id?: string }>): JsonObject {
  return z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: side,
    metadata,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      // Only a strict object forbids other members; readers of the rest ignore what they do not know.
      if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties;
      delete jsonSchema.id;
      // What JavaScript's numbers and zod's own check of a date add is noise to a reader in another language.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      // `metadata` stands in for the registry that holds the texts of `describe`.
      const { description } = z.globalRegistry.get(zodSchema as z.core.$ZodType) ?? {};
      if (description !== undefined) jsonSchema.description = description;
    },
  }) as JsonObject;
}

/** The same schema with `#/$defs/X` turned into a reference to the component of that name. */
function referring(value: unknown, nameOf: (id: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => referring(item, nameOf));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const id = key === '$ref' && typeof member === 'string' ? /^#\/\$defs\/(.+)$/.exec(member)?.[1] : undefined;
      return [key, id === undefined ? referring(member, nameOf) : `#/components/schemas/${nameOf(id)}`];
    }),
  );
}

const filled = (name: string, members: JsonObject): JsonObject =>
  Object.keys(members).length === 0 ? {} : { [name]: members };
