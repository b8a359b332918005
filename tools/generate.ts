import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configJsonSchema } from '#config/index.ts';
import { errorCodes } from '#errors.ts';

/** Files made from the sources. `npm run generate` writes them, `-- --check` fails when one is out of step. */
interface Generator {
  readonly path: string;
  text(): string;
}

const generators: readonly Generator[] = [
  { path: 'config/siteward.schema.json', text: () => `${JSON.stringify(configJsonSchema(), null, 2)}\n` },
  { path: 'docs/errors.md', text: errorsPage },
];

function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(([code, sentence]) => `| \`${code}\` | ${sentence} |`);
  return `# Error codes

Made from \`src/errors.ts\` by \`npm run generate\`; do not edit. Every error of siteward carries one of these codes,
in the log as \`error_code\`. Codes never change their meaning.

| code | what it means and what to do |
|---|---|
${rows.join('\n')}
`;
}

const root = join(import.meta.dirname, '..');

function isCurrent({ path, text }: Generator): boolean {
  try {
    return readFileSync(join(root, path), 'utf8') === text();
  } catch {
    return false;
  }
}

const stale = generators.filter((generator) => !isCurrent(generator));
if (process.argv.includes('--check')) {
  for (const { path } of stale) console.error(`${path} is out of step with the sources; run "npm run generate"`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const { path, text } of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text());
    console.log(`wrote ${path}`);
  }
}
