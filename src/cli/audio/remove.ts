import { answered, openControl } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { keyOf, orHint } from './known.ts';
import { changeMs } from './library.ts';

/** `siteward audio remove KEY`. */
export async function remove(given: string, options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const key = await keyOf(control, given);
  const call = { params: { key }, signal: AbortSignal.timeout(changeMs), deadlineMs: changeMs };
  const { text } = await orHint(control, { message: key }, async () =>
    answered(await control.client.removeMessage(call)),
  );
  console.log(options.json ? text : `message ${key} is removed`);
  return exitCodes.ok;
}
