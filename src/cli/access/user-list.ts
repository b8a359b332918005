import { type UserEntry, userList } from '#lan/http/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';

/** `siteward user list`. */
export async function list(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.listUsers({ signal: patience() }));
  const { items } = userList.parse(json);
  if (options.json) for (const user of items) console.log(JSON.stringify(user));
  else if (items.length === 0) console.log('no users; "siteward user add" adds the first');
  else console.log(table(items.map(row)));
  return exitCodes.ok;
}

function row(user: UserEntry): string[] {
  const { valid_from: from, valid_until: until, windows = [] } = user;
  const limits = [
    ...(from === undefined ? [] : [`from ${from}`]),
    ...(until === undefined ? [] : [`until ${until}`]),
    ...windows.map(({ days, from: begin, to }) => `${days.join(',')} ${begin}-${to}`),
  ];
  const now = user.now === undefined || user.now === 'valid' ? '' : user.now.toUpperCase();
  return [user.id, user.role, user.source, user.name, now, limits.join('; ')];
}
