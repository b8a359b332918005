import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PageFile } from '#lan/http/index.ts';

/** Beside the program in what is shipped. */
const shipped = join(import.meta.dirname, 'page');
/** In the repository the page is made when the daemon starts. */
const maker = join(dirname(dirname(import.meta.dirname)), 'tools', 'page.ts');

/** The files of the technician page. Rejects where the build has none. */
export async function pageFiles(): Promise<readonly PageFile[]> {
  const names = await readdir(shipped, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (names === undefined) {
    const { makePage } = (await import(maker)) as { makePage: () => Promise<readonly PageFile[]> };
    return makePage();
  }
  const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(
    files.map(async (file) => ({
      path: `/${file.slice(shipped.length + 1)}`.replace(/^\/index\.html$/, '/'),
      bytes: await readFile(file),
    })),
  );
}
