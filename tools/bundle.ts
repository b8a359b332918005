import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { programBegins, programEnds } from '../src/cli/kept-program.ts';
import {
  builtinsByRequire,
  daemonApart,
  metricsInParts,
  noCrashPoints,
  noDebug,
  noHttp2,
  noOtherWays,
  noTracesNoBrowser,
  ofVersion,
  streamsOfNode,
  undiciInParts,
  zodInParts,
} from './bundle-plugins.ts';
import { buildPage } from './page.ts';

const root = join(import.meta.dirname, '..');

/** Has a native module of its own; installed beside the bundle. */
const outside = ['better-sqlite3'];

/** Packages written as CommonJS ask for Node's modules by `require`, which an ES module must be given. */
const requireForCommonJs = "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);";

/** Which run with what V8 kept of them, and what they export: `run.js` runs `run.cjs`. */
const keptPrograms = [
  { name: 'run', names: 'export const { run, runAlone } = ' },
  { name: 'store', names: '' },
] as const;

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
 * Makes what is shipped: `cli.js` (every verb but the daemon) with its chunks, `run.js` and `run.cjs` (the daemon), `store.js` and `store.cjs`
 * (the store thread), `config-judge.js` (a thread that checks a text), `panels/` (profiles), `page/` (the technician page). It starts in half the time of the sources.
 */
export async function makeBundle(
  folder: string,
  { crashPoints = false, version }: BundleOptions = {},
): Promise<Bundle> {
  const common = {
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: outside,
    // Inlines empty functions.
    minifySyntax: true,
    // The text of a program stays in memory as long as it runs. Names stay, for the stacks in the journal.
    minifyWhitespace: true,
    // The same bytes wherever the packages lie.
    preserveSymlinks: true,
    banner: { js: requireForCommonJs },
    // Beside each file: one letter that is not ASCII in a text makes V8 keep two bytes for each of its letters.
    legalComments: 'external',
    metafile: true,
    logLevel: 'warning',
  } satisfies BuildOptions;
  const plugins = [
    ...[
      noDebug,
      noOtherWays,
      noHttp2,
      noTracesNoBrowser,
      streamsOfNode,
      undiciInParts,
      metricsInParts,
      zodInParts,
      builtinsByRequire,
    ],
    ...(crashPoints ? [] : [noCrashPoints]),
    ...(version === undefined ? [] : [ofVersion(version)]),
  ];
  const built = await Promise.all([
    build({
      ...common,
      outdir: folder,
      entryPoints: { cli: 'src/cli/main.ts' },
      splitting: true,
      chunkNames: '[name]-[hash]',
      plugins: [daemonApart, ...plugins],
    }),
    // In one piece each: of a hundred chunks each would be looked for, read and linked by itself at every start.
    build({ ...common, outdir: folder, entryPoints: { 'config-judge': 'src/daemon/config-judge.ts' }, plugins }),
    build({
      ...common,
      outdir: folder,
      entryPoints: { run: 'src/cli/run.ts', store: 'src/site/store/worker.ts' },
      format: 'cjs',
      outExtension: { '.js': '.cjs' },
      banner: { js: programBegins },
      footer: { js: programEnds },
      define: { 'import.meta.url': '__url', 'import.meta.dirname': '__dirname' },
      plugins,
    }),
    ...keptPrograms.map(({ name, names }) =>
      build({
        ...common,
        stdin: {
          contents: `import { runKept } from './src/cli/kept-program.ts';
${names}runKept(import.meta.dirname + '/${name}.cjs');`,
          resolveDir: root,
        },
        outfile: join(folder, `${name}.js`),
        plugins,
      }),
    ),
  ]);
  mkdirSync(join(folder, 'panels'), { recursive: true });
  cpSync(join(root, 'config', 'panels'), join(folder, 'panels'), { recursive: true });
  const page = await buildPage();
  for (const { path, bytes } of page.files) {
    const file = join(folder, 'page', path === '/' ? 'index.html' : path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const outputs = built.flatMap(({ metafile }) => Object.values(metafile.outputs));
  const inputs = built.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return {
    inputs: [...new Set([...inputs, ...page.inputs])],
    bytes: outputs.reduce((sum, output) => sum + output.bytes, 0),
  };
}

/** The bundle in a folder that is not below the repository, and can run there; the path of its program. */
export async function runnableBundle(folder: string, options: BundleOptions = {}): Promise<string> {
  await makeBundle(folder, options);
  mkdirSync(join(folder, 'node_modules'));
  for (const name of outside) symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  return join(folder, 'cli.js');
}
