import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { buildPage } from './page.ts';

const root = join(import.meta.dirname, '..');

/** Has a native module of its own; installed beside the bundle. */
const outside = ['better-sqlite3'];

/** Packages written as CommonJS ask for Node's modules by `require`, which an ES module must be given. */
const requireForCommonJs =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";

/** In place of `src/lib/crash-point.ts`; the calls of an empty function go with it. */
const noCrashPoints: Plugin = {
  name: 'no-crash-points',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]lib[/\\]crash-point\.ts$/ }, () => ({
      contents: 'export function crashPoint() {}',
    }));
  },
};

/**
 * In place of the package `debug`, by which the MQTT packages tell each step: with DEBUG set they would write passwords and codes into the
 * journal, and without it each call makes a list of its arguments all the same.
 */
const noDebug: Plugin = {
  name: 'no-debug',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^debug$/ }, () => ({ path: 'debug', namespace: 'no-debug' }));
    onLoad({ filter: /.*/, namespace: 'no-debug' }, () => ({ contents: 'module.exports = () => () => {};' }));
  },
};

/** In place of the version in the sources. */
const ofVersion = (version: string): Plugin => ({
  name: 'version',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]lib[/\\]version\.ts$/ }, () => ({
      contents: `export const version = ${JSON.stringify(version)};`,
    }));
  },
});

export interface BundleOptions {
  /** Leaves them in: for tests only. */
  readonly crashPoints?: boolean;
  /** What it says of itself; that of the sources unless given. */
  readonly version?: string;
}

export interface Bundle {
  /** Everything that went in, relative to the repository. */
  readonly inputs: readonly string[];
  readonly bytes: number;
}

/**
 * Makes what is shipped: `cli.js` (every verb, the daemon among them), `store.js` (the store thread), `config-judge.js` (a thread that checks a
 * text), their shared chunks, `panels/` (profiles), `page/` (the technician page). It starts in half the time of the sources.
 */
export async function makeBundle(
  folder: string,
  { crashPoints = false, version }: BundleOptions = {},
): Promise<Bundle> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      cli: 'src/cli/main.ts',
      store: 'src/site/store/worker.ts',
      'config-judge': 'src/daemon/config-judge.ts',
    },
    outdir: folder,
    bundle: true,
    splitting: true,
    chunkNames: '[name]-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: outside,
    // Inlines empty functions.
    minifySyntax: true,
    // The same bytes wherever the packages lie.
    preserveSymlinks: true,
    plugins: [noDebug, ...(crashPoints ? [] : [noCrashPoints]), ...(version === undefined ? [] : [ofVersion(version)])],
    banner: { js: requireForCommonJs },
    legalComments: 'eof',
    metafile: true,
    logLevel: 'warning',
  });
  mkdirSync(join(folder, 'panels'), { recursive: true });
  cpSync(join(root, 'config', 'panels'), join(folder, 'panels'), { recursive: true });
  const page = await buildPage();
  for (const { path, bytes } of page.files) {
    const file = join(folder, 'page', path === '/' ? 'index.html' : path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  return { inputs: [...new Set([...Object.keys(metafile.inputs), ...page.inputs])], bytes };
}

/** The bundle in a folder that is not below the repository, and can run there; the path of its program. */
export async function runnableBundle(folder: string, options: BundleOptions = {}): Promise<string> {
  await makeBundle(folder, options);
  mkdirSync(join(folder, 'node_modules'));
  for (const name of outside) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return join(folder, 'cli.js');
}
