import type { CommandAnswer, CommandBody, CommandsPort } from '#lan/http/index.ts';
import { withoutCode } from '#lan/mqtt/index.ts';
import {
  type Command,
  type CommandResult,
  isoTime,
  partitionShown,
  resultShown,
  zoneNames,
} from '#site/model/index.ts';
import type { House } from './house.ts';
import { giveLocally } from './local-command.ts';

/** The gate of commands as the control socket sees it. */
export function commandsPort({ house }: { house: House }): CommandsPort {
  return {
    async give({ code, ...asked }, by, signal) {
      const { result } = await giveLocally(house, commandOf(withoutCode(asked, code)), { code, by, signal });
      return { ...answerOf(result), ...aboutZones(house, asked.verb, result) };
    },
  };
}

type Asked = CommandBody extends infer B ? (B extends CommandBody ? Omit<B, 'code'> : never) : never;

function commandOf(asked: Asked): Parameters<typeof giveLocally>[1] {
  return {
    id: asked.id,
    verb: asked.verb,
    // The gate finds the partition of a zone.
    partition: 'partition' in asked ? asked.partition : 'all',
    ...(asked.verb === 'arm' ? armOf(asked) : {}),
    ...(asked.verb === 'bypass' || asked.verb === 'unbypass' || asked.verb === 'test' ? restOf(asked) : {}),
    issuedAt: Date.parse(asked.issued_at),
  };
}

/** Members that have the same name on both sides. */
function restOf(asked: Extract<Asked, { verb: 'bypass' | 'unbypass' | 'test' }>): Partial<Command> {
  const { id: _, issued_at: __, verb: ___, ...rest } = asked;
  return rest;
}

const armOf = ({ mode, force, bypass, skip_exit_delay: skipExitDelay }: Extract<Asked, { verb: 'arm' }>) => ({
  mode,
  ...(force !== undefined && { force }),
  ...(bypass !== undefined && { bypass }),
  ...(skipExitDelay !== undefined && { skipExitDelay }),
});

function answerOf(result: CommandResult): CommandAnswer {
  return { id: result.commandId, ...resultShown(result), at: isoTime(result.at) };
}

/** What of the site whoever gave the command must know with its answer. */
function aboutZones(
  { controller }: House,
  verb: Asked['verb'],
  { partition = 'all', tests = [], leftOut = [] }: CommandResult,
): Pick<CommandAnswer, 'alarms' | 'zone_names'> {
  const view = controller?.view();
  if (view === undefined) return {};
  const targets = verb === 'arm' || verb === 'disarm' ? view.plan.partitions : [];
  const alarms = targets.flatMap(({ id }) => {
    const { alarm } = partitionShown(view, id);
    return alarm !== null && (partition === 'all' || partition === id) ? [{ partition: id, ...alarm }] : [];
  });
  const numbers = [
    ...leftOut,
    ...alarms.flatMap(({ zone }) => zone ?? []),
    ...tests.flatMap(({ walkedZones, missedZones }) => [...walkedZones, ...missedZones]),
  ];
  return {
    ...(alarms.length > 0 && { alarms }),
    ...(numbers.length > 0 && { zone_names: zoneNames(view.plan, numbers) }),
  };
}
