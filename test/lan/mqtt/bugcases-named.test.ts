import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cases, isThere } from './bugcases.ts';

const tests = new URL('../../', import.meta.url);

describe.skipIf(!isThere)('the public reports of other systems (needs ../shared)', () => {
  it('are each a test that has its number and its right answer as its name', () => {
    const files = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
    // `it`, and what stands for it where a case needs one of the brokers.
    const named = files.flatMap((name) =>
      [
        ...readFileSync(new URL(name, tests), 'utf8').matchAll(
          /\b(?:it|test|embeddedOnly|mosquittoOnly)\(nameOf\((\d+)\),/g,
        ),
      ].map(([, number]) => Number(number)),
    );
    expect(cases.length).toBeGreaterThan(0);
    expect(cases.filter(({ n }) => !named.includes(n)).map(({ n, title }) => `${n} ${title}`)).toEqual([]);
    expect(named.filter((number) => !cases.some(({ n }) => n === number))).toEqual([]);
  });
});
