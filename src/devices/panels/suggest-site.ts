import type { Vars } from './guess.ts';
import type { Fit } from './learn.ts';
import { nameOf, type SuggestedPanel, suggestPanel } from './suggest.ts';

/** A bridge, and what was heard of it. */
export type HeardBridge = Pick<Fit, 'id' | 'vars' | 'changed' | 'compiled' | 'readings'>;

/** What the configuration has already, so that lines for it neither collide nor come twice. */
export interface SiteSoFar {
  readonly partitions: readonly string[];
  /** Partitions that a panel decides, or that a zone or camera belongs to. */
  readonly used: ReadonlySet<string>;
  readonly zones: readonly string[];
  readonly panels: readonly { readonly id: string; readonly profile: string; readonly vars?: Vars | undefined }[];
}

export interface SuggestedSite {
  /** Partitions to add; the panels speak of them. */
  readonly partitions: readonly { readonly id: string; readonly name: string }[];
  readonly panels: readonly SuggestedPanel[];
  /** Bridges a panel of the configuration reads already. */
  readonly known: readonly { readonly profile: string; readonly panel: string }[];
}

/** One entry for each bridge that no panel reads yet; with several partitions each zone says where it belongs. */
export function suggestSite(bridges: readonly HeardBridge[], site: SiteSoFar): SuggestedSite {
  const known: { profile: string; panel: string }[] = [];
  const panels: SuggestedPanel[] = [];
  const free = site.partitions.filter((id) => !site.used.has(id));
  const ids = new Set(site.partitions);
  for (const fit of bridges) {
    const reader = site.panels.find(({ profile, vars }) => profile === fit.id && isSame(fit, vars));
    if (reader !== undefined) {
      known.push({ profile: fit.id, panel: reader.id });
      continue;
    }
    const nextPartition = () => free.shift() ?? nextFree(ids);
    const id = panelId(fit.id, [...site.panels, ...panels]);
    const { changed, readings } = fit;
    panels.push(
      suggestPanel({ id, profile: fit.id, changed, readings, before: panels, taken: site.zones, nextPartition }),
    );
  }
  const partitions = panels
    .flatMap((panel) => Object.entries(panel.partitions ?? {}))
    .filter(([id]) => !site.partitions.includes(id))
    .map(([id, key]) => ({ id, name: nameOf(typeof key === 'string' ? key : (key[0] ?? id)) }));
  const all = [...site.partitions, ...partitions.map(({ id }) => id)];
  return { partitions, known, panels: all.length < 2 ? panels : panels.map((panel) => placed(panel, all[0] ?? 'p1')) };
}

const isSame = ({ vars, compiled }: HeardBridge, configured: Vars = {}): boolean =>
  Object.entries(vars).every(([name, value]) => (configured[name] ?? compiled.profile.vars[name]) === value);

function nextFree(ids: Set<string>): string {
  for (let next = 1; ; next += 1) {
    const id = `p${next}`;
    if (ids.has(id)) continue;
    ids.add(id);
    return id;
  }
}

/** The first is `main`, so that its lines stay the shortest. */
function panelId(profile: string, others: readonly { readonly id: string }[]): string {
  const isTaken = (id: string) => others.some((other) => other.id === id);
  if (others.length === 0) return 'main';
  if (!isTaken(profile)) return profile;
  for (let next = 2; ; next += 1) if (!isTaken(`${profile}-${next}`)) return `${profile}-${next}`;
}

function placed(panel: SuggestedPanel, otherwise: string): SuggestedPanel {
  const partition = Object.keys(panel.partitions ?? {})[0] ?? otherwise;
  const zones = Object.entries(panel.zones ?? {}).map(([number, zone]) => [number, { ...zone, partition }] as const);
  return { ...panel, ...(zones.length > 0 && { zones: Object.fromEntries(zones) }) };
}
