import { profileFolders } from '#box/folders.ts';
import type { Settings } from '#config/index.ts';
import {
  bridgesOf,
  type CatalogueEntry,
  catalogue,
  createTraffic,
  type Fit,
  rankProfiles,
  type SuggestedSite,
  suggestSite,
  type Traffic,
} from '#devices/panels/index.ts';
import { docPage } from '../doc-page.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable, table } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { type BrokerOptions, brokerAccess } from './broker.ts';
import { everything } from './everything.ts';
import { listen } from './listen.ts';
import { linesFor, siteSoFar } from './site.ts';
import { percent } from './text.ts';

export interface LearnOptions extends BrokerOptions {
  readonly seconds: number;
  readonly json: boolean;
}

/** `siteward panel learn`: which profile reads what the bridges on the broker say. 1 when none does. */
export async function learn(options: LearnOptions): Promise<ExitCode> {
  const { connect, settings } = brokerAccess(options);
  const entries = catalogue(profileFolders(options.config));
  const traffic = createTraffic();
  using stopped = untilStopped(options.seconds);
  console.error(
    `listening on ${connect.url} for ${options.seconds} s; open a door meanwhile, or press Ctrl-C to end now`,
  );
  await overhear({ connect, entries, traffic, signal: stopped.signal });
  const { fits, bridges, suggested } = learned({ entries, traffic, settings });
  if (options.json) console.log(JSON.stringify(documentOf({ entries, traffic, fits, suggested })));
  else report({ traffic, fits, bridges, suggested, settings });
  return fits.length === 0 ? exitCodes.failure : exitCodes.ok;
}

/** What profiles make of what was heard, and what to put into the configuration for it. */
export function learned(heard: {
  readonly entries: readonly CatalogueEntry[];
  readonly traffic: Traffic;
  readonly settings: Settings | undefined;
}) {
  const fits = rankProfiles(heard.entries, heard.traffic.list());
  const bridges = bridgesOf(fits);
  return { fits, bridges, suggested: suggestSite(bridges, siteSoFar(heard.settings)) };
}

/** Fills `traffic` until `signal` aborts, and says now and then on standard error how far it is. */
export async function overhear(options: {
  readonly connect: Parameters<typeof listen>[0]['connect'];
  readonly entries: readonly CatalogueEntry[];
  readonly traffic: Traffic;
  readonly signal: AbortSignal;
  readonly listening?: () => void;
  readonly heard?: Parameters<typeof listen>[0]['take'];
}): Promise<void> {
  const { connect, entries, traffic, signal, listening, heard } = options;
  const all = everything(entries);
  const progress = setInterval(() => console.error(`${traffic.messages} messages on ${traffic.topics} topics`), 10_000);
  try {
    await listen({
      connect,
      signal,
      subscribe: (client) => all.subscribe(client),
      take(message) {
        all.heard(message.topic);
        if (traffic.add(message)) heard?.(message);
      },
      ...(listening !== undefined && { listening }),
    });
  } finally {
    clearInterval(progress);
  }
}

function report(found: {
  readonly traffic: Traffic;
  readonly fits: readonly Fit[];
  readonly bridges: readonly Fit[];
  readonly suggested: SuggestedSite;
  readonly settings: Settings | undefined;
}): void {
  const { traffic, fits, bridges, suggested, settings } = found;
  console.log(heardLine(traffic));
  const [best, ...more] = bridges;
  const second = fits.find((fit) => !bridges.includes(fit));
  if (best === undefined) {
    console.log(
      traffic.messages === 0
        ? 'Nothing was heard. Is the bridge connected to this broker, and may this user read its topics?'
        : `No profile understands any of it. Write one with "siteward panel new ID", or see ${docPage('panels.md')}.`,
    );
    return;
  }
  console.log(
    table([['profile', 'understood', 'share', 'topics', 'variables', 'title'], ...fits.slice(0, 8).map(row)]),
  );
  console.log(printable(`\n${whyFirst(best, second)}`));
  if (more.length > 0)
    console.log(
      printable(
        `Others speak on topics of their own, and get entries of their own: ${more.map(({ id }) => id).join(', ')}.`,
      ),
    );
  for (const { field, rule, value } of best.unknown.slice(0, 8))
    console.log(printable(`unknown value of ${field} on ${rule}: ${value}`));
  for (const line of linesFor(suggested, settings)) console.log(line);
  for (const { id, compiled } of bridges)
    for (const note of compiled.profile.notes ?? [])
      console.log(printable(bridges.length === 1 ? `- ${note}` : `- ${id}: ${note}`));
  console.log(`\nLook at it live: siteward panel watch --profile ${best.id}${varsOf(best)}`);
}

const heardLine = ({ messages, topics, left }: Traffic): string =>
  `${messages} messages on ${topics} topics were heard${left > 0 ? `; ${left} beyond the bounds were not looked at` : ''}`;

function row(fit: Fit): string[] {
  const { id, understood, notUnderstood, topics, changed, title } = fit;
  const told = understood + notUnderstood;
  const vars = Object.entries(changed).map(([name, value]) => `${name}=${value}`);
  return [id, `${understood} of ${told}`, percent(understood, told), String(topics), vars.join(' ') || '-', title];
}

const varsOf = ({ changed }: Fit): string =>
  Object.entries(changed)
    .map(([name, value]) => ` --var ${name}=${/[^\w./-]/.test(value) ? JSON.stringify(value) : value}`)
    .join('');

/** Why the first stands before the second, or that nothing tells them apart. */
function whyFirst(best: Fit, second: Fit | undefined): string {
  if (best.weak)
    return `${best.id} is a weak guess: little of what was heard is its own. Listen longer while you arm and open doors, or write a profile with "siteward panel new ID".`;
  if (second === undefined) return `${best.id} is the only profile that understands these topics.`;
  if (best.score === second.score && best.topics === second.topics)
    return `${best.id} and ${second.id} read it equally well: decide by the hardware ("siteward panel list"), or listen longer while you arm and open doors.`;
  if (second.weak) return `${best.id} goes first: too little of what was heard belongs to any other.`;
  if (best.share > second.share)
    return `${best.id} goes first: it understands ${percent(best.understood, best.understood + best.notUnderstood)} of what its topics say, ${second.id} ${percent(second.understood, second.understood + second.notUnderstood)}.`;
  if (best.topics > second.topics)
    return `${best.id} goes first: ${best.topics} topics are its own, ${second.topics} are those of ${second.id}.`;
  return `${best.id} goes first: its topics fit more exactly than those of ${second.id}.`;
}

function documentOf(all: {
  readonly entries: readonly CatalogueEntry[];
  readonly traffic: Traffic;
  readonly fits: readonly Fit[];
  readonly suggested: SuggestedSite;
}) {
  const { entries, traffic, fits, suggested } = all;
  const { messages, topics, left } = traffic;
  const found = new Map(fits.map((fit) => [fit.id, fit]));
  const rest = entries
    .filter(({ id }) => !found.has(id))
    .map(({ id, problem }) => ({ id, understood: 0, error: problem }));
  return {
    ...{ messages, topics, not_looked_at: left },
    profiles: [
      ...fits.map(({ id, title, understood, notUnderstood, silent, share, topics, vars, score, weak, unknown }) => ({
        ...{ id, title, understood, not_understood: notUnderstood, silent, share, topics, vars, score, weak },
        unknown: unknown.map(({ rule, field, value }) => ({ topic: rule, field, value })),
      })),
      ...rest,
    ],
    partitions: suggested.partitions,
    panels: suggested.panels,
    configured: suggested.known,
  };
}
