import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Where the package lays the pages; some small systems have dpkg leave out all of /usr/share/doc. */
const packaged = '/usr/share/doc/siteward/docs';

/** How a page of docs/ is named to a person: by its path on this box where it is there, else as in the repository. */
export function docPage(name: string, folder: string = packaged): string {
  const path = join(folder, name);
  return existsSync(path) ? path : `docs/${name}`;
}
