import { errorCodes } from '#errors.ts';

/** `docs/errors.md`. */
export function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(([code, sentence]) => `| \`${code}\` | ${sentence} |`);
  return `# Error codes

Made from \`src/errors.ts\` by \`npm run generate\`; do not edit. Every error of siteward carries one of these codes,
in the log as \`error_code\`. Codes never change their meaning.

| code | what it means and what to do |
|---|---|
${rows.join('\n')}
`;
}
