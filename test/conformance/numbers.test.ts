import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kindOf, notTestable, numberIn } from './numbers.ts';

const files = readdirSync(import.meta.dirname).filter((name) => /^[a-l]-.*\.test\.ts$/.test(name));
const titles = files.flatMap((name) => {
  const source = readFileSync(join(import.meta.dirname, name), 'utf8');
  return [...source.matchAll(/^rule\(\s*(['"`])(.*?)\1,/gm)].map((match) => match[2] ?? '');
});
const tested = new Set(titles.map(numberIn));
const checklist = join(import.meta.dirname, '..', '..', '..', 'shared', 'spec', 'checklist.md');

describe('the conformance suite', () => {
  it('begins every title with the number of a rule', () => {
    expect(titles.length).toBeGreaterThan(100);
    expect(titles.filter((title) => !kindOf.has(numberIn(title) ?? ''))).toEqual([]);
  });

  it('has a test for every rule, or says why it cannot have one', () => {
    const missing = [...kindOf.keys()].filter((number) => !tested.has(number) && !notTestable.has(number));
    expect(missing).toEqual([]);
  });

  it('says of no rule it tests that it cannot be tested', () => {
    expect([...notTestable.keys()].filter((number) => tested.has(number))).toEqual([]);
  });

  it.skipIf(!existsSync(checklist))('knows the numbers and kinds of ../shared/spec/checklist.md', () => {
    const rows = [...readFileSync(checklist, 'utf8').matchAll(/^\| (S-\d{3}) \| ([TDG]) \|/gm)];
    expect(rows.map(([, number, kind]) => [number, kind])).toEqual(
      [...kindOf].toSorted(([a], [b]) => a.localeCompare(b)),
    );
  });
});
