import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const suite = join(import.meta.dirname, '..', '..', 'test', 'conformance');

/** `docs/rules.md`: the names of the conformance tests put into the hand-written template. */
export function rulesPage(): string {
  const template = readFileSync(join(import.meta.dirname, 'rules.template.md'), 'utf8');
  return template.replace('{{interface}}', () => interfaceRules().join('\n'));
}

function interfaceRules(): string[] {
  const byNumber = new Map<string, string[]>();
  const files = readdirSync(suite).filter((name) => name.endsWith('.test.ts'));
  for (const text of files.sort().map((name) => readFileSync(join(suite, name), 'utf8'))) {
    for (const [, number = '', title = ''] of text.matchAll(/\brule\(\s*'(S-\d{3}) ((?:[^'\\]|\\.)+)'/g)) {
      byNumber.set(number, [...(byNumber.get(number) ?? []), title.replaceAll('\\', '').replaceAll('|', '\\|')]);
    }
  }
  return [...byNumber].sort().map(([number, titles]) => `| ${number} | ${titles.join('; ')} |`);
}
