import { type SecurityTypeBody, securityTypeAnswer } from '#lan/http/index.ts';
import { askCode } from './ask-code.ts';
import { agreed } from './consent.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { pipedCode } from './piped-code.ts';

interface Options {
  readonly whileArmed: boolean;
  readonly yes: boolean;
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** What whoever says 4 takes on (docs/arming.md, "Who decides"). */
const meaningOf4 =
  'with type 4 another system decides: nobody arms or disarms here, and every burglary signal goes to the station, whether armed or not. ' +
  'Back with 1, 2 or 3, a partition counts as unknown until its panel reports or somebody disarms it with a code';

/** `siteward security-type TYPE`. On a terminal 4 is asked about, as no other change needs no code and takes so much away. */
export async function securityType(
  type: SecurityTypeBody['security_type'],
  { whileArmed, yes, codeStdin, json, socket }: Options,
): Promise<ExitCode> {
  if (type === 4 && !json) {
    console.error(`siteward: ${meaningOf4}.`);
    // A code on standard input is there for the daemon, not for a question; a pipe has nobody to ask and goes on.
    if (!yes && !codeStdin && (await agreed('Is that meant?')) === 'no') {
      console.error('siteward: nothing was changed');
      return exitCodes.failure;
    }
  }
  const code = whileArmed ? await (codeStdin ? pipedCode() : askCode('code of an owner or installer')) : undefined;
  await using control = openControl(socket);
  const body = { security_type: type, while_armed: whileArmed, ...(code !== undefined && { code }) };
  const reply = answered(await control.client.setSecurityType({ body, signal: patience() }));
  const now = securityTypeAnswer.parse(reply.json);
  if (json) console.log(JSON.stringify(now));
  else if (now.asked === undefined) console.log(`security type ${now.security_type} is in force`);
  else
    console.log(
      `security type ${now.security_type} is in force; ${now.asked} waits until every partition is disarmed. ` +
        'With --while-armed it is in force at once.',
    );
  const idle = now.idle_schedules ?? [];
  if (idle.length > 0)
    console.error(
      `siteward: with type 4 another system decides: nothing is armed or disarmed by the schedules ${idle.join(', ')}; take them out of the configuration`,
    );
  return exitCodes.ok;
}
