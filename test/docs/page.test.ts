import { expect, test } from 'vitest';
import { permissions, roles } from '../../src/lan/access/permissions.ts';
import { read } from './markdown.ts';

const texts = JSON.parse(read('src/lan/page/texts/en.json')) as Record<string, string>;
/** In the order of the navigation, which is drawn from these lines. */
const screens = [...read('src/lan/page/navigation.tsx').matchAll(/title: '([\w.]+)', needs: '(\w+)'/g)].map(
  ([, title = '', needs = '']) => ({ title: texts[title], needs }),
);

test('docs/page.md has the screens in the order of the navigation, each with who sees it', () => {
  const rows = [...read('docs/page.md').matchAll(/^\| ([A-Z][\w ]+) \| ([^|]+) \| [^|]+ \|$/gm)];
  const may = (needs: string) => {
    const permission: { readonly roles?: readonly string[] } = Object(permissions[needs as keyof typeof permissions]);
    return permission.roles?.length === roles.length ? 'everybody' : permission.roles?.join(', ');
  };
  expect(screens.length).toBeGreaterThan(5);
  expect(rows.map(([, title, who]) => [title, who])).toEqual(screens.map(({ title, needs }) => [title, may(needs)]));
});

test('each has a part of its own, with its picture', () => {
  const parts = [...read('docs/page.md').matchAll(/^### (.+)\n\n\[<img src="screens\/([\w-]+)-phone\.png"/gm)];
  expect(parts.map(([, title]) => title)).toEqual(screens.map(({ title }) => title));
  expect(parts.map(([, , picture]) => picture)).toEqual(
    screens.map(({ title = '' }) => title.toLowerCase().replace(' ', '-')),
  );
});
