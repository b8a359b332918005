import { type MediaEntry, mediaList } from '#lan/http/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { offset } from './media-names.ts';
import { formatBytes, table } from './table.ts';

export interface ListOptions {
  readonly json: boolean;
  readonly limit: number;
  readonly before?: number;
  readonly state?: MediaEntry['items'][number]['state'];
  readonly camera?: string;
  readonly event?: number;
  readonly socket: string;
}

/** `siteward media list`: one page. */
export async function list({ json, socket, ...query }: ListOptions): Promise<ExitCode> {
  await using control = openControl(socket);
  const { items } = mediaList.parse(answered(await control.client.listMedia({ query, signal: patience() })).json);
  if (items.length === 0) return exitCodes.ok;
  console.log(json ? items.map((entry) => JSON.stringify(entry)).join('\n') : table(items.flatMap(rows)));
  return exitCodes.ok;
}

const rows = ({ seq, at, event, items }: MediaEntry): string[][] =>
  items.map(({ kind, camera, offset_ms, state, bytes, reason }) => [
    ...[at, String(seq), event, kind, camera, offset(offset_ms), state],
    ...[bytes === undefined ? '-' : formatBytes(bytes), reason ?? ''],
  ]);
