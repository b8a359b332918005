import { errorCodes } from '#errors.ts';
import { exitOfCode } from '../../src/cli/exit-codes.ts';

/** `docs/errors.md`. */
export function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, sentence]) => `| \`${code}\` | ${exitOfCode(code as keyof typeof errorCodes)} | ${sentence} |`,
  );
  return `# Error codes

Made from \`src/errors.ts\` by \`npm run generate\`; do not edit. Every error of siteward carries one of these codes,
in the log as \`error_code\`, on the control socket as \`code\`, and in brackets behind what a verb says. Codes never change
their meaning. \`exit\` is what every verb ends with that fails so, see [cli.md](cli.md#exit-codes); answers to commands, such
as \`BAD_CODE\`, are in [mqtt.md](mqtt.md).

| code | exit | what it means and what to do |
|---|---|---|
${rows.join('\n')}
`;
}
