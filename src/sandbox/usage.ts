import { describe } from '#errors.ts';

/** What `read` makes of the arguments of this process. `--help` prints the usage and ends; so does what it cannot read, with 2. */
export function orUsage<T>(usage: string, read: () => T): T {
  if (process.argv.includes('--help')) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  try {
    return read();
  } catch (error) {
    process.stderr.write(`${describe(error)}\n\n${usage}\n`);
    process.exit(2);
  }
}
