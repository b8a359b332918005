import { sha256 } from '#lib/digest.ts';
import { never, withDeadline } from '#lib/wait.ts';
import { type CodeCheck, type Command, type CommandResult, localClient } from '#site/model/index.ts';
import { type House, running } from './house.ts';

/** Beyond what a panel may take: a commit on a sick disk is answered after two seconds. */
const marginMs = 5000;

/** Why whoever speaks over the control socket has to wait; undefined where they need not (C8). */
export function lockWords(error: CommandResult['error']): string | undefined {
  if (error?.retryAfterS === undefined) return undefined;
  const what = error.code === 'LOCKED' ? 'too many wrong codes' : 'too many commands without a code';
  return `${what}; wait ${Math.ceil(error.retryAfterS)} s`;
}

/**
 * Puts a command of whoever speaks over the control socket through the one gate, with what its code says of who gave it.
 * Resolves with the final answer; throws `stopped` when the site is not running, and when no answer comes in time.
 */
export async function giveLocally(
  house: House,
  asked: Omit<Command, 'source' | 'client' | 'actor' | 'role' | 'code' | 'bodyHash'>,
  { code, signal = never() }: { readonly code: string | undefined; readonly signal?: AbortSignal },
): Promise<{ readonly check: CodeCheck; readonly result: CommandResult }> {
  const controller = running(house, 'controller');
  const check = await running(house, 'codes').check(code);
  const command: Command = {
    ...asked,
    source: 'cli',
    client: localClient,
    ...(check.actor !== undefined && { actor: check.actor }),
    ...(check.role !== undefined && { role: check.role }),
    code: check.code,
    bodyHash: sha256(JSON.stringify(asked)),
  };
  const final = new Promise<CommandResult>((resolve) => {
    controller.submit(command, (result) => {
      if (result.final) resolve(result);
    });
  });
  const { confirmMs, partitions } = controller.view().plan;
  const limitMs = Math.max(confirmMs, ...partitions.map((partition) => partition.confirmMs ?? 0)) + marginMs;
  return { check, result: await withDeadline(limitMs, signal, () => final, 'the final answer to the command') };
}
