import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { topicFinder } from '#devices/onvif/topics.ts';

const notes = join(import.meta.dirname, '../../../../shared/notes');
const absent = !existsSync(join(notes, 'onvif-bugs.md'));
const skip = absent ? ' (skipped: ../shared/notes is not there)' : '';
const note = (name: string) => (absent ? '' : readFileSync(join(notes, name), 'utf8'));
const tests = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'))
  .join('\n');

describe.skipIf(absent)(`the notes on ONVIF${skip}`, () => {
  it('name no fault of a camera for which there is no test of its name', () => {
    const numbers = [...note('onvif-bugs.md').matchAll(/^\| (\d+b?) \|/gm)].map(([, number]) => number ?? '');
    expect(numbers.length).toBeGreaterThan(30);
    const named = new Set([...tests.matchAll(/['"`]bug (\d+b?): /g)].map(([, number]) => number));
    expect(numbers.filter((number) => !named.has(number))).toEqual([]);
  });

  it('name no vendor without a table of its messages', () => {
    const headings = [...note('onvif-topics.md').matchAll(/^### ([^(\n]+)/gm)].map(([, heading]) => heading ?? '');
    const vendors = headings
      .flatMap((heading) => heading.split(/ \/ (?!open )| and /))
      .map((name) => name.trim().split(' ')[0] ?? '');
    expect(vendors.length).toBeGreaterThan(12);
    const tables = [...tests.matchAll(/^ {2}(?:'([^'\n]+)'|(\w+)): \[$/gm)].map(
      ([, long, short]) => long ?? short ?? '',
    );
    const missing = vendors.filter((vendor) => !tables.some((table) => table.includes(vendor)));
    expect(missing).toEqual([]);
  });

  it('name no topic, and no camera advertises one, that the table does not know', () => {
    const find = topicFinder();
    const table = note('onvif-topics.md').split('\n## 4')[0] ?? '';
    const cells = [...table.matchAll(/^\| ([\w:/]+\/(?:\w+|\{[^}]+\})) \|/gm)].map(([, cell]) => cell ?? '');
    const advertised = readFileSync(join(notes, '../data/onvif-captures/topicsets.tsv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((row) => row.split('\t'))
      .filter(([, , isProperty]) => isProperty !== '(absent)')
      .map(([, topic = '']) => topic.replaceAll(/(^|\/)tns1:/g, '$1'));
    const named = cells.flatMap(spelled);
    expect([named.length > 30, advertised.length > 50]).toEqual([true, true]);
    expect([...named, ...advertised].filter((topic) => find(topic) === undefined)).toEqual([]);
  });
});

/** `A/{B, C}` is two topics. */
function spelled(cell: string): string[] {
  const [, stem = '', last = ''] = /^(.*)\{(.*)\}$/.exec(cell) ?? [];
  return last === '' ? [cell] : last.split(', ').map((segment) => stem + segment);
}
