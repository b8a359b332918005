import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tree } from './deb.ts';

const docs = join(import.meta.dirname, '..', '..', 'docs');

/** Pictures of the page, which no terminal shows: 3 MB that every box would carry. */
const isPicture = (path: string): boolean => path.startsWith('screens/');

/** Every page and description of docs/, under the name by which commands point to it (src/cli/doc-page.ts). */
export function addDocs(tree: Tree): void {
  for (const entry of readdirSync(docs, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(docs.length + 1);
    if (entry.isFile() && !isPicture(path)) tree.write(`usr/share/doc/siteward/docs/${path}`, readFileSync(file));
  }
}
