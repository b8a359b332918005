import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '#errors.ts';
import { type Compiled, compileProfile } from './compile.ts';
import { loadProfile, profileIds } from './load.ts';

/** A profile that can be named in the configuration, with what is wrong with it. */
export interface CatalogueEntry {
  readonly id: string;
  readonly file: string;
  /** Whether it lies in the site's own folder. */
  readonly own: boolean;
  /** A preset of the same id is not used. */
  readonly hidesPreset: boolean;
  readonly compiled?: Compiled;
  readonly json?: unknown;
  readonly problem?: string;
}

/** Every profile of the folders, the site's own folder first; what is broken is among them with its problem. */
export function catalogue(directories: readonly string[]): readonly CatalogueEntry[] {
  return profileIds(directories).map((id) => {
    const holding = directories.filter((directory) => existsSync(join(directory, `${id}.json`)));
    const own = holding[0] === directories[0];
    const about = { id, file: join(holding[0] ?? '', `${id}.json`), own, hidesPreset: own && holding.length > 1 };
    try {
      const json = loadProfile(id, directories);
      return { ...about, json, compiled: compileProfile(json) };
    } catch (error) {
      return { ...about, problem: describe(error) };
    }
  });
}
