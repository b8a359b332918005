import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bindClient, type Transport, type WireRequest } from '#lib/contract/client.ts';
import { defineOperation } from '#lib/contract/operation.ts';

const operations = {
  getThing: defineOperation({
    id: 'getThing',
    method: 'GET',
    path: '/sites/{siteId}/things/{thingId}',
    base: 'base',
    summary: 'Read a thing',
    params: z.object({ siteId: z.string(), thingId: z.string() }),
    query: z.object({ fields: z.string().optional(), filter: z.array(z.string()).optional() }),
    responses: { 200: { description: 'The thing', schema: z.looseObject({ name: z.string() }) } },
    auth: [],
    repeatable: 'yes',
    rules: [],
  }),
  putThing: defineOperation({
    id: 'putThing',
    method: 'PUT',
    path: '/things',
    base: 'base',
    summary: 'Write a thing',
    body: { media: 'application/json', schema: z.object({ name: z.string() }) },
    responses: { 200: { description: 'Done' } },
    auth: [],
    repeatable: 'yes',
    rules: [],
  }),
};

function recorded(status: number, text: string) {
  const sent: WireRequest[] = [];
  const transport: Transport = async (request) => {
    sent.push(request);
    return { kind: 'answer', status, headers: {}, body: new TextEncoder().encode(text), sentMono: 0, headMono: 0 };
  };
  return { sent, api: bindClient(operations, transport) };
}
const { signal } = new AbortController();
const params = { siteId: 'a/b c', thingId: '7' };

describe('calls made from operations', () => {
  it('percent-encode path parameters and leave unset query members out', async () => {
    const { sent, api } = recorded(200, '{}');
    await api.getThing({ params, query: { filter: ['a,b', 'c&d'], fields: undefined }, signal });
    expect(sent[0]?.target).toBe('/sites/a%2Fb%20c/things/7?filter=a%2Cb&filter=c%26d');
  });

  it.each(['', '.', '..'])(
    'refuse %j as a path parameter, because it would address something else',
    async (thingId) => {
      const { sent, api } = recorded(200, '{}');
      await expect(api.getThing({ params: { siteId: '1', thingId }, query: {}, signal })).rejects.toThrow(TypeError);
      expect(sent).toHaveLength(0);
    },
  );

  it('give the typed value with unknown members kept when the answer fits', async () => {
    const { api } = recorded(200, '{"name":"door","more":1}');
    const answer = await api.getThing({ params, query: {}, signal });
    expect(answer).toMatchObject({ kind: 'answer', value: { name: 'door', more: 1 } });
  });

  it.each(['{"name":5}', '[]', '<html>', '', 'null'])(
    'never throw on an answer that does not fit: %s',
    async (text) => {
      const { api } = recorded(200, text);
      const answer = await api.getThing({ params, query: {}, signal });
      expect(answer).toMatchObject({ kind: 'answer', status: 200, text });
      expect(answer.kind === 'answer' && answer.value).toBeUndefined();
    },
  );

  it('send an encoded body byte for byte', async () => {
    const { sent, api } = recorded(200, '');
    await api.putThing({ encoded: '{ "name" : "x" }', signal });
    await api.putThing({ body: { name: 'x' }, signal });
    expect(sent.map(({ body }) => body)).toEqual(['{ "name" : "x" }', '{"name":"x"}']);
    expect(sent[0]?.headers['content-type']).toBe('application/json');
  });

  it('hand failures through', async () => {
    const api = bindClient(operations, async () => ({ kind: 'failure', failure: 'dns', message: 'no' }));
    expect(await api.putThing({ body: { name: 'x' }, signal })).toEqual({
      kind: 'failure',
      failure: 'dns',
      message: 'no',
    });
  });
});
