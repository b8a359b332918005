import { SitewardError } from '#errors.ts';
import { type StatusDocument, statusDocument } from '#lan/http/index.ts';
import { answered, openControl, patience } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { partitionLines } from './status-partitions.ts';
import { counted, formatSpan, printable, table } from './table.ts';

/** `siteward status`: the status document for people, or as it is with `--json`. */
export async function status(options: { json: boolean; socket: string }): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const answer = answered(await control.client.getStatus({ signal: patience() }));
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
    ...partitionLines(status),
    '',
    zonesLine(status.zones),
    outboxLine(status),
    ...armingSyncLines(status.arming_sync),
    ...cloudDevicesLine(status.cloud?.devices),
    ...section(
      'parts',
      status.parts.map((part) => [part.name, part.state, part.reason ?? shownBy(part)]),
    ),
    ...section('troubles', status.troubles.map(troubleRow)),
    ...section('panels', status.panels.map(linkRow)),
    ...section('cameras', status.cameras.map(linkRow)),
    ...section('speakers', (status.speakers ?? []).map(linkRow)),
    ...section('links', status.links.map(linkRow)),
    ...section('heard and not understood', status.hints.map(hintRow)),
  ].join('\n');
}

const section = (title: string, rows: string[][]): string[] =>
  rows.length === 0 ? [] : ['', title, table(rows, '  ')];

/** What a browser shows of the LAN API, to be compared before its certificate is trusted. */
function shownBy({ name, facts }: StatusDocument['parts'][number]): string {
  if (name !== 'http' || facts === undefined) return '';
  return printable(`https://${facts.listen}, SHA-256 ${facts.fingerprint}`);
}

const configLine = (config: StatusDocument['config']): string =>
  config.last_good
    ? `configuration ${config.path} HAS ERRORS, running on the last good copy: ${printable(config.error ?? '')}`
    : `configuration ${config.path}${config.error === undefined ? '' : `, last reload refused: ${printable(config.error)}`}`;

const zoneWords: Readonly<Record<string, string>> = {
  alarm: 'in alarm',
  low_battery: 'low battery',
  offline: 'not heard any more',
  unknown: 'not heard yet',
  reports_only: 'by reports only',
};

function zonesLine(zones: StatusDocument['zones']): string {
  const { total, ...lists } = zones;
  if (total === 0) return 'no zones';
  const notes = Object.entries(lists).flatMap(([what, numbers]) =>
    numbers === undefined || numbers.length === 0
      ? []
      : [`${zoneWords[what] ?? what}: ${numbers.map(printable).join(' ')}`],
  );
  return `${counted(total, 'zone')}${notes.length === 0 ? ', all closed' : `; ${notes.join('; ')}`}`;
}

function outboxLine({ outbox }: StatusDocument): string {
  if (outbox === null) return 'outbox: cannot be counted now, the disk does not answer';
  const waiting = Object.entries(outbox.waiting).filter(([, count]) => count > 0);
  const sum = waiting.reduce((total, [, count]) => total + count, 0);
  const lanes = sum === 0 ? '' : ` (${waiting.map(([lane, count]) => `${count} ${lane}`).join(', ')})`;
  const oldest = outbox.oldest === null ? '' : `, oldest ${outbox.oldest}`;
  return `outbox: ${sum} waiting${lanes}${oldest}, ${outbox.parked} parked, ${outbox.media_waiting} pictures waiting`;
}

/** The cloud's word on the arming, the site's own, and what stands between them. */
export function armingSyncLines(sync: StatusDocument['arming_sync']): string[] {
  if (sync === undefined) return [];
  const { mode, cloud, site, agreed, security_type: type, security_type_asked: asked } = sync;
  const wish = asked === undefined ? '' : `, ${asked} waits until every partition is disarmed`;
  const words =
    mode === 'off'
      ? 'arming: not told to the cloud (cloud.partner is not set)'
      : mode === 'mirror'
        ? `arming: the cloud says ${cloud}, which is only shown here`
        : `arming: site ${site}, cloud ${cloud}${agreed ? ', in step' : ', NOT IN STEP'}`;
  return [
    `${words}; security type ${type}${wish}`,
    ...(sync.activated === false
      ? [
          '  THE SITE IS NOT ACTIVATED IN THE CLOUD; it is protected on the spot as before. Who runs the cloud activates it, or:',
          '  siteward site activate',
          '  It is seen here within two minutes.',
        ]
      : []),
    ...sync.reasons.map((reason) => `  ${printable(reason)}`),
  ];
}

/** What the cloud knows of the devices of the site. */
function cloudDevicesLine(devices: NonNullable<StatusDocument['cloud']>['devices']): string[] {
  if (devices === undefined) return [];
  const { mode, state, reason, wanted, known, held } = devices;
  const words = { in_step: 'in step', behind: 'NOT IN STEP', away: 'cannot be asked', gone: 'THE SITE IS NOT THERE' };
  const more = [
    ...(held > 0 ? [`${held} held: "siteward device plan" says why`] : []),
    ...(mode === 'manual' ? ['told only by "siteward device sync"'] : []),
    ...(reason === undefined ? [] : [printable(reason)]),
  ];
  return [[`devices in the cloud: ${known} of ${wanted} known, ${words[state]}`, ...more].join('; ')];
}

/** A panel's link is what its bridge tells of itself: zones of it may have been heard before. */
const unheard = (kind: string): string =>
  kind === 'panel' ? 'its bridge has not told its state yet' : 'not heard yet';

const linkRow = (link: StatusDocument['links'][number]): string[] => [
  link.id,
  link.up === null ? (link.reason === undefined ? unheard(link.kind) : '') : link.up ? 'up' : 'DOWN',
  link.reason ?? '',
];

const troubleRow = (trouble: StatusDocument['troubles'][number]): string[] => [
  trouble.kind,
  [trouble.device, trouble.partition, trouble.zone && `zone ${trouble.zone}`].filter(Boolean).join(' '),
  `since ${trouble.since}`,
  [
    trouble.losses === undefined ? '' : `unstable, lost ${counted(trouble.losses, 'time')}`,
    trouble.reported === undefined ? '' : reportedText(trouble.reported),
  ]
    .filter((text) => text !== '')
    .join(', '),
];

const reportedText = ({ code, number, term }: NonNullable<StatusDocument['troubles'][number]['reported']>): string =>
  `reported as ${code}${term === undefined ? '' : ` (${term})`}${number === undefined ? '' : `, number ${number}`}`;

const hintRow = (hint: StatusDocument['hints'][number]): string[] => [
  hint.device,
  hint.about,
  counted(hint.count, 'time'),
  hint.values.length === 0 ? hint.text : `${hint.text} (${hint.values.join(', ')})`,
];
