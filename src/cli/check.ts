import { otherProblems } from '#box/other-problems.ts';
import { checkConfig, formatProblem } from '#config/index.ts';
import { describe, SitewardError } from '#errors.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

/** `siteward check`: problems on stdout, one per line, so that editors can jump to them; 78 when there is any. */
export function check(file: string, options: { json: boolean; secrets: boolean }): ExitCode {
  try {
    const result = checkConfig(file, {
      unreadableSecrets: options.secrets ? 'refuse' : 'degrade',
      alsoCheck: otherProblems(file),
    });
    const { problems, warnings } = result;
    const ok = problems.length === 0;
    if (options.json) console.log(JSON.stringify({ file, ok, problems, warnings }));
    else report(file, problems.map(formatProblem), warnings);
    return ok ? exitCodes.ok : exitCodes.configuration;
  } catch (error) {
    if (!options.json || !(error instanceof SitewardError)) throw error;
    console.log(JSON.stringify({ file, ok: false, problems: [], warnings: [], error: describe(error) }));
    return exitCodes.configuration;
  }
}

function report(file: string, problems: readonly string[], warnings: readonly string[]): void {
  for (const line of problems) console.log(line);
  for (const line of warnings) console.log(`warning: ${line}`);
  if (problems.length > 0) console.log(`${file}: ${problems.length} error${problems.length === 1 ? '' : 's'}`);
  else console.log(`${file}: no errors${warnings.length > 0 ? `, ${warnings.length} warnings` : ''}`);
}
