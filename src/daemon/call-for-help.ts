import type { SitePort } from '#lan/mqtt/index.ts';
import { never, sleep } from '#lib/wait.ts';
import type { Controller } from '#site/controller.ts';
import { type CommandResult, localClient } from '#site/model/index.ts';
import type { House } from './house.ts';

/** A reload takes this long at most; then whoever calls has to be told. */
const holdMs = 10_000;
const lookMs = 50;
const holdCap = 64;

/** Hands a call for help to the controller, or to the next one: in a reload there is none for a while (safety 1). */
async function whenThere(house: House, hand: (controller: Controller) => void): Promise<boolean> {
  if (house.controller === undefined) {
    const held = house.heldCalls ?? 0;
    if (held >= holdCap) return false;
    house.heldCalls = held + 1;
    for (let waitedMs = 0; house.controller === undefined && waitedMs < holdMs; waitedMs += lookMs)
      await sleep(lookMs, never());
    house.heldCalls -= 1;
  }
  if (house.controller === undefined) return false;
  hand(house.controller);
  return true;
}

/** A duress code was given where no command is: only the station and the auditor learn of it (safety 4). */
export function callForHelp(
  house: House,
  actor: string,
  target: string,
  { source, client }: { readonly source: 'cli' | 'lan'; readonly client: string } = {
    source: 'cli',
    client: localClient,
  },
): void {
  void whenThere(house, (controller) => void controller.tell({ kind: 'duress', source, client, actor, target }));
}

/** What clients of the LAN ask of the controller: whatever is not handed on is answered. */
export function callsPort(house: House, wall: () => number): Pick<SitePort, 'submit' | 'panic'> {
  const busy = (commandId: string): CommandResult => ({
    commandId,
    outcome: 'failed',
    error: { code: 'BUSY', retryAfterS: 1 },
    at: wall(),
    final: true,
  });
  return {
    submit(command, reply) {
      if (house.controller !== undefined) return house.controller.submit(command, reply);
      const { code, actor, partition, client } = command;
      if (code === 'duress' && actor !== undefined) callForHelp(house, actor, partition, { source: 'lan', client });
      reply(busy(command.id));
    },
    panic(call, reply) {
      void whenThere(house, (controller) => controller.panic(call, reply)).then((isHanded) => {
        if (!isHanded) reply(busy(call.id));
      });
    },
  };
}
