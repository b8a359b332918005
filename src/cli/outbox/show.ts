import { type OutboxDocument, outboxDocument } from '#lan/http/index.ts';
import { coarseStep } from '#lib/coarse-bytes.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { formatBytes, formatSpan, printable, table } from '../table.ts';

/** `siteward outbox show`: the outbox on a page, with what to do about it; or the document with `--json`. */
export async function show(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const answer = answered(await control.client.getOutbox({ signal: patience() }));
  console.log(options.json ? answer.text : page(outboxDocument.parse(answer.json)));
  return exitCodes.ok;
}

function page(outbox: OutboxDocument): string {
  return [
    lanesTable(outbox),
    '',
    table([
      ['link', linkLine(outbox)],
      ['sending', sendingLine(outbox)],
      ['pictures', `${outbox.media.waiting} waiting, ${outbox.media.failed} failed`],
      ['disk', diskLine(outbox)],
      ['store', `${outbox.store.state}${outbox.store.reason === undefined ? '' : ` ${outbox.store.reason}`}`],
    ]),
    ...(outbox.hints.length === 0 ? [] : ['', 'what to do', ...outbox.hints.map((hint) => `  ${printable(hint)}`)]),
  ].join('\n');
}

function lanesTable({ lanes, at, store }: OutboxDocument): string {
  if (lanes.length === 0)
    return `the outbox cannot be counted: ${printable(store.reason ?? 'the store does not answer')}`;
  return table([
    ['lane', 'waiting', 'oldest', 'parked', 'lost'],
    ...lanes.map(({ lane, waiting, oldest, parked, lost }) => [
      lane,
      String(waiting),
      oldest === null ? '-' : `${oldest} (${since(oldest, at)})`,
      String(parked),
      String(lost),
    ]),
  ]);
}

const since = (then: string, now: string): string => formatSpan((Date.parse(now) - Date.parse(then)) / 1000);

function linkLine({ link, at }: OutboxDocument): string {
  if (link.state === 'none') return 'no cloud is configured; events are kept';
  return [
    link.state === 'down' ? 'DOWN' : link.state === 'up' ? 'up' : 'not known yet',
    ...(link.trouble === undefined ? [] : [`(${link.trouble})`]),
    ...(link.since === undefined ? [] : [`since ${link.since} (${since(link.since, at)})`]),
    ...(link.breaker === undefined ? [] : [`breaker ${link.breaker}`]),
    ...(link.next_try_s === undefined ? [] : [`next try in ${formatSpan(link.next_try_s)}`]),
    ...(link.reason === undefined ? [] : [`- ${link.reason}`]),
  ].join(' ');
}

const sendingLine = ({ sending }: OutboxDocument): string =>
  `${sending.per_min} a minute, ${sending.in_flight} under way, ${sending.aside} set aside for another try` +
  (sending.memory_only === 0 ? '' : `, ${sending.memory_only} IN MEMORY ONLY`);

/** Sizes come in whole steps. */
const sizeOf = (bytes: number): string => (bytes === 0 ? `under ${formatBytes(coarseStep)}` : formatBytes(bytes));

function diskLine({ disk }: OutboxDocument): string {
  const files = disk.files.map(({ name, bytes, wal_bytes }) => `${name} ${sizeOf(bytes)} + ${sizeOf(wal_bytes)} log`);
  const room =
    disk.free_bytes === null || disk.total_bytes === null
      ? `${disk.dir} does not answer`
      : `${formatBytes(disk.free_bytes)} of ${formatBytes(disk.total_bytes)} free`;
  return [...files, room, ...(disk.level === undefined ? [] : [`level ${disk.level}`])].join(', ');
}
