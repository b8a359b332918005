import { type AuditEntryBody, auditPage } from '#lan/http/index.ts';
import type { AuditKind } from '#site/model/index.ts';
import { answered, type Control, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { table } from '../table.ts';
import { type AuditorOptions, auditorSession } from './auditor.ts';

export interface ShowOptions extends AuditorOptions {
  readonly json: boolean;
  readonly limit: number;
  readonly since?: string;
  readonly before?: string;
  readonly kind?: readonly AuditKind[];
  readonly socket: string;
}

const pageSize = 500;

/** `siteward audit show`. */
export async function show(options: ShowOptions): Promise<ExitCode> {
  await using control = openControl(options.socket);
  const session = await auditorSession(control, options);
  let isNone = true;
  for await (const page of auditPages(control, options, session)) {
    isNone = false;
    if (options.json) for (const entry of page) console.log(JSON.stringify(entry));
    else console.log(table(page.map(auditRow)));
  }
  if (isNone && !options.json) console.log('no entries');
  return exitCodes.ok;
}

/** Newest first, page by page; at most `limit`. */
export async function* auditPages(
  control: Control,
  { limit, since, before, kind }: Pick<ShowOptions, 'limit' | 'since' | 'before' | 'kind'>,
  session: string | undefined,
): AsyncGenerator<readonly AuditEntryBody[]> {
  let cursor: string | undefined;
  for (let left = limit; left > 0; ) {
    const body = {
      limit: Math.min(left, pageSize),
      ...(session !== undefined && { session }),
      ...(cursor !== undefined && { cursor }),
      ...(since !== undefined && { since }),
      ...(before !== undefined && { before }),
      ...(kind !== undefined && { kinds: [...kind] }),
    };
    const { json } = answered(await control.client.listAudit({ body, signal: patience() }));
    const { items, next } = auditPage.parse(json);
    if (items.length > 0) yield items;
    if (next === null) return;
    left -= items.length;
    cursor = next;
  }
}

export function auditRow(entry: AuditEntryBody): string[] {
  const { at, clock, kind, source, actor_ref: actor, client_id: client, target, action } = entry;
  const { outcome, reason, before, after, omitted } = entry;
  const who = [source, actor, client === undefined ? undefined : `(${client})`];
  const what = [
    ...(outcome === undefined ? [] : [outcome]),
    ...(reason === undefined ? [] : [reason]),
    ...(before === undefined ? [] : [`${short(before)} ->`]),
    ...(after === undefined ? [] : [short(after)]),
    ...(omitted === undefined ? [] : [`and ${omitted} ${kind === 'refusal' ? 'refusals' : 'entries'} before it`]),
    ...(entry.auditor_only === true ? ['FOR AUDITORS ONLY'] : []),
  ];
  return [
    ...(entry.n === undefined ? [] : [String(entry.n)]),
    clock === 'doubtful' ? `${at} (clock in doubt)` : at,
    kind,
    who.filter((part) => part !== undefined).join(' '),
    `${target} ${action}`,
    what.join(' '),
  ];
}

/** Digests tell two things apart; ten digits of one are enough for the eye. */
const short = (text: string): string => (/^[0-9a-f]{64}$/.test(text) ? `${text.slice(0, 10)}...` : text);
