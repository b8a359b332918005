import { defineOperation } from '#lib/contract/operation.ts';
import { commandAnswer, commandBody } from './commands-schemas.ts';
import { problem } from './schemas.ts';

const problemResponse = (description: string) => ({ description, media: 'application/problem+json', schema: problem });

export const giveCommand = defineOperation({
  id: 'giveCommand',
  method: 'POST',
  path: '/api/v1/commands',
  base: 'lan',
  summary: 'Give a command to the site and wait for its final answer',
  body: { media: 'application/json', schema: commandBody },
  responses: {
    200: {
      description: 'What became of it, a refusal included: `outcome` and `error` tell',
      media: 'application/json',
      schema: commandAnswer,
    },
    400: problemResponse('The body is wrong'),
    503: problemResponse('There was no final answer in time; the same command again under its id tells it'),
  },
  auth: ['local'],
  repeatable: 'by_id',
  rules: ['C1', 'C2', 'C8', 'C9', 'safety 4', 'safety 5'],
  tags: ['commands'],
});

/** Served on the control socket alone: codes travel in it. */
export const commandOperations = { giveCommand } as const;
