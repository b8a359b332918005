import { profileFolders } from '#box/folders.ts';
import type { Message } from '#devices/panels/index.ts';
import {
  type BuiltPanel,
  blanked,
  bridgedPanels,
  buildPanels,
  type Compiled,
  dc09Profile,
  emptyMemory,
  type Interpreted,
  interpret,
  type Mapping,
  type Memory,
  mapReading,
  meaningOf,
  type Reading,
  shownOf,
  type Verdict,
  verdictOf,
  wordsOf,
} from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';
import { subscribe } from '#lib/mqtt.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { printable } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { type BrokerAccess, type BrokerOptions, brokerAccess } from './broker.ts';
import { lineGate } from './gate.ts';
import { listen } from './listen.ts';
import { profileOf } from './profile.ts';
import { openRecording } from './recording.ts';
import { createTally } from './tally.ts';
import { shortened } from './text.ts';

export interface WatchOptions extends BrokerOptions {
  readonly profile?: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly panel?: string;
  readonly seconds?: number;
  readonly record?: string;
  readonly json?: boolean;
}

/** One panel that is watched; the mapping is there where the configuration has the panel. */
interface Watched {
  readonly compiled: Compiled;
  readonly mapping: Mapping | undefined;
  readonly label: string;
  memory: Memory;
}

/** `siteward panel watch`: what the bridge says and what it means, as it comes, until Ctrl-C. */
export async function watch(options: WatchOptions): Promise<ExitCode> {
  const access = brokerAccess(options);
  const panels = watchedPanels(options, access);
  const filters = [...new Set(panels.flatMap(({ compiled }) => compiled.filters))];
  using stopped = untilStopped(options.seconds);
  using gate = lineGate();
  const recording = options.record === undefined ? undefined : openRecording(options.record);
  const tally = createTally();
  const several = panels.length > 1;

  const configured = configuredPanels(options, access);
  const take = (message: Message) => {
    const found = read(panels, message);
    if (found === undefined) return;
    const { panel, result } = found;
    panel.memory = result.memory;
    // Of a silent hold-up there is nothing to be seen here either (safety 4).
    const said = shownOf(panel.mapping ?? noZones, result);
    if (!said.isShown || (panel.mapping === undefined && configured.some((one) => hides(one, message)))) return;
    const verdict = verdictOf(said);
    tally.add(verdict, said.notes);
    const raw = said.isWhole ? blanked(panel.compiled, message.topic, message.payload) : undefined;
    recording?.add({ topic: message.topic, payload: raw, retain: message.retain });
    const site = panel.mapping === undefined ? [] : ours(panel.mapping, said.readings);
    const shown: Shown = { panel: panel.label, message, raw, verdict, said, site };
    gate.print(() => (options.json === true ? JSON.stringify(jsonOf(shown)) : textOf(shown, several)));
  };
  try {
    await listen({
      connect: access.connect,
      subscribe: (client) => subscribe(client, filters),
      take,
      signal: stopped.signal,
      listening: () => console.error(`listening to ${filters.join(', ')} on ${access.connect.url}; Ctrl-C ends it`),
    });
  } finally {
    await recording?.close();
  }
  gate.flush();
  if (options.json === true) console.log(JSON.stringify({ kind: 'summary', ...tally.summary() }));
  else for (const line of tally.lines()) console.error(printable(line));
  if (recording !== undefined) console.error(recording.said());
  return exitCodes.ok;
}

