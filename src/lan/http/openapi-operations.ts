import { z } from 'zod';
import { lanOperation } from './lan-operation.ts';

/** The description of this very interface, for whoever writes a client. */

const getOpenApi = lanOperation({
  id: 'getOpenApi',
  method: 'GET',
  path: '/api/v1/openapi.json',
  summary: 'This description of the LAN API, as OpenAPI 3.1',
  responses: {
    200: {
      description: 'The document',
      media: 'application/json',
      schema: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }),
    },
  },
  repeatable: 'yes',
  rules: [],
  tags: ['health'],
});

export const openApiOperations = { getOpenApi } as const;
