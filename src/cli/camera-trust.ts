import { trustedAnswer } from '#lan/http/index.ts';
import { answered, openControl } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

/** `siteward camera trust ID`: the certificate the camera shows now is its own. */
export async function trust(id: string, options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.trustCamera({ params: { id }, signal: AbortSignal.timeout(15_000) }));
  const answer = trustedAnswer.parse(json);
  if (options.json) console.log(JSON.stringify(answer));
  else console.log(`the certificate of ${answer.trusted} is ${answer.fingerprint}; no other is accepted from now on`);
  return exitCodes.ok;
}
