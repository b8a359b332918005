import { sha256 } from '#lib/digest.ts';
import { never, withDeadline } from '#lib/wait.ts';
import {
  type Asker,
  type CodeCheck,
  type Command,
  type CommandResult,
  localAsker,
  unknownClient,
} from '#site/model/index.ts';
import { type House, running } from './house.ts';

/** Beyond what a panel may take: a commit on a sick disk is answered after two seconds. */
const marginMs = 5000;

/** Why whoever speaks over the LAN API has to wait; undefined where they need not (C8). */
export function lockWords(error: CommandResult['error']): string | undefined {
  if (error?.retryAfterS === undefined) return undefined;
  const what = error.code === 'LOCKED' ? 'too many wrong codes' : 'too many commands without a code';
  return `${what}; wait ${Math.ceil(error.retryAfterS)} s`;
}

type Asked = Omit<Command, 'source' | 'client' | 'isProven' | 'actor' | 'role' | 'code' | 'bodyHash'>;

/**
 * Puts a command of whoever speaks over the LAN API through the one gate, with what its code says of who gave it.
 * Resolves with the final answer; throws `stopped` when the site is not running, and when no answer comes in time.
 */
export async function giveLocally(
  house: House,
  asked: Asked,
  { code, ...more }: { readonly code: string | undefined; readonly by?: Asker; readonly signal?: AbortSignal },
): Promise<{ readonly check: CodeCheck; readonly result: CommandResult }> {
  running(house, 'controller');
  const check = await running(house, 'codes').check(code);
  return { check, result: await giveChecked(house, asked, { check, ...more }) };
}

/** The same with a code that was looked at already. */
export async function giveChecked(
  house: House,
  asked: Asked,
  {
    check,
    by = localAsker,
    signal = never(),
  }: { readonly check: CodeCheck; readonly by?: Asker; readonly signal?: AbortSignal },
): Promise<CommandResult> {
  const controller = running(house, 'controller');
  const isProven = by.source === 'lan' && by.client !== unknownClient;
  const command: Command = {
    ...asked,
    source: by.source,
    client: by.client,
    ...(isProven && { isProven: true as const }),
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
  return withDeadline(limitMs, signal, () => final, 'the final answer to the command');
}
