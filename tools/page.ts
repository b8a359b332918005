import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');
const source = join(root, 'src', 'lan', 'page');

/** A file of the page by its path on the bridge. */
export interface PageFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The technician page: one script, one style, the document that names them by what they hold. */
export const makePage = async (): Promise<readonly PageFile[]> => (await buildPage()).files;

/** The same with everything that went in, relative to the repository. */
export async function buildPage(): Promise<{ files: readonly PageFile[]; inputs: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: 'src/lan/page/main.tsx', style: 'src/lan/page/page.css' },
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    // Phones of 2022 on. This is of the language only: what of the browser is called must be as old.
    target: ['chrome100', 'firefox100', 'safari15.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    write: false,
    preserveSymlinks: true,
    metafile: true,
    logLevel: 'warning',
  });
  const built = outputFiles.map(({ path, contents }) => ({
    path: `/assets/${path.split('/').at(-1)}`,
    bytes: contents,
  }));
  const nameOf = (ending: string): string => built.find(({ path }) => path.endsWith(ending))?.path ?? '';
  const icon = readFileSync(join(source, 'icon.svg'));
  const iconPath = `/assets/icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8).toUpperCase()}.svg`;
  const document = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('/assets/icon.svg', iconPath)
    .replace('/assets/page.css', nameOf('.css'))
    .replace('/assets/page.js', nameOf('.js'));
  const files = [
    { path: '/', bytes: Buffer.from(document) },
    { path: iconPath, bytes: icon },
    // Asked for by its old name beside every document that is no page, such as an answer of the API.
    { path: '/favicon.ico', bytes: icon },
    ...built,
  ];
  return { files, inputs: Object.keys(metafile.inputs) };
}
