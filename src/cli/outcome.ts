import { describe, SitewardError } from '#errors.ts';
import { exitCodes, exitOfError } from './exit-codes.ts';

/** The exit code of a verb. Never rejects: what went wrong is said on stderr. */
export async function outcome(work: () => Promise<number>): Promise<number> {
  endWhenNobodyReads();
  try {
    return await work();
  } catch (error) {
    console.error(`siteward: ${describe(error)}${error instanceof SitewardError ? ` (${error.code})` : ''}`);
    return exitOfError(error);
  }
}

/**
 * `siteward events | head` ends without a complaint when head has seen enough; what cannot be written for another reason,
 * such as a full disk, is said in one sentence.
 */
function endWhenNobodyReads(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCodes.ok);
    console.error(`siteward: standard output cannot be written: ${describe(error)}`);
    process.exit(exitCodes.failure);
  });
}
