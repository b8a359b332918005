import { dirname, join, resolve } from 'node:path';
import type { OtherProblem, Settings } from '#config/index.ts';
import { buildPanels } from '#devices/panels/index.ts';

/** Folders with panel profiles: the site's own beside its configuration, then those that come with siteward. */
export function profileFolders(configPath: string): readonly string[] {
  const shipped = import.meta.url.endsWith('.ts') ? '../../config/panels' : 'panels';
  return [join(dirname(resolve(configPath)), 'panels'), join(import.meta.dirname, shipped)];
}

/** Panels of the configuration whose profile is not there or does not fit: they would not be read. */
export function panelProblems(configPath: string): (settings: Settings) => readonly OtherProblem[] {
  return ({ panels }) => {
    const { problems } = buildPanels(
      panels.map(({ code: _, ...panel }) => panel),
      profileFolders(configPath),
    );
    return [...problems].map(([id, { message }]) => ({
      path: ['panels', panels.findIndex((panel) => panel.id === id), 'profile'],
      message,
    }));
  };
}
