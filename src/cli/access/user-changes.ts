import { removedAnswer, userEntry } from '#lan/http/index.ts';
import type { UserRole, WeekWindow } from '#site/model/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { askedCodes, pipedCodes, withConsent } from './user-codes.ts';

export interface AddOptions {
  readonly id: string;
  readonly name: string;
  readonly role: UserRole;
  readonly duress: boolean;
  readonly from?: string;
  readonly until?: string;
  readonly hours?: readonly WeekWindow[];
  readonly codeStdin: boolean;
  readonly json: boolean;
  readonly socket: string;
}

/** Three slow hashes and two synced files on a slow card. */

/** `siteward user add`. */
export async function add(options: AddOptions): Promise<ExitCode> {
  const { id, name, role, duress, from, until, hours } = options;
  const wanted = { id, duress, consent: withConsent.includes(role) };
  const codes = await (options.codeStdin ? pipedCodes(wanted) : askedCodes(wanted));
  await using control = openControl(options.socket);
  const body = {
    id,
    name,
    role,
    ...codes,
    ...(from !== undefined && { valid_from: from }),
    ...(until !== undefined && { valid_until: until }),
    ...(hours !== undefined && { windows: hours }),
  };
  const { json } = answered(await control.client.addUser({ body, signal: patience() }));
  const added = userEntry.parse(json);
  console.log(options.json ? JSON.stringify(added) : `user ${added.id} added as ${added.role}`);
  return exitCodes.ok;
}

/** `siteward user remove`. */
export async function remove(options: { id: string; yes: boolean; json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const query = { last_owner: options.yes ? ('true' as const) : ('false' as const) };
  const { json } = answered(await control.client.removeUser({ params: { id: options.id }, query, signal: patience() }));
  const { removed } = removedAnswer.parse(json);
  console.log(options.json ? JSON.stringify({ removed }) : `user ${removed} removed`);
  return exitCodes.ok;
}
