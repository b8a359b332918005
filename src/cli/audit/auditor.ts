import { type Command, Option } from 'commander';
import { openedAudit } from '#lan/http/index.ts';
import { askCode } from '../ask-code.ts';
import { answered, type Control, patience } from '../control.ts';
import { pipedCode } from '../piped-code.ts';

export interface AuditorOptions {
  readonly auditor: boolean;
  readonly codeStdin: boolean;
}

/** The options by which somebody shows to be an auditor. The code is no argument, where others can read it. */
export const asAuditor = (command: Command): Command =>
  command
    .option('--auditor', 'show what only an auditor may see; the code is asked for on the terminal', false)
    .addOption(
      new Option('--code-stdin', 'with --auditor: read the code from standard input instead of asking').default(false),
    );

/** A session of an auditor, or undefined for everybody else. Throws `auditor_needed`, `no_terminal`, `code_refused`. */
export async function auditorSession(control: Control, options: AuditorOptions): Promise<string | undefined> {
  if (!options.auditor && !options.codeStdin) return undefined;
  const code = options.codeStdin ? await pipedCode() : await askCode('code of an auditor');
  const { json } = answered(await control.client.openAudit({ body: { code }, signal: patience() }));
  return openedAudit.parse(json).session;
}
