import {
  endedAnswer,
  type KeyEntry,
  keyList,
  type PersonEntry,
  personList,
  type SessionShown,
  sessionList,
} from '#lan/http/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';

/** `siteward access list`. */
export async function list(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { client } = control;
  const signal = patience();
  const { items: people, handed_over } = personList.parse(answered(await client.listPeople({ signal })).json);
  const { items: keys } = keyList.parse(answered(await client.listKeys({ signal })).json);
  const { items: sessions } = sessionList.parse(answered(await client.listSessions({ signal })).json);
  if (options.json) console.log(JSON.stringify({ handed_over, people, keys, sessions }));
  else if (people.length === 0) console.log('nobody has claimed this bridge; "siteward claim-code" shows the code');
  else
    console.log(
      [
        `handed over ${handed_over ?? 'not yet'}`,
        ...block('accounts', people.map(personRow)),
        ...block('API keys', keys.map(keyRow)),
        ...block('sessions', sessions.map(sessionRow)),
      ].join('\n'),
    );
  return exitCodes.ok;
}

/** `siteward access end-session`. */
export async function endSession(options: { id: string; json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { json } = answered(await control.client.endSession({ params: { id: options.id }, signal: patience() }));
  const { ended } = endedAnswer.parse(json);
  console.log(options.json ? JSON.stringify({ ended }) : `session ${ended} ended`);
  return exitCodes.ok;
}

const block = (title: string, rows: readonly (readonly string[])[]): readonly string[] =>
  rows.length === 0 ? [`${title}  none`] : [title, table(rows, '  ')];

const standing = (now: string): string => (now === 'valid' ? '' : now.toUpperCase());

function personRow({ id, role, name, now, valid_until: until, consented_by: by }: PersonEntry): string[] {
  const limit = until === undefined ? '' : `until ${until}`;
  return [id, role, name, standing(now), [limit, by === undefined ? '' : `let in by ${by}`].filter(Boolean).join(', ')];
}

function keyRow({ id, name, scopes, now, created_by: by, expires_at: until, used_at: used }: KeyEntry): string[] {
  const limit = until === undefined ? '' : `until ${until}`;
  return [
    id,
    name,
    scopes.join(' '),
    `of ${by}`,
    standing(now),
    [limit, `used ${used ?? 'never'}`].filter(Boolean).join(', '),
  ];
}

const sessionRow = ({ id, account, from, opened_at: opened, used_at: used }: SessionShown): string[] => [
  id,
  account,
  `from ${from}`,
  `opened ${opened}`,
  `used ${used}`,
];
