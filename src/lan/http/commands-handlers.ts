import type { Handlers, Reply } from '#lib/contract/server.ts';
import type { commandOperations } from './commands-operations.ts';
import type { CommandsPort } from './port.ts';

export function commandHandlers(
  port: CommandsPort,
  { json }: { json: (body: unknown) => Reply },
): Handlers<typeof commandOperations, 'local'> {
  return { giveCommand: async ({ body, signal }) => json(await port.give(body, signal)) };
}
