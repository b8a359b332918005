import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The tree of a package while it is made. All that could differ from one build to the next is set at the end. */
export interface Tree {
  readonly folder: string;
  write(path: string, content: string | Uint8Array, mode?: number): void;
}

export function newTree(folder: string): Tree {
  return {
    folder,
    write(path, content, mode = 0o644) {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      chmodSync(file, mode);
    },
  };
}

/** As in a man page or a changelog of Debian: packed, without name and time. */
export const gzipped = (text: string): Uint8Array => execFileSync('gzip', ['-9nc'], { input: text });

const filesBelow = (folder: string, path = ''): string[] =>
  readdirSync(join(folder, path))
    .sort()
    .flatMap((name) => {
      const below = path === '' ? name : `${path}/${name}`;
      return lstatSync(join(folder, below)).isDirectory() ? filesBelow(folder, below) : [below];
    });

export interface DebOf {
  readonly control: (installedKib: number) => string;
  /** Maintainer scripts by name. */
  readonly scripts: (installedKib: number) => Readonly<Record<string, string>>;
  /** Seconds since 1970. */
  readonly date: number;
  /** Of xz, 0 to 9. */
  readonly level: number;
  readonly out: string;
}

/** Makes the package of a tree. The same tree gives the same bytes. */
export function buildDeb(tree: Tree, { control, scripts, date, level, out }: DebOf): void {
  const { folder } = tree;
  const files = filesBelow(folder).filter((path) => !path.startsWith('DEBIAN/'));
  const sizes = files.map((path) => Math.ceil(lstatSync(join(folder, path)).size / 1024));
  // Debian counts each file in whole KiB, and one for each folder.
  const kib = sizes.reduce((sum, size) => sum + size, 0) + new Set(files.map(dirname)).size;
  const md5 = (path: string) =>
    createHash('md5')
      .update(readFileSync(join(folder, path)))
      .digest('hex');
  tree.write('DEBIAN/md5sums', files.map((path) => `${md5(path)}  ${path}\n`).join(''));
  tree.write('DEBIAN/control', control(kib));
  for (const [name, text] of Object.entries(scripts(kib))) tree.write(`DEBIAN/${name}`, text, 0o755);
  settle(folder, date);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', `-z${level}`, '--build', folder, out], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(date) },
  });
}

/** One time for everything; folders as everybody has them, whatever the umask of the builder. */
function settle(path: string, date: number): void {
  if (lstatSync(path).isDirectory()) {
    for (const name of readdirSync(path)) settle(join(path, name), date);
    chmodSync(path, 0o755);
  }
  utimesSync(path, date, date);
}
