import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { version } from '#lib/version.ts';

const root = join(import.meta.dirname, '..', '..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
};

function filesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesBelow(path) : [path];
  });
}

const sources = filesBelow(join(root, 'src')).filter((path) => /\.tsx?$/.test(path));
const text = (path: string) => readFileSync(path, 'utf8');

describe('the house', () => {
  it.each(['better-sqlite3', 'mqtt', 'onvif', 'node-cron', 'undici', 'jose', 'zod', 'pino'])(
    'is built on %s: src imports it',
    (name) => {
      const importing = sources.filter((path) =>
        new RegExp(`from '${name}(/[^']*)?'|require\\('${name}'\\)`).test(text(path)),
      );
      expect(importing.map((path) => relative(root, path))).not.toEqual([]);
    },
  );

  it('imports no package that package.json does not name', () => {
    const known = new Set(Object.keys(manifest.dependencies));
    const foreign = sources.flatMap((path) =>
      [...text(path).matchAll(/(?:from|import\() ?'([^'.#\s][^'\s]*)'/g)]
        .map((match) => match[1] ?? '')
        .filter((name) => !name.startsWith('node:'))
        .map((name) =>
          name
            .split('/')
            .slice(0, name.startsWith('@') ? 2 : 1)
            .join('/'),
        )
        .filter((name) => !known.has(name))
        .map((name) => `${relative(root, path)}: ${name}`),
    );
    expect(foreign).toEqual([]);
  });

  it('keeps every source file within 400 lines', () => {
    const long = sources.filter((path) => text(path).split('\n').length > 401);
    expect(long.map((path) => relative(root, path))).toEqual([]);
  });

  it('names no rule that docs/rules.md does not explain', () => {
    const explained = new Set(
      [...text(join(root, 'docs', 'rules.md')).matchAll(/^\| (\S+(?: \d+)?) \|/gm)].map(([, rule]) => rule),
    );
    const named = sources.flatMap((path) =>
      [...text(path).matchAll(/\b(?:safety \d+|[CI]\d{1,2}|S-\d{3})\b/g)].map(([rule]) => rule),
    );
    expect([...new Set(named)].filter((rule) => !explained.has(rule))).toEqual([]);
  });

  it('gives the reason where it would cite what is no part of the repository', () => {
    const pages = [...filesBelow(join(root, 'docs')), join(root, 'README.md'), join(root, 'CHANGELOG.md')];
    const citing = [...sources, ...filesBelow(join(root, 'tools')), ...pages.filter((path) => path.endsWith('.md'))];
    const found = citing.flatMap((path) =>
      [
        ...text(path).matchAll(
          /\b[Ii]ssue \d+|shared\/design|decisions\.md|\(decisions,|\bnotes\/|cloud map, section/g,
        ),
      ].map(([cite]) => `${relative(root, path)}: ${cite}`),
    );
    expect(found).toEqual([]);
  });

  it('exports no value, and passes on no name through an index, that nobody takes', () => {
    const all = ['src', 'test', 'bench', 'tools'].flatMap((room) => filesBelow(join(root, room)));
    const passing = /^export (?:type )?\{([^}]*)\} from '[^']+';$/gm;
    const users = new Map<string, Set<string>>();
    for (const path of all.filter((one) => /\.tsx?$/.test(one)))
      for (const [word] of text(path)
        .replace(passing, '')
        .matchAll(/\b[A-Za-z]\w*/g))
        users.set(word, (users.get(word) ?? new Set()).add(path));
    const unused = sources.flatMap((path) => {
      const said = text(path);
      const own = [...said.matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm)].map(
        ([, name]) => name ?? '',
      );
      const passed = [...said.matchAll(passing)].flatMap(([, names = '']) =>
        names.split(',').flatMap((one) => one.trim().split(' ').at(-1) ?? []),
      );
      return [...own, ...passed.filter((name) => name !== '')]
        .filter((name) => [...(users.get(name) ?? [])].every((user) => user === path))
        .map((name) => `${relative(root, path)}: ${name}`);
    });
    expect(unused).toEqual([]);
  });

  it('pins every dependency at one version', () => {
    const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
    expect(Object.entries(all).filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([]);
  });

  it('has a lock file without the address of a registry', () => {
    expect(text(join(root, 'package-lock.json'))).not.toMatch(/"resolved": *"https?:/);
  });

  it('names one version in package.json and in the code', () => {
    expect(version).toBe(manifest.version);
  });
});
