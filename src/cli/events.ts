import { type EventEntry, eventList } from '#lan/http/index.ts';
import { sleep } from '#lib/wait.ts';
import type { EventClass } from '#site/model/index.ts';
import { answered, type Control, openControl } from './control.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { table } from './table.ts';

interface Options {
  readonly json: boolean;
  readonly limit: number;
  readonly class?: EventClass;
  readonly follow: boolean;
  readonly socket: string;
}

const pollMs = 1000;

/** `siteward events`: a page of events; with `--follow` the new ones too, until the command is stopped. */
export async function events(options: Options): Promise<ExitCode> {
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  await using control = openControl(options.socket);
  const page = await read(control, options, stopped.signal);
  print(options.follow ? page.toReversed() : page, options);
  if (options.follow) await follow(control, options, page[0]?.seq ?? 0, stopped.signal);
  return exitCodes.ok;
}

async function follow(control: Control, options: Options, since: number, signal: AbortSignal): Promise<void> {
  let last = since;
  while (!signal.aborted) {
    await sleep(pollMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    const fresh = await newerThan(control, options, last, signal);
    print(fresh, options);
    last = fresh.at(-1)?.seq ?? last;
  }
}

/** Events above `seq`, oldest first; at most ten pages, so that a flood cannot keep it from printing. */
async function newerThan(control: Control, options: Options, seq: number, signal: AbortSignal): Promise<EventEntry[]> {
  const found: EventEntry[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    const page = await read(control, { ...options, limit: 200 }, signal, found.at(-1)?.seq);
    found.push(...page.filter((entry) => entry.seq > seq));
    if ((page.at(-1)?.seq ?? 0) <= seq) break;
  }
  return found.reverse();
}

async function read(control: Control, options: Options, signal: AbortSignal, before?: number): Promise<EventEntry[]> {
  const query = { limit: options.limit, class: options.class, before };
  return eventList.parse(answered(await control.client.listEvents({ query, signal })).json).items;
}

function print(entries: readonly EventEntry[], options: Options): void {
  if (entries.length === 0) return;
  console.log(options.json ? entries.map((entry) => JSON.stringify(entry)).join('\n') : table(entries.map(row)));
}

/** Zones that were in the way of an arming, or that it is armed without. */
function zonesOf(evidence: EventEntry['event']['data']['evidence'] = []): string | undefined {
  const about = evidence.find(({ type }) => type === 'not_ready' || type === 'zones_left_out');
  return about === undefined ? undefined : `${about.type === 'not_ready' ? '' : 'without '}zones ${about.zones}`;
}

function row({ seq, event, delivery, tries, reason, media }: EventEntry): string[] {
  const where = [
    event.partition,
    event.zone === undefined ? undefined : `zone ${event.zone}`,
    event.data.zone_name,
    zonesOf(event.data.evidence),
    event.camera,
  ];
  const made = media.filter(({ state }) => state === 'uploaded').length;
  const trail = [
    delivery,
    ...(tries !== undefined && delivery !== 'delivered' ? [`after ${tries} tries`] : []),
    ...(media.length === 0 ? [] : [`${made}/${media.length} pictures`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  const what = event.status === 'active' ? event.kind : `${event.kind} ${event.status}`;
  return [
    String(seq),
    event.at,
    event.class,
    what,
    where.filter((part) => part !== undefined).join(' '),
    trail.join(', '),
  ];
}
