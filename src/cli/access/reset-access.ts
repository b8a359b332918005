import { SitewardError } from '#errors.ts';
import { keyList, personList, resetAnswer, sessionList } from '#lan/http/index.ts';
import { agreed } from '../consent.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { counted } from '../table.ts';
import { invitation, wayIn } from './claim-code.ts';

/** What there is to lose; null where the file of accounts cannot be read. */
type Counts = { readonly accounts: number; readonly keys: number; readonly sessions: number } | null;

/** `siteward reset-access`. Without `--yes` it asks on a terminal. */
export async function resetAccess(options: {
  yes: boolean;
  json: boolean;
  socket: string;
}): Promise<ExitCode | 'nobody to ask'> {
  await using control = openControl(options.socket);
  if (!options.yes) {
    console.error(whatItDoes(await counts(control)));
    const answer = await agreed('Remove them?');
    if (answer === 'nobody to ask') return answer;
    if (answer === 'no') {
      console.error('siteward: nothing was removed');
      return exitCodes.failure;
    }
  }
  const done = resetAnswer.parse(answered(await control.client.resetAccess({ signal: patience() })).json);
  const way = await wayIn(control);
  if (options.json) console.log(JSON.stringify({ ...done, ...way }));
  else console.log(`${goneText(done.lost)}\n\n${invitation(done.claim_code, way)}`);
  return exitCodes.ok;
}

async function counts({ client }: Control): Promise<Counts> {
  try {
    const signal = patience();
    const people = personList.parse(answered(await client.listPeople({ signal })).json);
    const keys = keyList.parse(answered(await client.listKeys({ signal })).json);
    const sessions = sessionList.parse(answered(await client.listSessions({ signal })).json);
    return { accounts: people.items.length, keys: keys.items.length, sessions: sessions.items.length };
  } catch (error) {
    if (error instanceof SitewardError && error.code === 'access_unusable') return null;
    throw error;
  }
}

const them = ({ accounts, keys, sessions }: NonNullable<Counts>): string =>
  `${counted(accounts, 'account')}, ${counted(keys, 'API key')} and ${counted(sessions, 'open session')}`;

const whatItDoes = (lost: Counts): string =>
  `${lost === null ? 'The file of accounts cannot be read. It is set aside as access.json.damaged; all accounts, API keys and sessions' : `This bridge has ${them(lost)}. All of them`} are gone then, at once and for good:
programs with an API key are refused, and everybody who is logged in is out. The first account is made anew, with a new claim code.
What stays: the configuration, users and their codes, arming, events, the outbox, the audit log, MQTT clients.`;

const goneText = (lost: Counts): string =>
  lost === null ? 'the file of accounts was set aside as access.json.damaged' : `${them(lost)} removed`;
