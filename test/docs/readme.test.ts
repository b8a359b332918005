import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pages, read, root } from './markdown.ts';

describe('links of README and docs', () => {
  const links = pages().flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({ page, link: match[1] ?? '' })),
  );

  test.each(links)('$page: $link leads to a file that exists', ({ page, link }) => {
    expect(link).not.toMatch(/^https?:/);
    const [path = '', anchor] = link.split('#');
    const file = path === '' ? join(root, page) : join(root, dirname(page), path);
    expect(existsSync(file)).toBe(true);
    if (anchor !== undefined) expect(anchorsOf(file)).toContain(anchor);
  });

  test('every page of docs is reachable from README', () => {
    const seen = new Set(['README.md']);
    for (const page of seen) {
      const next = links.filter((link) => link.page === page && link.link.split('#')[0]?.endsWith('.md') === true);
      for (const { link } of next) seen.add(join(dirname(page), link.split('#')[0] ?? ''));
    }
    // README links the folder of decisions as a whole.
    expect(pages().filter((page) => !page.startsWith('docs/adr/') && !seen.has(page))).toEqual([]);
  });
});

test('paths of the repository that pages name in code exist', () => {
  const named = pages().flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|tools|config|docs)\/[\w./-]+)`/g)].map((match) => match[1] ?? ''),
  );
  expect([...new Set(named)].filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.+)$/gm)];
  return headings.map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
