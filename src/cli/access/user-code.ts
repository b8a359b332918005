import { SitewardError } from '#errors.ts';
import { changedAnswer, userList } from '#lan/http/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { askedCodes, pipedCodes, withConsent } from './user-codes.ts';

export interface CodeOptions {
  readonly id: string;
  readonly duress: boolean;
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward user code`. Whose code it is decides what is asked, so the list is read first. */
export async function changeCode({ id, duress, codeStdin, json, socket }: CodeOptions): Promise<ExitCode> {
  await using control = openControl(socket);
  const { items } = userList.parse(answered(await control.client.listUsers({ signal: patience() })).json);
  const found = items.find((user) => user.id === id);
  if (found === undefined)
    throw new SitewardError('user_unknown', `there is no user ${id}; "siteward user list" lists them`);
  const wanted = { id, duress, consent: withConsent.includes(found.role) };
  const codes = await (codeStdin ? pipedCodes(wanted) : askedCodes(wanted));
  const answer = answered(await control.client.setUserCode({ params: { id }, body: codes, signal: patience() }));
  const { changed } = changedAnswer.parse(answer.json);
  console.log(json ? JSON.stringify({ changed }) : `user ${changed} has another code`);
  return exitCodes.ok;
}
