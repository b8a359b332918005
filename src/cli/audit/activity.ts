import { type AuditEntryBody, type CloudActivity, cloudActivity } from '#lan/http/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';
import { type AuditorOptions, auditorSession } from './auditor.ts';
import { auditPages, auditRow } from './show.ts';

export interface ActivityOptions extends AuditorOptions {
  readonly json: boolean;
  readonly limit: number;
  readonly since?: string;
  readonly before?: string;
  readonly socket: string;
}

type Line =
  | ({ readonly from: 'site' } & AuditEntryBody)
  | ({ readonly from: 'cloud' } & CloudActivity['items'][number]);

/** `siteward activity`: what the site and what the cloud have on record, newest first. */
export async function activity(options: ActivityOptions): Promise<ExitCode> {
  const { limit, json } = options;
  await using control = openControl(options.socket);
  const session = await auditorSession(control, options);
  const [local, cloud] = await Promise.all([
    siteEntries(control, options, session),
    cloudEntries(control, options, session),
  ]);
  const lines: Line[] = [
    ...local.map((entry) => ({ from: 'site' as const, ...entry })),
    ...cloud.items.map((entry) => ({ from: 'cloud' as const, ...entry })),
  ];
  const merged = lines.sort((a, b) => timeOf(b) - timeOf(a)).slice(0, limit);
  if (json) for (const line of merged) console.log(JSON.stringify(line));
  else if (merged.length === 0) console.log('no entries');
  else console.log(table(merged.map(rowOf)));
  if (cloud.state !== 'read') console.error(`siteward: without the activity log of the cloud: ${cloud.reason ?? ''}`);
  return exitCodes.ok;
}

async function siteEntries(
  control: Control,
  options: ActivityOptions,
  session: string | undefined,
): Promise<AuditEntryBody[]> {
  const entries: AuditEntryBody[] = [];
  for await (const page of auditPages(control, options, session)) entries.push(...page);
  return entries;
}

async function cloudEntries(
  control: Control,
  { limit, since, before }: ActivityOptions,
  session: string | undefined,
): Promise<CloudActivity> {
  const body = {
    limit,
    ...(session !== undefined && { session }),
    ...(since !== undefined && { since }),
    ...(before !== undefined && { before }),
  };
  const { json } = answered(await control.client.getCloudActivity({ body, signal: patience() }));
  return cloudActivity.parse(json);
}

/** What has no time comes last. */
const timeOf = ({ at }: Line): number => (at === null ? Number.NEGATIVE_INFINITY : Date.parse(at));

function rowOf(line: Line): string[] {
  if (line.from === 'cloud') return [line.at ?? 'no time', 'cloud', line.type, line.description];
  const [at = '', kind = '', ...rest] = auditRow({ ...line, n: undefined });
  return [at, 'site', kind, rest.join('  ')];
}
