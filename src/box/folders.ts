import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { OtherProblem, Settings } from '#config/index.ts';
import {
  bridgedPanels,
  buildPanels,
  codeUse,
  dc09Profile,
  filtersOfPanel,
  keyProblem,
  type PanelTraits,
  traitsOf,
} from '#devices/panels/index.ts';
import { sha256 } from '#lib/digest.ts';
import type { SitePlan } from '#site/model/index.ts';

/** Folders with panel profiles: the site's own beside its configuration, then those that come with siteward. */
export function profileFolders(configPath: string): readonly string[] {
  const shipped = import.meta.url.endsWith('.ts') ? '../../config/panels' : 'panels';
  return [join(dirname(resolve(configPath)), 'panels'), join(import.meta.dirname, shipped)];
}

/** Panels of the configuration whose profile is not there or does not fit: they would not be read. And codes without use. */
export function panelProblems(configPath: string): (settings: Settings) => readonly OtherProblem[] {
  return ({ panels }) => {
    const { built, problems } = buildPanels(bridgedPanels(panels), profileFolders(configPath));
    const calling = panels.flatMap((panel, index) => {
      const problem = panel.profile === dc09Profile ? keyProblem(panel) : undefined;
      return problem === undefined ? [] : [{ path: ['panels', index, ...problem.at], message: problem.message }];
    });
    const place = (id: string, key: string) => ['panels', panels.findIndex((panel) => panel.id === id), key];
    const idle = built.filter(
      ({ options, compiled }) =>
        panels.some(({ id, code }) => id === options.id && code !== undefined) && codeUse(compiled) === 'none',
    );
    return [
      ...calling,
      ...[...problems].map(([id, { message }]) => ({ path: place(id, 'profile'), message })),
      ...idle.map(({ options }) => ({
        path: place(options.id, 'code'),
        message: `has no effect: the profile ${options.profile} sends no code; leave it out`,
      })),
    ];
  };
}

/**
 * The plan with what the profiles of its panels say of commands: the time each panel may take, never less than the
 * configuration's `arming.confirm_timeout`, whether it changes its mode while it is armed, and the modes it can be told.
 */
export function withTraits(plan: SitePlan, { panels }: Settings, folders: readonly string[]): SitePlan {
  // What calls in by itself takes no commands.
  const traits = new Map<string, PanelTraits>(
    panels.map(({ id, profile }) => [id, profile === dc09Profile ? { modes: [] } : traitsOf(profile, folders)]),
  );
  return {
    ...plan,
    partitions: plan.partitions.map((partition) => {
      const { confirmMs = 0, ...others } = traits.get(partition.panel ?? '') ?? {};
      return { ...partition, ...others, ...(confirmMs > plan.confirmMs && { confirmMs }) };
    }),
  };
}

/** The topics of some of the panels, as their profiles have them; of all without a list. */
export function panelTopics(
  { panels }: Settings,
  folders: readonly string[],
): (ids?: readonly string[]) => ReturnType<typeof filtersOfPanel> {
  const { built } = buildPanels(bridgedPanels(panels), folders);
  const filters = new Map(built.map(({ options, compiled }) => [options.id, filtersOfPanel(compiled)]));
  return (ids = [...filters.keys()]) => {
    const some = ids.flatMap((id) => filters.get(id) ?? []);
    return { tells: some.flatMap(({ tells }) => tells), takes: some.flatMap(({ takes }) => takes) };
  };
}

/** What files hold that settings only name, so that a reload sees when it changed; one that is not there has none. */
export function fileDigests(paths: readonly (string | undefined)[]): readonly string[] {
  return paths.map((path) => {
    try {
      return path === undefined ? '' : sha256(readFileSync(path, 'utf8'));
    } catch {
      return '';
    }
  });
}

/** Where the profiles of panels may lie. */
export const profilePaths = ({ panels }: Settings, folders: readonly string[]): readonly string[] =>
  panels.flatMap(({ profile }) => folders.map((folder) => join(folder, `${profile}.json`)));
