import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..', '..', '..');

export interface Program {
  /** The script of `writers.ts`. */
  readonly path: string;
  remove(): void;
}

/**
 * What the store needs to promise more than it keeps: no sync at a commit, and no check that there is one. Each change
 * must be possible, or the control would control nothing.
 */
const weakenings = [
  ["db.pragma('synchronous = FULL');", "db.pragma('synchronous = NORMAL');"],
  ['if (level === 2) return;', 'if (level >= 1) return;'],
] as const;

const weakened: Plugin = {
  name: 'weakened',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]site[/\\]store[/\\]sqlite\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      for (const [strong] of weakenings)
        if (text.split(strong).length !== 2) throw new Error(`not to be weakened, it does not say once: ${strong}`);
      return { contents: weakenings.reduce((all, [strong, weak]) => all.replace(strong, weak), text), loader: 'ts' };
    });
  },
};

/** The writers and the store thread as scripts of their own: they start in a third of the time of the sources. */
export async function buildWriters(options: { weak: boolean }): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-writers-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await build({
      absWorkingDir: root,
      entryPoints: { writers: 'test/proof/durable/writers.ts', store: 'src/site/store/worker.ts' },
      outdir: folder,
      ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node24', logLevel: 'warning' },
      external: ['better-sqlite3'],
      banner: {
        js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
      },
      plugins: options.weak ? [weakened] : [],
    });
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(root, 'node_modules', 'better-sqlite3'), join(folder, 'node_modules', 'better-sqlite3'));
    return { path: join(folder, 'writers.js'), remove };
  } catch (error) {
    remove();
    throw error;
  }
}
