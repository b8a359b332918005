import { type Command, Option } from 'commander';
import { wrong } from './usage.ts';

/** A verb that takes a code: asked for on the terminal, or read from standard input, and never an argument. */
export const takesCode = (verb: Command, said = 'read the code from standard input instead of asking'): Command =>
  verb
    .option('--code-stdin', said, false)
    // What is typed here stands in the history of the shell and in the list of processes: it is not even repeated.
    .addOption(new Option('--code [code]').hideHelp())
    .allowExcessArguments(true);

/** Ends with wrong usage where a code stands among the arguments. `most`: the arguments the verb has. */
export function refuseTypedCode(command: Command, options: { readonly code?: unknown }, most = 1): void {
  if (command.args.length > most || options.code !== undefined)
    wrong(command, 'a code is no argument, where others can read it: it is asked for, or read with --code-stdin');
}
