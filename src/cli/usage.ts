import type { Command } from 'commander';
import { exitCodes } from './exit-codes.ts';

/** Ends with one sentence and the exit code of wrong usage. */
export function wrong(command: Command, message: string): never {
  return command.error(`siteward: ${message}`, { exitCode: exitCodes.usage });
}
