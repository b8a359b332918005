import { raise } from './alarm.ts';
import { audit } from './audit.ts';
import type { Work } from './work.ts';

/** Calls for help that are remembered by their command. */
const callCap = 256;

/** A duress code was given. What it was given for goes its way; only the station and the auditor learn of it (safety 4, I11). */
export function callForHelp(
  work: Work,
  how: {
    readonly source: string;
    readonly client: string;
    readonly actor?: string;
    /** A partition, `all`, or what else the code was given for. */
    readonly target: string;
    readonly commandId?: string;
  },
): void {
  const { source, client, actor, target, commandId } = how;
  if (commandId !== undefined && isRepeat(work, commandId)) return;
  const named = work.plan.partitions.find(({ id }) => id === target) ?? work.plan.partitions[0];
  raise(work, { kind: 'duress', partition: named?.id, source, actor, silent: true });
  audit(work, {
    kind: 'command',
    source,
    actor_ref: actor,
    client_id: client,
    command_id: commandId,
    target,
    action: 'duress',
    visibility: 'auditor',
  });
}

/**
 * A command that is refused for a lock is in no memory of answers, so its repeat comes here too. What is remembered of it
 * stands apart from what everybody may know.
 */
function isRepeat(work: Work, commandId: string): boolean {
  const calls = work.state.calls ?? [];
  if (calls.includes(commandId)) return true;
  work.state = { ...work.state, calls: [...calls.slice(1 - callCap), commandId] };
  return false;
}
