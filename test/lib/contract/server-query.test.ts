import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { bindServer, type Reply } from '#lib/contract/server.ts';

const list = defineOperation({
  id: 'list',
  method: 'GET',
  path: '/list',
  base: 'base',
  summary: 'A list',
  query: z.object({ sort: z.string().optional(), filter: z.union([z.string(), z.array(z.string())]).optional() }),
  responses: { 200: { description: 'The query as it was read' } },
  auth: [],
  repeatable: 'yes',
  rules: [],
});

const app = new Hono();
bindServer(
  app,
  { list },
  { list: ({ query }): Reply => ({ status: 200, body: query }) },
  {
    identify: () => ({}),
    refuse: (_, status, issues) => ({ status, body: { fields: issues.map((issue) => issue.field) } }),
    failed: (_, error) => ({ status: 500, body: { message: String(error) } }),
    bodyCap: 1024,
  },
);

const ask = async (query: string) => {
  const answer = await app.request(`/list${query}`);
  return [answer.status, await answer.json()];
};

describe('a query', () => {
  it('hands over every value of a repeated name, in order', async () => {
    expect(await ask('?filter=a,1,eq&filter=b,2,eq')).toEqual([200, { filter: ['a,1,eq', 'b,2,eq'] }]);
  });

  it('hands over one value as text', async () => {
    expect(await ask('?filter=a+b%2Cc&sort=')).toEqual([200, { filter: 'a b,c', sort: '' }]);
  });

  it('is refused where a name that must stand once is repeated', async () => {
    expect(await ask('?sort=a&sort=b')).toEqual([400, { fields: ['sort'] }]);
  });
});
