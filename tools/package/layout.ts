import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstDayText } from '../../src/config/index.ts';
import type { BundledPackage } from './bundled.ts';
import { bashCompletion, fishCompletion, zshCompletion } from './completions.ts';
import { copyrightFile } from './copyright.ts';
import { gzipped, type Tree } from './deb.ts';
import { changelog } from './debian.ts';
import { addDocs } from './docs.ts';
import { commandPage, configPage } from './man.ts';
import type { Target } from './targets.ts';
import { verbTree } from './verbs.ts';

const root = join(import.meta.dirname, '..', '..');
const shipped = (name: string): string => readFileSync(join(import.meta.dirname, 'files', name), 'utf8');
const ofRepository = (path: string): string => readFileSync(join(root, path), 'utf8');

/** What is the same for every architecture. */
export interface Made {
  /** Folder of the bundle with its audio messages. */
  readonly bundle: string;
  readonly version: string;
  /** Seconds since 1970. */
  readonly date: number;
  readonly packages: readonly BundledPackage[];
}

/** Everything of the package but what Debian wants to know of it. */
export function fillTree(tree: Tree, target: Target, made: Made, node: string): void {
  const app = join(tree.folder, 'usr/lib/siteward/app');
  cpSync(made.bundle, app, { recursive: true });
  openToAll(app);
  // Another Node than ours is not to be asked for.
  tree.write('usr/lib/siteward/app/cli.js', readFileSync(join(app, 'cli.js'), 'utf8').replace(/^#!.*\n/, ''));
  addDatabase(tree, target);
  mkdirSync(join(tree.folder, 'usr/lib/siteward/bin'), { recursive: true });
  const program = join(tree.folder, 'usr/lib/siteward/bin/node');
  execFileSync(target.strip, ['-o', program, join(node, 'bin', 'node')]);
  chmodSync(program, 0o755);
  tree.write('usr/lib/siteward/bin/start', shipped('start'), 0o755);
  tree.write('usr/lib/siteward/bin/use-backup', shipped('use-backup'), 0o755);
  tree.write('usr/lib/siteward/bin/warm-up', shipped('warm-up'), 0o755);
  tree.write('usr/bin/siteward', shipped('siteward'), 0o755);
  tree.write('usr/lib/systemd/system/siteward.service', ofRepository('systemd/siteward.service'));
  tree.write('usr/lib/sysusers.d/siteward.conf', shipped('sysusers.conf'));
  tree.write('usr/lib/tmpfiles.d/siteward.conf', shipped('tmpfiles.conf'));
  tree.write('usr/share/siteward/siteward.yaml', firstDayText);
  tree.write('usr/share/siteward/siteward.schema.json', ofRepository('config/siteward.schema.json'));
  tree.write('usr/share/doc/siteward/examples/siteward.yaml', ofRepository('config/siteward.example.yaml'));
  addPapers(tree, made, node);
}

/** The database module with the binary of the target alone. */
function addDatabase(tree: Tree, { cpu, strip }: Target): void {
  const from = join(root, 'node_modules', 'better-sqlite3');
  const to = 'usr/lib/siteward/app/node_modules/better-sqlite3';
  tree.write(`${to}/package.json`, readFileSync(join(from, 'package.json')));
  const isOther = (path: string) => /^(darwin|linux|linuxmusl|win32)-/.test(path) && path !== `linux-${cpu}.js`;
  for (const path of readdirSync(join(from, 'lib'), { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.js') && !isOther(path)) tree.write(`${to}/lib/${path}`, readFileSync(join(from, 'lib', path)));
  const binary = `linux-${cpu}.node`;
  mkdirSync(join(tree.folder, to, 'prebuilds'), { recursive: true });
  const stripped = join(tree.folder, to, 'prebuilds', binary);
  execFileSync(strip, ['--strip-unneeded', '-o', stripped, join(from, 'prebuilds', binary)]);
  chmodSync(stripped, 0o644);
}

/** What people and tools read about it. */
function addPapers(tree: Tree, { version, date, packages }: Made, node: string): void {
  const program = verbTree();
  const doc = 'usr/share/doc/siteward';
  tree.write(`${doc}/copyright`, copyrightFile(packages, { node: readFileSync(join(node, 'LICENSE'), 'utf8') }));
  tree.write(`${doc}/changelog.gz`, gzipped(changelog({ version, date })));
  tree.write(`${doc}/NEWS.gz`, gzipped(ofRepository('CHANGELOG.md')));
  addDocs(tree);
  tree.write('usr/share/man/man1/siteward.1.gz', gzipped(commandPage(program, { version, date })));
  tree.write('usr/share/man/man5/siteward.yaml.5.gz', gzipped(configPage({ version, date })));
  tree.write('usr/share/bash-completion/completions/siteward', bashCompletion(program));
  tree.write('usr/share/fish/vendor_completions.d/siteward.fish', fishCompletion(program));
  tree.write('usr/share/zsh/vendor-completions/_siteward', zshCompletion(program));
  tree.write('usr/share/lintian/overrides/siteward', shipped('lintian-overrides'));
}

/** The builder's umask is no matter of whoever installs it. */
function openToAll(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) chmodSync(join(entry.parentPath, entry.name), 0o644);
}
