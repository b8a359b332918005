import { type MediaDetail, mediaDetail } from '#lan/http/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { offset } from './media-names.ts';
import { formatBytes, printable, table } from './table.ts';

/** `siteward media show SEQ`. */
export async function show(event: number, options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const params = { seq: String(event) };
  const answer = answered(await control.client.getMedia({ params, signal: patience() }));
  console.log(options.json ? answer.text : page(mediaDetail.parse(answer.json)));
  return exitCodes.ok;
}

function page({ seq, event_id, at, event, partition, items }: MediaDetail): string {
  return [
    printable(`event ${seq}  ${at}  ${event}  ${partition ?? ''}`),
    printable(event_id),
    '',
    table(
      items.map(({ index, kind, camera, offset_ms, state, bytes, sha256, here, missing, reason }) => [
        ...[String(index), kind, camera, offset(offset_ms), state, bytes === undefined ? '-' : formatBytes(bytes)],
        ...[here ? 'here' : 'not here', sha256 ?? '-', [...new Set([reason, missing])].filter(Boolean).join('; ')],
      ]),
    ),
  ].join('\n');
}
