import { Ajv2020 } from 'ajv/dist/2020.js';

/** The shape of OpenAPI 3.1 as far as siteward writes it, by hand: no linter is installed. */
const text = { type: 'string', minLength: 1 };
const schema = { type: ['object', 'boolean'] };
const media = {
  type: 'object',
  propertyNames: { pattern: '^([a-z]+/[a-z0-9.+-]+|[*]/[*])$' },
  additionalProperties: { type: 'object', properties: { schema }, additionalProperties: false },
};
const operation = {
  type: 'object',
  required: ['responses'],
  properties: {
    operationId: { type: 'string', pattern: '^[A-Za-z]\\w*$' },
    summary: text,
    tags: { type: 'array', items: text },
    parameters: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'in', 'schema'],
        properties: {
          name: text,
          in: { enum: ['path', 'query', 'header', 'cookie'] },
          required: { type: 'boolean' },
          description: text,
          schema,
        },
        additionalProperties: false,
        if: { properties: { in: { const: 'path' } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['required'], properties: { required: { const: true } } },
      },
    },
    requestBody: {
      type: 'object',
      required: ['content'],
      properties: { content: media, required: { type: 'boolean' }, description: text },
      additionalProperties: false,
    },
    responses: {
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: '^([1-5]\\d\\d|default)$' },
      additionalProperties: {
        type: 'object',
        required: ['description'],
        properties: { description: text, content: media },
        additionalProperties: false,
      },
    },
    security: { type: 'array', items: { type: 'object', additionalProperties: { type: 'array', items: text } } },
  },
  patternProperties: { '^x-': {} },
  additionalProperties: false,
};
const meta = {
  type: 'object',
  required: ['openapi', 'info', 'paths'],
  properties: {
    openapi: { type: 'string', pattern: '^3\\.1\\.\\d+$' },
    info: {
      type: 'object',
      required: ['title', 'version'],
      properties: { title: text, version: text, description: text },
      additionalProperties: false,
    },
    servers: { type: 'array', items: { type: 'object', required: ['url'] } },
    tags: { type: 'array', items: { type: 'object', required: ['name'] } },
    paths: {
      type: 'object',
      propertyNames: { pattern: '^/' },
      additionalProperties: {
        type: 'object',
        propertyNames: { enum: ['get', 'put', 'post', 'delete', 'patch'] },
        additionalProperties: operation,
      },
    },
    components: {
      type: 'object',
      properties: {
        schemas: {
          type: 'object',
          propertyNames: { pattern: '^[A-Za-z0-9._-]+$' },
          additionalProperties: schema,
        },
        securitySchemes: {
          type: 'object',
          additionalProperties: {
            type: 'object',
            required: ['type'],
            properties: { type: { enum: ['apiKey', 'http', 'mutualTLS', 'oauth2', 'openIdConnect'] } },
          },
        },
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

interface Document {
  readonly paths: Record<
    string,
    Record<string, { operationId?: string; parameters?: Parameter[]; security?: object[] }>
  >;
  readonly components?: { schemas?: Record<string, object>; securitySchemes?: Record<string, object> };
}
interface Parameter {
  readonly name: string;
  readonly in: string;
}

/** Everything that is wrong with an OpenAPI 3.1 document, in words; empty when it is valid. */
export function openApiProblems(document: unknown): string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(meta);
  if (!validate(document)) return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  const { paths, components = {} } = document as unknown as Document;
  return [...operationProblems(paths, components), ...referenceProblems(document), ...schemaProblems(document)];
}

function operationProblems(paths: Document['paths'], components: NonNullable<Document['components']>): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  for (const [path, item] of Object.entries(paths)) {
    for (const one of Object.values(item)) {
      const id = one.operationId ?? path;
      if (ids.has(id)) problems.push(`${id} stands twice`);
      ids.add(id);
      const places = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const given = (one.parameters ?? []).filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      if (places.toSorted().join() !== given.toSorted().join()) problems.push(`${id}: places and parameters differ`);
      for (const name of (one.security ?? []).flatMap((entry) => Object.keys(entry))) {
        if (!Object.hasOwn(components.securitySchemes ?? {}, name)) problems.push(`${id}: no security scheme ${name}`);
      }
    }
  }
  return problems;
}

function referenceProblems(document: unknown): string[] {
  return [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].flatMap(([, reference = '']) => {
    const place = reference
      .replace(/^#\//, '')
      .split('/')
      .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document);
    return place === undefined ? [`${reference} leads nowhere`] : [];
  });
}

/** Every schema must be one by the meta-schema of JSON Schema 2020-12. */
function schemaProblems(document: unknown): string[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const found: object[] = [];
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, member] of Object.entries(value)) {
      if (key === 'schema') found.push(member);
      else if (key === 'schemas') found.push(...Object.values(member as Record<string, object>));
      else walk(member);
    }
  };
  walk(document);
  return found.flatMap((schema) =>
    ajv.validateSchema(schema) === true ? [] : [`not a schema: ${ajv.errorsText(ajv.errors)}`],
  );
}
