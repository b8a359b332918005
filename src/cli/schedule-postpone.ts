import { postponedAnswer } from '#lan/http/index.ts';
import { askCode } from './ask-code.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { pipedCode } from './piped-code.ts';

interface Options {
  readonly id: string;
  /** Minutes. */
  readonly by: number;
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward schedule postpone`. */
export async function postpone({ id, by: minutes, ...options }: Options): Promise<ExitCode> {
  const code = await (options.codeStdin ? pipedCode() : askCode());
  await using control = openControl(options.socket);
  const wish = { params: { id }, body: { minutes, code }, signal: patience() };
  const put = postponedAnswer.parse(answered(await control.client.postponeSchedule(wish)).json);
  if (options.json) console.log(JSON.stringify(put));
  else {
    const when = `${put.local.slice(0, 10)} ${put.local.slice(11, 16)} ${put.local.slice(19)}`;
    const again = put.times_left === 0 ? 'not again for that day' : `${put.times_left} more for that day`;
    console.log(`${put.schedule} arms at ${when}; ${again}`);
  }
  return exitCodes.ok;
}
