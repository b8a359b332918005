import { commandAnswer, commandBody, testCommandBody } from './commands-schemas.ts';
import { lanOperation, problemResponse } from './lan-operation.ts';

const shared = {
  method: 'POST',
  responses: {
    200: {
      description: 'What became of it, a refusal included: `outcome` and `error` tell',
      media: 'application/json',
      schema: commandAnswer,
    },
    400: problemResponse('The body is wrong'),
    503: problemResponse('There was no final answer in time; the same command again under its id tells it'),
  },
  repeatable: 'by_id',
  tags: ['commands'],
} as const;

const giveCommand = lanOperation({
  ...shared,
  id: 'giveCommand',
  path: '/api/v1/commands',
  summary: 'Give a command to the site and wait for its final answer',
  body: { media: 'application/json', schema: commandBody },
  rules: ['C1', 'C2', 'C8', 'C9', 'safety 4', 'safety 5'],
});

const giveTestCommand = lanOperation({
  ...shared,
  id: 'giveTestCommand',
  path: '/api/v1/commands/walk-test',
  summary: 'Begin or end a walk test, and wait for the final answer',
  body: { media: 'application/json', schema: testCommandBody },
  rules: ['C1', 'C2'],
});

export const commandOperations = { giveCommand, giveTestCommand } as const;
