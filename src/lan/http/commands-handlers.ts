import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import { askerOf, json } from './answering.ts';
import type { commandOperations } from './commands-operations.ts';
import type { CommandsPort } from './port.ts';

export const commandHandlers = (port: CommandsPort): Handlers<typeof commandOperations, By> => ({
  giveCommand: async ({ body, identity, signal }) => json(await port.give(body, askerOf(identity), signal)),
  giveTestCommand: async ({ body, identity, signal }) => json(await port.give(body, askerOf(identity), signal)),
});
