import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

/** `siteward audio remove KEY`. */
export async function remove(key: string, options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { text } = answered(await control.client.removeMessage({ params: { key }, signal: patience() }));
  console.log(options.json ? text : `message ${key} is removed`);
  return exitCodes.ok;
}
