import { expect, test } from 'vitest';
import { z } from 'zod';
import { cloudOperations, lanOperations } from '#lan/http/index.ts';
import { openApiDocument } from '#lib/contract/openapi.ts';
import { defineOperation, type Operation } from '#lib/contract/operation.ts';
import { openApiProblems } from './openapi-meta.ts';

const info = { title: 'Doors', version: '1' };
const door = z.object({ name: z.string(), locked: z.boolean().default(true) });
const refusal = z.object({ error: z.string() });
const base = { base: 'base', auth: [] as string[], repeatable: 'yes', rules: [] as string[] } as const;

const listDoors = defineOperation({
  ...base,
  id: 'listDoors',
  method: 'GET',
  path: '/doors',
  summary: 'All doors',
  query: z.strictObject({
    limit: z.coerce.number().int().min(1).default(10).describe('How many.'),
    floor: z.string(),
  }),
  responses: { 200: { description: 'The doors', schema: z.array(door) } },
});
const putDoor = defineOperation({
  ...base,
  id: 'putDoor',
  method: 'PUT',
  path: '/doors/{id}',
  summary: 'Change a door',
  params: z.object({ id: z.string().regex(/^d\d+$/) }),
  body: { media: 'application/json', schema: door },
  responses: {
    200: { description: 'Changed', schema: door },
    400: { description: 'Wrong', media: 'application/problem+json', schema: refusal },
  },
  auth: ['bearer', 'key'],
  repeatable: 'by_id',
  rules: ['S-001', 'C2'],
  tags: ['doors'],
});
const getToken = defineOperation({
  ...base,
  id: 'getToken',
  method: 'POST',
  path: '/token',
  summary: 'A token',
  body: { media: 'application/x-www-form-urlencoded', schema: z.object({ grant_type: z.string() }), optional: true },
  responses: { 204: { description: 'Done' } },
});
const putPicture = defineOperation({
  ...base,
  id: 'putPicture',
  method: 'PUT',
  path: '/pictures',
  summary: 'A picture',
  body: { media: 'image/jpeg' },
  responses: { 200: { description: 'Taken', media: 'text/plain' } },
  auth: ['local'],
});

const credentials = {
  bearer: { type: 'http', scheme: 'bearer' },
  key: { type: 'apiKey', in: 'header', name: 'x-key' },
  local: 'connection',
} as const;
const operations: readonly Operation[] = [listDoors, putDoor, getToken, putPicture];
const document = (more: Partial<Parameters<typeof openApiDocument>[0]> = {}) =>
  openApiDocument({ info, operations, credentials, schemas: { Door: door, Refusal: refusal }, ...more });

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into from outside
const at = (path: string, method: string) => (document() as any).paths[path][method];

test('the document is valid OpenAPI 3.1', () => {
  expect(openApiProblems(document())).toEqual([]);
});

test('the check of the document finds what is wrong', () => {
  expect(openApiProblems({ ...document(), openapi: '3.0.0' })).not.toEqual([]);
  expect(openApiProblems({ ...document(), components: {} })).toContain('#/components/schemas/Door leads nowhere');
  expect(openApiProblems({ ...document(), paths: { '/a/{b}': { get: { responses: {} } } } })).not.toEqual([]);
});

test('a query member with a default may be left out, one without may not', () => {
  expect(at('/doors', 'get').parameters).toEqual([
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'How many.',
      schema: { type: 'integer', default: 10, minimum: 1 },
    },
    { name: 'floor', in: 'query', required: true, schema: { type: 'string' } },
  ]);
});

test('a place in the path is a required parameter with its schema', () => {
  expect(at('/doors/{id}', 'put').parameters).toEqual([
    { name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^d\\d+$' } },
  ]);
});

test('a named schema is a component; where what is sent differs from what comes, it has two', () => {
  const { requestBody, responses } = at('/doors/{id}', 'put');
  expect(requestBody).toEqual({
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/DoorInput' } } },
  });
  expect(responses[200].content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Door' });
  const { schemas } = document().components as { schemas: Record<string, { required: string[] }> };
  expect(Object.keys(schemas).toSorted()).toEqual(['Door', 'DoorInput', 'Refusal']);
  expect(schemas.Door?.required).toEqual(['name', 'locked']);
  expect(schemas.DoorInput?.required).toEqual(['name']);
});

test('forms, bytes, text and bodies that may be absent keep their media type', () => {
  expect(at('/token', 'post').requestBody).toMatchObject({
    required: false,
    content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } },
  });
  expect(at('/token', 'post').responses).toEqual({ 204: { description: 'Done' } });
  expect(at('/pictures', 'put').requestBody).toEqual({ required: true, content: { 'image/jpeg': {} } });
  expect(at('/pictures', 'put').responses[200].content).toEqual({ 'text/plain': {} });
  expect(at('/doors/{id}', 'put').responses[400].content).toHaveProperty(['application/problem+json']);
});

test('credentials are alternatives; none is an empty list; one of the connection is not sent', () => {
  expect(at('/doors/{id}', 'put').security).toEqual([{ bearer: [] }, { key: [] }]);
  expect(at('/doors', 'get').security).toEqual([]);
  expect(at('/pictures', 'put')).toMatchObject({ security: [], 'x-access': ['local'] });
  expect(Object.keys((document().components as { securitySchemes: object }).securitySchemes)).toEqual([
    'bearer',
    'key',
  ]);
});

test('tags, rules and whether it may be repeated are told', () => {
  expect(at('/doors/{id}', 'put')).toMatchObject({
    operationId: 'putDoor',
    tags: ['doors'],
    'x-rules': ['S-001', 'C2'],
    'x-repeatable': 'by_id',
  });
});

test('an object that is not strict allows members nobody knows yet', () => {
  const { schemas } = document().components as { schemas: Record<string, object> };
  expect(schemas.Door).not.toHaveProperty('additionalProperties');
});

test.each<[string, Partial<Parameters<typeof openApiDocument>[0]>, RegExp]>([
  ['two operations on one method and path', { operations: [listDoors, { ...listDoors, id: 'again' }] }, /GET \/doors/],
  ['two operations with one id', { operations: [listDoors, { ...putPicture, id: 'listDoors' }] }, /listDoors/],
  ['a credential nobody describes', { credentials: {} }, /bearer/],
  ['a place without its parameter', { operations: [{ ...listDoors, path: '/doors/{id}' }] }, /id must stand both/],
])('%s is refused', (_name, more, message) => {
  expect(() => document(more)).toThrow(message);
});

test('the operations of the control socket make a valid document', () => {
  const lan = openApiDocument({
    info,
    operations: Object.values({ ...lanOperations, ...cloudOperations }),
    credentials: {
      local: 'connection',
      session: { type: 'http', scheme: 'x' },
      api_key: { type: 'http', scheme: 'bearer' },
    },
  });
  expect(openApiProblems(lan)).toEqual([]);
});
