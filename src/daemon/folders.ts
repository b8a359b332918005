import { dirname, join, resolve } from 'node:path';

/** Folders with panel profiles: the site's own beside its configuration, then those that come with siteward. */
export function profileFolders(configPath: string): readonly string[] {
  const shipped = import.meta.url.endsWith('.ts') ? '../../config/panels' : 'panels';
  return [join(dirname(resolve(configPath)), 'panels'), join(import.meta.dirname, shipped)];
}
