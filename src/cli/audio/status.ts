import { playbackList, speakerList } from '#lan/http/index.ts';
import type { PlaybackShown, SpeakerShown } from '#site/model/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';

/** `siteward audio status`. */
export async function status(options: { limit: number; json: boolean; socket: string }): Promise<ExitCode> {
  const { limit, json, socket } = options;
  await using control = openControl(socket);
  const { client } = control;
  const speakers = speakerList.parse(answered(await client.listSpeakers({ signal: patience() })).json).items;
  const asked = answered(await client.listPlaybacks({ query: { limit }, signal: patience() }));
  const playbacks = playbackList.parse(asked.json).items;
  if (json) console.log(JSON.stringify({ speakers, playbacks }));
  else
    console.log(
      [...section('speakers', speakers.map(speakerRow)), ...section('playbacks', playbacks.map(playbackRow))].join(
        '\n',
      ),
    );
  return exitCodes.ok;
}

const section = (title: string, rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0 ? [`no ${title}`] : [title, table(rows, '  ')];

const speakerRow = ({ device_id, name, driver, enabled, up, detail = '' }: SpeakerShown): string[] => {
  const state = up === null ? 'not asked yet' : up ? 'up' : 'DOWN';
  return [device_id, name === device_id ? '' : name, driver, enabled ? state : 'not used', detail];
};

const playbackRow = ({
  created_at,
  playback_id,
  status,
  audio_message_id,
  category,
  ...more
}: PlaybackShown): string[] => [
  ...[created_at, playback_id, status, audio_message_id, category, more.requested_by],
  more.devices.map(({ device_id, status: its, reason }) => `${device_id} ${reason ?? its}`).join(', '),
];
