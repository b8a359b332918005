import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkText, firstDayText, isFirstDay } from '#config/index.ts';
import { version } from '#lib/version.ts';
import { docPage } from '../../src/cli/doc-page.ts';
import { buildDeb, newTree } from '../../tools/package/deb.ts';
import { changelog, control, debianVersion, maintainerScripts } from '../../tools/package/debian.ts';
import { addDocs } from '../../tools/package/docs.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-deb-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A package with a program and a text, made as the real one is. */
function small(name: string, { umask = 0o022, touched = 0 } = {}): string {
  const before = process.umask(umask);
  try {
    const tree = newTree(join(dir, name));
    tree.write('usr/lib/siteward/bin/node', '#!/bin/sh\n', 0o755);
    tree.write('usr/share/doc/siteward/text', 'text\n');
    if (touched > 0) utimesSync(join(tree.folder, 'usr/share/doc/siteward/text'), touched, touched);
    const out = join(dir, `${name}.deb`);
    buildDeb(tree, {
      control: (kib) => control({ version: '1.2.3', arch: 'amd64', kib }),
      scripts: (kib) => maintainerScripts({ version: '1.2.3', kib }),
      ...{ date: 1_700_000_000, level: 0, out },
    });
    chmodSync(out, 0o644);
    return out;
  } finally {
    process.umask(before);
  }
}

const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

describe('the package file', () => {
  test('is the same to the byte, whatever the umask of the builder and the times of its files', () => {
    expect(digest(small('second', { umask: 0o077, touched: 1_600_000_000 }))).toBe(digest(small('first')));
  });

  test('belongs to root, has one time for all, and its sums are those of its files', () => {
    const list = execFileSync('dpkg-deb', ['--contents', small('one')], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC' },
    });
    expect(
      list
        .trim()
        .split('\n')
        .every((line) => / root\/root .* 2023-11-14 22:13 /.test(line)),
    ).toBe(true);
    expect(list).toMatch(/^-rwxr-xr-x root\/root .*\.\/usr\/lib\/siteward\/bin\/node$/m);
    execFileSync('dpkg-deb', ['-R', join(dir, 'one.deb'), join(dir, 'all')]);
    execFileSync('md5sum', ['--check', '--quiet', 'DEBIAN/md5sums'], { cwd: join(dir, 'all') });
  });

  test('no file of it is a conffile: the configuration is written by the daemon and by "siteward setup"', () => {
    const info = execFileSync('dpkg-deb', ['--info', small('one')], { encoding: 'utf8' });
    expect(info).not.toContain('conffiles');
    expect(info).toMatch(/^ Version: 1\.2\.3$/m);
  });
});

test('it brings every page of docs/ but the pictures, so that whatever a command points to lies on the box', () => {
  const tree = newTree(join(dir, 'docs'));
  addDocs(tree);
  tree.write('usr/bin/siteward', '#!/bin/sh\n', 0o755);
  const out = join(dir, 'docs.deb');
  buildDeb(tree, {
    control: (kib) => control({ version: '1.2.3', arch: 'amd64', kib }),
    scripts: (kib) => maintainerScripts({ version: '1.2.3', kib }),
    ...{ date: 1_700_000_000, level: 0, out },
  });
  execFileSync('dpkg-deb', ['-x', out, join(dir, 'box')]);
  const shipped = join(dir, 'box/usr/share/doc/siteward/docs');
  const source = join(import.meta.dirname, '../../src');
  const named = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const text = readFileSync(join(source, name), 'utf8');
      return [...text.matchAll(/docs\/([\w/-]+\.(?:md|yaml))|docPage\('([^']+)'/g)].map(
        ([, path, page]) => path ?? page ?? '',
      );
    });
  expect(named).toContain('operations.md');
  expect([...new Set(named)].filter((page) => docPage(page, shipped) !== join(shipped, page))).toEqual([]);
  expect(docPage('operations.md', join(dir, 'none'))).toBe('docs/operations.md');
  expect(readdirSync(shipped)).not.toContain('screens');
});

test('its scripts are shell that dash reads, and know their version and how much room is needed', () => {
  for (const [name, text] of Object.entries(maintainerScripts({ version: '1.2.3-dev', kib: 1000 }))) {
    execFileSync('sh', ['-n'], { input: text });
    expect(text, name).not.toMatch(/@[A-Z]+@/);
  }
  const { preinst = '' } = maintainerScripts({ version: '1.2.3-dev', kib: 1000 });
  expect(preinst).toContain("version='1.2.3~dev'");
  expect(Number(/^needed=(\d+)$/m.exec(preinst)?.[1])).toBeGreaterThan(1000);
});

test('a version before a release sorts before it', () => {
  expect(() => execFileSync('dpkg', ['--compare-versions', debianVersion('1.0.0-dev'), 'lt', '1.0.0'])).not.toThrow();
  expect(() => execFileSync('dpkg', ['--compare-versions', debianVersion(version), 'gt', '0'])).not.toThrow();
});

test('its changelog has the form that Debian reads', () => {
  const said = changelog({ version: '1.2.3', date: 1_700_000_000 });
  expect(said).toMatch(
    /^siteward \(1\.2\.3\) stable; urgency=medium\n\n {2}\* .+\n\n -- .+ <.+@.+> {2}Tue, 14 Nov 2023 22:13:20 \+0000\n$/,
  );
});

test('the configuration of the first day is right, and connects to nothing', () => {
  const { problems, warnings, loaded } = checkText('siteward.yaml', firstDayText);
  expect({ problems, warnings }).toEqual({ problems: [], warnings: [] });
  expect(loaded?.settings.cloud).toBeUndefined();
  expect(loaded?.settings.panels).toEqual([]);
  expect(isFirstDay(firstDayText)).toBe(true);
  expect(isFirstDay(firstDayText.replace('external_id: first-day', 'external_id: shop'))).toBe(false);
  expect(isFirstDay(`${firstDayText}cameras: []\n`)).toBe(false);
});