function watchedPanels(options: WatchOptions, { settings }: BrokerAccess): Watched[] {
  const { profile, panel: wanted, vars, config } = options;
  if (profile !== undefined) {
    const compiled = profileOf({ profile, vars, config });
    return [{ compiled, mapping: undefined, label: compiled.profile.id, memory: emptyMemory() }];
  }
  const all = bridgedPanels(settings?.panels ?? []);
  const calling = (settings?.panels ?? []).find(({ id, profile: name }) => id === wanted && name === dc09Profile);
  if (calling !== undefined) {
    const text = `panel ${calling.id} reports by SIA DC-09, not over MQTT; "siteward status" shows what it says`;
    throw new SitewardError('config_invalid', text);
  }
  const chosen = wanted === undefined ? all : all.filter(({ id }) => id === wanted);
  if (chosen.length === 0)
    throw nothingToWatch(
      wanted,
      all.map(({ id }) => id),
      options,
    );
  const { built, problems } = buildPanels(chosen, profileFolders(config));
  const [broken] = problems.values();
  if (broken !== undefined) throw broken;
  return built.map(({ options: { id }, mapping, compiled }) => {
    // What is not configured yet is shown too: that is what one looks for.
    return { compiled: { ...compiled, partitions: null }, mapping, label: id, memory: emptyMemory() };
  });
}

function nothingToWatch(wanted: string | undefined, there: readonly string[], { config }: WatchOptions): SitewardError {
  const said =
    wanted === undefined
      ? `${config} has no panels: name a profile with --profile, or find it with "siteward panel learn"`
      : `${config} has no panel ${wanted}; there ${there.length === 1 ? 'is' : 'are'} ${there.join(', ') || 'none'}`;
  return new SitewardError('config_invalid', said);
}

function read(panels: readonly Watched[], message: Message) {
  for (const panel of panels) {
    const result = interpret(panel.compiled, panel.memory, message);
    if (verdictOf(result) !== 'unmatched') return { panel, result };
  }
  return undefined;
}

const noZones: Pick<Mapping, 'zones'> = { zones: new Map() };

/** The panels of the configuration, as far as it can be used; one that is watched by a profile alone may be among them. */
function configuredPanels({ config }: WatchOptions, { settings }: BrokerAccess): readonly BuiltPanel[] {
  return buildPanels(bridgedPanels(settings?.panels ?? []), profileFolders(config)).built;
}

/** Whether a message speaks of a silent hold-up button of the configuration. */
function hides({ compiled, mapping }: BuiltPanel, message: Message): boolean {
  return !shownOf(mapping, interpret(compiled, emptyMemory(), message)).isWhole;
}

interface Shown {
  readonly panel: string;
  readonly message: Message;
  readonly raw: string | undefined;
  readonly verdict: Verdict;
  readonly said: Pick<Interpreted, 'readings' | 'notes'>;
  readonly site: readonly string[];
}

function textOf({ panel, message, raw, said, site }: Shown, several: boolean): string {
  const retained = message.retain ? ' (retained)' : '';
  const ours = site.length === 0 ? '' : `  [${shortened(site.join(', '), 200)}]`;
  const line = `${several ? `${panel}  ` : ''}${shortened(message.topic)}  ${shortened(raw ?? '(no text)')}${retained}  ->  ${shortened(meaningOf(said), 400)}${ours}`;
  return `${new Date().toISOString()}  ${printable(line)}`;
}

const jsonOf = ({ panel, message, raw, verdict, said, site }: Shown) => ({
  kind: 'message',
  at: new Date().toISOString(),
  panel,
  topic: message.topic,
  raw: raw ?? null,
  retain: message.retain,
  verdict,
  meaning: meaningOf(said),
  readings: said.readings.map(wordsOf),
  site,
});

/** The site's numbers for what was read, and keys that the configuration does not have. */
function ours(mapping: Mapping, readings: readonly Reading[]): readonly string[] {
  const said = readings.flatMap((reading) => {
    if (reading.kind === 'zone') {
      const zone = mapping.zones.get(reading.key);
      return zone === undefined
        ? [`zone ${reading.key} is not configured`]
        : [`our zone ${zone.number} (${zone.type})`];
    }
    if (reading.kind !== 'partition') return [];
    const partition = mapping.partitions.get(reading.key);
    return partition === undefined ? [`partition ${reading.key} is not configured`] : [`our partition ${partition}`];
  });
  const hints = readings.flatMap((reading) => mapReading(mapping, reading).hints);
  const differs = hints.flatMap((hint) => (hint.kind === 'type_differs' ? [`the bridge calls it ${hint.value}`] : []));
  return [...new Set([...said, ...differs])];
}
