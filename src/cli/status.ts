import { SitewardError } from '#errors.ts';
import { type StatusDocument, statusDocument } from '#lan/http/index.ts';
import { answered, openControl } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { formatSpan, printable, table } from './table.ts';

/** `siteward status`: the status document for people, or as it is with `--json`. */
export async function status(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const answer = answered(await control.client.getStatus({ signal: AbortSignal.timeout(15_000) }));
  console.log(options.json ? answer.text : page(understood(answer.json)));
  return exitCodes.ok;
}

function understood(json: unknown): StatusDocument {
  const document = statusDocument.safeParse(json);
  if (document.success) return document.data;
  throw new SitewardError(
    'control_refused',
    'the daemon speaks another version of siteward; restart it, or use --json',
    {
      cause: document.error.issues[0]?.message,
    },
  );
}

function page(status: StatusDocument): string {
  return [
    `siteward ${status.version}, up ${formatSpan(status.uptime_s)}, ${status.ready ? 'ready' : 'NOT READY'}`,
    configLine(status.config),
    `clock ${status.clock.quality}, ${status.clock.now}`,
    '',
    'partitions',
    table(status.partitions.map(partitionRow), '  '),
    '',
    zonesLine(status.zones),
    outboxLine(status),
    ...section(
      'parts',
      status.parts.map((part) => [part.name, part.state, part.reason ?? '']),
    ),
    ...section('troubles', status.troubles.map(troubleRow)),
    ...section('panels', status.panels.map(linkRow)),
    ...section('cameras', status.cameras.map(linkRow)),
    ...section('links', status.links.map(linkRow)),
    ...section('heard and not understood', status.hints.map(hintRow)),
  ].join('\n');
}

const section = (title: string, rows: string[][]): string[] =>
  rows.length === 0 ? [] : ['', title, table(rows, '  ')];

const configLine = (config: StatusDocument['config']): string =>
  config.last_good
    ? `configuration ${config.path} HAS ERRORS, running on the last good copy: ${printable(config.error ?? '')}`
    : `configuration ${config.path}${config.error === undefined ? '' : `, last reload refused: ${printable(config.error)}`}`;

function partitionRow(partition: StatusDocument['partitions'][number]): string[] {
  const delay =
    partition.exit_left_s !== undefined
      ? `exit delay ${Math.ceil(partition.exit_left_s)} s`
      : partition.entry_left_s !== undefined
        ? `entry delay ${Math.ceil(partition.entry_left_s)} s`
        : '';
  const state = `${partition.state}${partition.stale ? ' (stale)' : ''}`;
  return [partition.id, partition.name, state, `since ${partition.since}`, delay];
}

function zonesLine(zones: StatusDocument['zones']): string {
  const { total, ...lists } = zones;
  if (total === 0) return 'no zones';
  const notes = Object.entries(lists).flatMap(([what, numbers]) =>
    numbers.length === 0 ? [] : [`${what.replace('_', ' ')}: ${numbers.map(printable).join(' ')}`],
  );
  return `${total} zones${notes.length === 0 ? ', all closed' : `; ${notes.join('; ')}`}`;
}

function outboxLine({ outbox }: StatusDocument): string {
  if (outbox === null) return 'outbox: cannot be counted now, the disk does not answer';
  const waiting = Object.entries(outbox.waiting).filter(([, count]) => count > 0);
  const sum = waiting.reduce((total, [, count]) => total + count, 0);
  const lanes = sum === 0 ? '' : ` (${waiting.map(([lane, count]) => `${count} ${lane}`).join(', ')})`;
  const oldest = outbox.oldest === null ? '' : `, oldest ${outbox.oldest}`;
  return `outbox: ${sum} waiting${lanes}${oldest}, ${outbox.parked} parked, ${outbox.media_waiting} pictures waiting`;
}

const linkRow = (link: StatusDocument['links'][number]): string[] => [
  link.id,
  link.up === null ? (link.reason === undefined ? 'not heard yet' : '') : link.up ? 'up' : 'DOWN',
  link.reason ?? '',
];

const troubleRow = (trouble: StatusDocument['troubles'][number]): string[] => [
  trouble.kind,
  trouble.zone === undefined ? trouble.device : `${trouble.device} zone ${trouble.zone}`,
  `since ${trouble.since}`,
];

const hintRow = (hint: StatusDocument['hints'][number]): string[] => [
  hint.device,
  hint.about,
  `${hint.count} times`,
  hint.values.length === 0 ? hint.text : `${hint.text} (${hint.values.join(', ')})`,
];
