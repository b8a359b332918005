import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { describe, SitewardError } from '#errors.ts';
import { isReadOnly } from './quiet.ts';

/** Makes the state directory, for its owner alone. Throws `state_dir_unusable`. */
export function makeStateDir(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    chmodSync(dir, 0o700);
  } catch (error) {
    // A card that turned read-only must not end the protection of the site: it goes on from memory.
    if (isReadOnly(error) && existsSync(dir)) return;
    const text = `The state directory ${dir} cannot be used: ${describe(error)}.`;
    throw new SitewardError('state_dir_unusable', text, { facts: { dir }, cause: error });
  }
}
