import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isScalar, parseDocument, visit } from 'yaml';
import { formatProblem } from '#config/index.ts';
import { checkText } from '#config/load.ts';
import { secretSources } from '#lib/secret-ref.ts';

const example = readFileSync(join(import.meta.dirname, '../../config/siteward.example.yaml'), 'utf8');
const environment = { sources: secretSources({}), unreadableSecrets: 'degrade' as const };

test('whatever a file holds, checking it throws nothing and every problem has a place within it', () => {
  const scraps = fc.constantFrom(
    '\t',
    ' ',
    '\n',
    ':',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '*a',
    '&a',
    '!x',
    '<<: *a',
    '---\n',
    '\0',
    '? ',
    '| ',
    '\u{1F512}',
  );
  const cut = fc.record({
    at: fc.nat(example.length),
    length: fc.nat(40),
    text: fc.oneof(scraps, fc.string({ maxLength: 6 })),
  });
  fc.assert(
    fc.property(fc.array(cut, { minLength: 1, maxLength: 4 }), (cuts) => {
      let text = example;
      for (const { at, length, text: scrap } of cuts) text = text.slice(0, at) + scrap + text.slice(at + length);
      const { problems, loaded } = checkText('x.yaml', text, environment);
      expect(problems.length === 0).toBe(loaded !== undefined);
      const lines = text.split('\n').length;
      for (const { line, col } of problems) {
        expect(line).toBeGreaterThanOrEqual(1);
        expect(line).toBeLessThanOrEqual(lines + 1);
        expect(col).toBeGreaterThanOrEqual(1);
      }
    }),
    { numRuns: 300 },
  );
});

test('no message repeats a value of the file, wherever a secret was written by mistake', () => {
  let count = 0;
  visit(parseDocument(example), {
    Scalar(key) {
      if (key !== 'key') count += 1;
    },
  });
  expect(count).toBeGreaterThan(50);
  for (let index = 0; index < count; index += 1) {
    const document = parseDocument(example);
    let turn = 0;
    visit(document, {
      Scalar(key, node) {
        if (key === 'key' || !isScalar(node)) return;
        if (turn === index) node.value = 'hunter2 hunter2';
        turn += 1;
      },
    });
    const { problems, warnings } = checkText('x.yaml', document.toString(), environment);
    // A reference may be shown: it names the place of a secret.
    const shown = [...problems.map(formatProblem), ...warnings.filter((line) => !line.includes('the secret of'))];
    expect(shown.join('\n')).not.toContain('hunter2');
  }
});
