import { messageList } from '#lan/http/index.ts';
import type { AudioMessageShown } from '#site/model/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';

/** `siteward audio list`. The library is that of the running daemon: nobody else reads or changes it. */
export async function list(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const { items } = messageList.parse(answered(await control.client.listMessages({ signal: patience() })).json);
  if (options.json) for (const message of items) console.log(JSON.stringify(message));
  else console.log(table([titles, ...items.map(rowOf)]));
  return exitCodes.ok;
}

const titles = ['key', 'category', 'language', 'seconds', 'source', 'name', 'id of the service'];

const rowOf = ({ key, category, language, duration_seconds: seconds, source, name, ...more }: AudioMessageShown) => [
  ...[key, category, language, seconds.toFixed(1), source, name],
  more.audio_message_id === key ? '' : more.audio_message_id,
];
