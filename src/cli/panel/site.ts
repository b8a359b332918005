import { stringify } from 'yaml';
import { inputZones, type Settings, views } from '#config/index.ts';
import type { SiteSoFar, SuggestedSite } from '#devices/panels/index.ts';
import { printable } from '../table.ts';

/** What of the configuration stands in the way of new panels; nothing where there is none. */
export function siteSoFar(settings: Settings | undefined): SiteSoFar {
  if (settings === undefined) return { partitions: [], used: new Set(), zones: [], panels: [] };
  const { panels } = settings;
  const others = zonesBeside(settings);
  const partitions = settings.partitions.map(({ id }) => id);
  const zones = panels.flatMap((panel) => Object.entries(panel.zones ?? {}));
  // What names none belongs to the only one.
  const homes = [
    ...zones.flatMap(([, { partition, partitions: several }]) => several ?? [partition ?? partitions[0]]),
    ...others.map(({ partition }) => partition ?? partitions[0]),
    ...panels.flatMap((panel) => Object.keys(panel.partitions ?? {})),
  ];
  return {
    partitions,
    used: new Set(homes.flatMap((id) => id ?? [])),
    zones: [...zones.map(([number]) => number), ...others.map(({ zone }) => zone)],
    panels: panels.map(({ id, profile, vars }) => ({ id, profile, vars })),
  };
}

/** The zones that are no panel's: of cameras, channels and contacts wired to them. */
const zonesBeside = (settings: Settings) =>
  [...views(settings), ...inputZones(settings)].flatMap(({ zone, partition }) =>
    zone === undefined ? [] : [{ zone, partition }],
  );

/** What to put where, for people. The lists go below those the configuration has. */
export function linesFor(suggested: SuggestedSite, settings: Settings | undefined): string[] {
  const { partitions, panels, known } = suggested;
  const already = known.map(({ profile, panel }) =>
    printable(
      `\n${profile} is read by panel ${panel} already; "siteward panel watch" shows what of it has no zone yet.`,
    ),
  );
  if (panels.length === 0) return already;
  const added = stringify({ ...(partitions.length > 0 && { partitions }), panels }, { lineWidth: 0 });
  const below =
    settings === undefined || settings.panels.length + partitions.length === 0 ? '' : ', below what its lists have';
  return [
    ...already,
    `\nFor the configuration${below}; set the type and name of each zone:\n\n${added}`,
    ...homeless(partitions, settings),
  ];
}

/** With a second partition a zone that names none is not taken any more. */
function homeless(partitions: SuggestedSite['partitions'], settings: Settings | undefined): string[] {
  const [only, ...more] = settings?.partitions ?? [];
  if (settings === undefined || only === undefined || more.length > 0 || partitions.length === 0) return [];
  const zones = settings.panels
    .flatMap((panel) => Object.entries(panel.zones ?? {}))
    .filter(([, zone]) => zone.partition === undefined && zone.partitions === undefined)
    .map(([number]) => number);
  const others = zonesBeside(settings).filter(({ partition }) => partition === undefined);
  const all = [...zones, ...others.map(({ zone }) => zone)];
  if (all.length === 0) return [];
  return [`With several partitions each zone names its own: add "partition: ${only.id}" to zone ${all.join(', ')}.\n`];
}
