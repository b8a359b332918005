import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { profileFolders } from '#box/folders.ts';
import { type Compiled, compileProfile, loadProfile } from '#devices/panels/index.ts';
import { SitewardError } from '#errors.ts';

const fileCap = 256 * 1024;

export interface ProfileOptions {
  /** Id of a profile, or the path of a file: then with a slash, or ending in `.json`. */
  readonly profile: string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly config: string;
}

/** A profile by its id or file, compiled. Throws `profile_invalid` that names every place. */
export function profileOf({ profile, vars, config }: ProfileOptions): Compiled {
  const isFile = profile.includes('/') || profile.endsWith('.json');
  const json = isFile ? profileFile(profile) : loadProfile(profile, profileFolders(config));
  return compileProfile(json, { vars });
}

function profileFile(path: string): unknown {
  try {
    if (statSync(path).size > fileCap) throw new Error(`it is larger than ${fileCap} bytes`);
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new SitewardError('profile_invalid', `the profile ${path} cannot be read`, {
      facts: { profile: basename(path) },
      cause,
    });
  }
}
