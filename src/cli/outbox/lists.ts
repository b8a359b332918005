import { gapList, type ParkedDetail, parkedDetail } from '#lan/http/index.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printableLine, table } from '../table.ts';
import { parkedPages, type WaitingFilter, waitingPages } from './pages.ts';

interface Listing {
  readonly json: boolean;
  readonly limit: number;
  readonly socket: string;
}

/** `siteward outbox events`. */
export async function waiting(options: Listing & WaitingFilter): Promise<ExitCode> {
  await using control = openControl(options.socket);
  for await (const page of waitingPages(control, options)) {
    print(page, options, ({ seq, lane, event }) => [String(seq), event.at, lane, what(event), where(event)]);
  }
  return exitCodes.ok;
}

/** `siteward outbox parked`. */
export async function parked(options: Listing): Promise<ExitCode> {
  await using control = openControl(options.socket);
  for await (const page of parkedPages(control, options.limit)) {
    print(page, options, ({ seq, event, status, tries, reason }) => [
      ...[String(seq), event.at, what(event), where(event) || '-', status === undefined ? '-' : String(status)],
      ...[`${tries} ${tries === 1 ? 'try' : 'tries'}`, reason.replace(`${status} `, '')],
    ]);
  }
  return exitCodes.ok;
}

/** `siteward outbox parked SEQ`. */
export async function explain(options: { seq: number; json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const params = { seq: String(options.seq) };
  const answer = answered(await control.client.getParked({ params, signal: patience() }));
  console.log(options.json ? answer.text : explained(parkedDetail.parse(answer.json)));
  return exitCodes.ok;
}

/** `siteward outbox gaps`. */
export async function gaps(options: Listing): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const query = { limit: options.limit };
  const { items } = gapList.parse(answered(await control.client.listGaps({ query, signal: patience() })).json);
  print(items, options, ({ lane, seq_from, seq_to, count, why, at, reported }) => [
    ...[at, lane, seq_from === seq_to ? String(seq_from) : `${seq_from} to ${seq_to}`, `${count} lost`, why],
    reported ? 'reported' : 'not reported yet',
  ]);
  return exitCodes.ok;
}

function print<E>(entries: readonly E[], { json }: Listing, row: (entry: E) => string[]): void {
  if (entries.length === 0) return;
  console.log(json ? entries.map((entry) => JSON.stringify(entry)).join('\n') : table(entries.map(row)));
}

const what = ({ kind, status }: SiteEvent): string => (status === 'active' ? kind : `${kind} ${status}`);

const where = ({ partition, zone, camera }: SiteEvent): string =>
  [partition, zone === undefined ? undefined : `zone ${zone}`, camera].filter((part) => part !== undefined).join(' ');

function explained({ seq, lane, event, at, tries, reason, means, remedy, cloud_event }: ParkedDetail): string {
  const body =
    cloud_event === null
      ? 'the stored event cannot be read'
      : JSON.stringify(cloud_event, null, 2).split('\n').map(printableLine).join('\n');
  return [
    table([
      ['event', `${seq} ${event.event_id}`],
      ['happened', `${event.at} ${what(event)} ${where(event)}`],
      ['lane', lane],
      ['refused', `${at} after ${tries} tries`],
      ['reason', reason],
      ['means', means],
      ['to do', remedy],
    ]),
    '',
    'as it would be sent',
    body,
    '',
    `siteward outbox retry ${seq}   puts it back in line`,
    `siteward outbox drop ${seq}    gives it up for good`,
  ].join('\n');
}
